"""The page for publishing: the changes, who is affected, and what prevents it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.instructions import referenced_blocks

from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.limits import MAX_MESSAGES, MAX_NOTES, first_of
from studio.publishing.obstacles import (
    Obstacle,
    ReasonForm,
    given_reason,
    options_of,
    overruled_by_reason,
    reasons,
)
from studio.publishing.usage import DependentsPage
from studio.translation import reference_to, title_of, translated
from studio.views import with_undo
from versioning.domain.access import Right
from versioning.domain.errors import (
    Conflict,
    EditConflict,
    Forbidden,
    Invalid,
    NotFound,
)
from versioning.domain.selectors import Selector, Status
from versioning.editor import gate
from versioning.editor.publish_requests import Options, PublishRequest
from versioning.models import VersionedResource
from versioning.serving.resolution import find_version, select

CHANGED: Final = gettext_lazy(
    "Someone changed this since you looked, so nothing was published. This is how it stands now."
)
NOT_UNDONE: Final = gettext_lazy("Someone has changed this since, so nothing was undone.")


class PublishPage(DifferencesPage, DependentsPage):
    """Shows the differences between the live version and another one, and publishes exactly that one."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the effects of publishing the version; by default the latest one.

        The open page polls for changes by others, so that it can be published as soon as nothing is missing.
        """
        self.listen({"resource_kind": self.kind.slug, "resource_id": self.resource_id})
        self.require(Right.PUBLISH)
        return self.show(request.GET.get("version") or self.found.current.version_id)

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Publish the version that was shown; with a reason, without the required approvals."""
        if "undo" in request.POST:
            return self._undone(request.POST["undo"])
        version_id, before = request.POST.get("version", ""), self.found.active_id
        reason = given_reason(request)
        if reason == "":
            return self.show(version_id, status=400, reason_error=_("Say why."))
        try:
            done = self.collection.publish(
                self.resource_id,
                version_id,
                by=self.caller,
                expect={request.POST.get("tag", "")},
                **options_of(request, reason),
            )
        except EditConflict:
            self.forget()
            return self.show(version_id, status=409, conflict=CHANGED)
        except Invalid:
            return self.show(version_id, status=400)
        except Forbidden:
            # The page shows the gate's refusal; people who lost the right see that it is gone.
            self.require(Right.PUBLISH)
            return self.show(version_id, status=403)
        for warning in first_of([translated(warning.message) for warning in done.warnings], MAX_MESSAGES):
            self.tell(warning)
        message = _("%(version)s is live.") % {"version": title_of(done.version)}
        if before != done.resource.active_id:
            with suppress(NotFound):  # it is no longer stored
                if before is not None:
                    find_version(done.resource, before)
                undo = f"{before or ''}|{done.resource.etag}"
                message = with_undo(message, self.address("publish"), undo)
        return self.back("history", message)

    def _undone(self, undo: str) -> HttpResponse:
        """Make live again what was before, unless the resource has changed since."""
        self.require(Right.PUBLISH)
        version_id, _bar, etag = undo.partition("|")
        live = self.found.active
        try:
            if version_id:
                self.collection.publish(self.resource_id, version_id, by=self.caller, expect={etag})
            else:
                self.collection.unpublish(self.resource_id, by=self.caller, expect={etag})
        except EditConflict:
            return self.back("history", str(NOT_UNDONE), level=messages.ERROR)
        except (Forbidden, Conflict, Invalid) as error:
            return self.back("history", " ".join(reasons(error)), level=messages.ERROR)
        self.forget()
        message = _("%(version)s is no longer live.") % {"version": title_of(live) if live else ""}
        if self.found.active is not None:
            message = _("%(version)s is live again.") % {"version": title_of(self.found.active)}
        return self.back("history", message)

    @property
    def found(self) -> VersionedResource:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to publish."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to publish.")
        return self.with_history

    def show(
        self, version_id: str, *, status: int = 200, reason_error: str = "", **context: Any
    ) -> HttpResponse:
        """Return the page about publishing a version."""
        resource, caller = self.found, self.caller
        is_latest = version_id == resource.latest_id
        if is_latest and self.may(Right.PUBLISH):
            version = resource.latest
        else:
            version = select(resource, Selector(version_id=version_id), caller).version
        live, is_live = resource.active, version.version_id == resource.active_id
        title, live_title = title_of(version), title_of(live) if live else ""
        refusal = obstacle = reason_form = None
        if not is_live:
            request = PublishRequest(resource=resource, version=version, caller=caller)
            refusal = gate.refusal(request, self.editor.code)
        if refusal is not None:
            # Together with those of further checks, so that nothing is found out one by one.
            obstacle = Obstacle.of(refusal, *gate.further_refusals(request, refusal))

            def refusals_with(options: Options) -> list[str]:
                left = gate.refusal(replace(request, options=options), self.editor.code)
                return [] if left is None else [left.code]

            refusals = overruled_by_reason([refusal.code], resource.workspace_id, caller, refusals_with)
            reason_form = refusals and ReasonForm(
                refusals=refusals,
                action=self.address("publish"),
                hidden={"version": version.version_id, "tag": resource.etag},
                error=reason_error,
            )
        warnings = self.collection.warnings(resource, version, caller)
        self.parameters = {"version": version.version_id}
        fields = self.effects(live, version)
        after = self.effective(version)
        referenced = dict.fromkeys(block_id for _place, block_id in referenced_blocks(after))
        readable = [self.blocks[block_id] for block_id in referenced if block_id in self.blocks]
        blocks = [block for block in readable if block.draft is not None]
        address = self.address("publish")
        return self.page(
            "studio/publishing/publish.html",
            title=_("Publish %(version)s?") % {"version": reference_to(version)},
            status=status,
            resource=resource,
            version=version,
            live=live,
            live_title=live_title,
            is_live=is_live,
            goes_back=not resource.has_draft or resource.is_taken_down,
            is_latest=is_latest,
            latest_title=title if is_latest else title_of(resource.latest),
            before_title=live_title or (_("The code") if self.code_agent else _("Nothing live")),
            after_title=title,
            fields=fields,
            unchanged=unchanged_titles(fields, after),
            obstacle=obstacle,
            reason_form=reason_form,
            live_source=f"{address}?{urlencode(self.parameters)}",
            warnings=warnings[:MAX_NOTES],
            more_warnings=len(warnings[MAX_NOTES:]),
            unpublished_blocks=blocks,
            dependents=self.shown_dependents(Status.PUBLISHED),
            history_address=self.address("history"),
            publish_address=address,
            in_code=self.code_agent is not None,
            panels=self.panels(
                "publish", version, [field.name for field in fields], [block.id for block in blocks]
            ),
            **context,
        )
