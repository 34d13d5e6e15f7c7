"""The page for publishing: the changes, who is affected, and what prevents it."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
from studio.resources.blocks import blocks_on_page, unpublished
from studio.translation import reference_to, title_of, translated
from studio.views import with_undo
from versioning.domain.access import Right
from versioning.domain.errors import (
    Conflict,
    EditConflict,
    Forbidden,
    Invalid,
    NotFound,
    VersioningError,
)
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.publish_requests import Options, PublishRequest
from versioning.models import VersionedResource
from versioning.serving.resolution import find_version

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
        return self.back("history", self._with_undo(message, done.resource, before))

    def _with_undo(self, message: str, resource: VersionedResource, before: str | None) -> str:
        """Return the message with a button that makes live again what was before, if that is still stored."""
        if before == resource.active_id:
            return message
        if before is not None:
            try:
                find_version(resource, before)
            except NotFound:
                return message
        return with_undo(message, self.address("publish"), f"{before or ''}|{resource.etag}")

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

    def _obstacle(self, version: Snapshot, refusal: VersioningError) -> Obstacle:
        """Return a refusal together with those of further checks, so that nothing is found out one by one."""
        request = PublishRequest(resource=self.found, version=version, caller=self.caller)
        return Obstacle.of(refusal, *gate.further_refusals(request, refusal))

    def _reason_form(
        self, version: Snapshot, refusal: VersioningError | None, error: str
    ) -> ReasonForm | None:
        """Return the form for a reason with which the gate would let the version pass, or None."""
        resource, caller = self.found, self.caller

        def refusals_with(options: Options) -> list[str]:
            request = PublishRequest(resource=resource, version=version, caller=caller, options=options)
            left = gate.refusal(request, self.editor.code)
            return [] if left is None else [left.code]

        first = [] if refusal is None else [refusal.code]
        refusals = overruled_by_reason(first, resource.workspace_id, caller, refusals_with)
        hidden = {"version": version.version_id, "tag": resource.etag}
        action = self.address("publish")
        return ReasonForm(refusals=refusals, action=action, hidden=hidden, error=error) if refusals else None

    def show(
        self, version_id: str, *, status: int = 200, reason_error: str = "", **context: Any
    ) -> HttpResponse:
        """Return the page about publishing a version."""
        resource = self.found
        checked, refusal = self.collection.check_publish(self.resource_id, version_id, by=self.caller)
        version, live = checked.version, resource.active
        self.parameters = {"version": version.version_id}
        fields = self.effects(live, version)
        pinned = urlencode({"version": version.version_id})
        blocks = unpublished(blocks_on_page(self.effective(version), self.caller))
        return self.page(
            "studio/publishing/publish.html",
            title=_("Publish %(version)s?") % {"version": reference_to(version)},
            status=status,
            resource=resource,
            version=version,
            live=live,
            live_title=title_of(live) if live else "",
            is_live=version.version_id == resource.active_id,
            goes_back=not resource.has_draft or resource.is_taken_down,
            is_latest=version.version_id == resource.latest_id,
            latest_title=title_of(resource.latest),
            before_title=title_of(live) if live else _("The code") if self.code_agent else _("Nothing live"),
            after_title=title_of(version),
            fields=fields,
            unchanged=unchanged_titles(fields, self.effective(version)),
            obstacle=None if refusal is None else self._obstacle(version, refusal),
            reason_form=self._reason_form(version, refusal, reason_error),
            live_source=f"{self.address('publish')}?{pinned}",
            warnings=checked.warnings[:MAX_NOTES],
            more_warnings=len(checked.warnings[MAX_NOTES:]),
            unpublished_blocks=blocks,
            dependents=self.shown_dependents(Status.PUBLISHED),
            history_address=self.address("history"),
            publish_address=self.address("publish"),
            in_code=self.code_agent is not None,
            panels=self.panels(
                "publish", version, [field.name for field in fields], [block.id for block in blocks]
            ),
            **context,
        )
