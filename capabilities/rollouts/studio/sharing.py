"""Starting a rollout: a version for a share of the requests."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from capabilities.rollouts import stepping
from capabilities.rollouts.ending import running_of
from capabilities.rollouts.models import Rollout
from capabilities.rollouts.studio.forms import PER_CENT, ShareForm, percent
from capabilities.rollouts.studio.links import of_rollout, of_rollouts
from capabilities.rollouts.verbs import Rollouts
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.translation import reference_to
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource, events


class SharePage(ResourcePage):
    """Starts a rollout of one version."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form, with the key of the last rollout in the workspace."""
        self.require(Right.PUBLISH)
        last = Rollout.objects.filter(workspace=self.workspace_id).order_by("-started_at").first()
        form = ShareForm(initial={"key": last.bucket_by} if last else None)
        return self.show(self.version(request.GET.get("version")), form)

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Start it; after an error, show the form again."""
        self.require(Right.PUBLISH)
        version, form = self.version(request.POST.get("version")), ShareForm(request.POST)
        if version.version_id == self.found.active_id:
            return self.show(version, form, status=409)
        if not form.is_valid():
            return self.show(version, form, status=400)
        try:
            arm = form.arm(version.version_id)
            with events.transaction():
                started = Rollouts.current().start(
                    self.kind.slug,
                    self.resource_id,
                    bucket_by=form.cleaned_data["key"],
                    arms=[arm],
                    by=self.caller,
                )
                stepping.plan(started, arm.name, form.steps, by=self.caller)
        except Invalid as error:
            form.add(error)
            return self.show(version, form, status=400)
        except Conflict as error:
            form.add(Invalid.field("", error.message))
            return self.show(version, form, status=409)
        except Forbidden:
            self.require(Right.PUBLISH)  # otherwise the page shows the gate's refusal
            return self.show(version, form, status=403)
        share = percent(int(form.cleaned_data["share"] * PER_CENT))
        message = _("Rollout started: %(version)s for %(share)s%% of the requests.")
        return self.go(of_rollout(started), message % {"version": reference_to(version), "share": share})

    @property
    def found(self) -> VersionedResource:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to try."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to roll out.")
        return self.with_history

    def version(self, version_id: str | None) -> Snapshot:
        """Return the version to try, by default the latest."""
        wanted = version_id or self.found.current.version_id
        version: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return version

    def show(self, version: Snapshot, form: ShareForm, *, status: int = 200) -> HttpResponse:
        """Return the form, with what prevents the rollout."""
        live = self.found.active
        context: dict[str, Any] = {
            "live_title": reference_to(live) if live else "",
            "running_address": of_rollouts(self.kind, self.resource_id) if running_of(self.found) else "",
            "is_file": self.found.pointers is not None,
            "is_live": version.version_id == self.found.active_id,
        }
        reasons_against = ("running_address", "is_file", "is_live")
        context["is_possible"] = bool(live) and not any(context[reason] for reason in reasons_against)
        return self.page(
            "experiments/share.html",
            title=_("Start a rollout of %(version)s") % {"version": reference_to(version)},
            status=status,
            form=form,
            version=version,
            obstacle=obstacle_to(self.found, version, self.caller),
            panels=self.panels("share", version),
            back_address=f"{self.address('publish')}?version={version.version_id}",
            **context,
        )
