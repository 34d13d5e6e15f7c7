"""The page for publishing: the changes, the affected agents, and the obstacles."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.configurations import MAX_MESSAGE
from editor_client.shared.instructions import referenced_blocks

from studio import additions
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.kinds import AGENT
from studio.limits import MAX_MESSAGES, MAX_NOTES, first_of, shorten
from studio.resources.base import ResourcePage
from studio.translation import reference_to, title_of, translate
from studio.views import with_undo
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, EditConflict, Forbidden, Invalid, NotFound, VersioningError
from versioning.domain.selectors import Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import NO_OPTIONS, Options, PublishRequest
from versioning.models import VersionedResource
from versioning.serving.references import Dependents
from versioning.serving.resolution import find_version, select

MAX_SHOWN: Final = 50


@dataclass(frozen=True, kw_only=True)
class ShownDependents:
    shown: list[tuple[str, str, str]]
    """(id, name, address)."""
    total: int
    hidden: int
    """The number of agents that the caller may not see."""
    more: int = 0
    more_address: str = ""

    @property
    def count(self) -> int:
        """The total number, including agents that the caller may not see."""
        return self.total + self.hidden


class DependentsPage(ResourcePage):
    def shown_dependents(self, status: Status, page: str | None = None) -> ShownDependents:
        """Return a page (`2`) of the agents whose published, or latest, version refers to the resource."""
        if self.resource is None:
            return ShownDependents(shown=[], total=0, hidden=0)

        def read() -> tuple[list[tuple[str, str]], int, int, int, int]:
            dependents: Dependents = self.collection.dependents(
                self.resource_id, status=status, by=self.caller
            )
            agents = Paginator(dependents.ids, MAX_SHOWN).get_page(page)
            names = list(dependents.find_names(list(agents.object_list)))
            return names, agents.number, agents.end_index(), len(dependents.ids), dependents.hidden_count

        names, number, end, total, hidden = self.known_of_users(f"{status.value} {page}", read)
        if status is Status.PUBLISHED:
            self.used_by = total + hidden  # so that the head of the page need not query it again
        return ShownDependents(
            shown=[
                (agent_id, shorten(name or agent_id), AGENT.address("change", agent_id))
                for agent_id, name in names
            ],
            total=total,
            hidden=hidden,
            more=total - end,
            more_address=f"{self.address('usage')}?page={number + 1}",
        )


class UsagePage(DependentsPage):
    """The agents that refer to the resource, in their live versions and in their drafts."""

    tab = "usage"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        requested = request.GET.get("page")
        # Everyone else sees only live versions.
        reads_some_drafts = self.caller.scope(Right.READ_DRAFTS) != frozenset()
        return self.page(
            "studio/publishing/usage.html",
            title=_("Used by"),
            published=self.shown_dependents(Status.PUBLISHED, requested),
            drafts=self.shown_dependents(Status.DRAFT, requested) if reads_some_drafts else None,
            is_first=requested in {None, "", "1"},
        )


_ANY_REASON: Final = "…"
"""A placeholder for a missing reason; the gate does not judge its text."""


@dataclass(frozen=True, kw_only=True)
class ReasonForm:
    """The form for an admin's reason to publish versions that a check refuses."""

    refusals: Sequence[str]
    """The codes of the refusals that the reason overrules; the form sends them along."""
    action: str
    hidden: Mapping[str, str]
    error: str = ""
    max_length: int = MAX_MESSAGE

    @property
    def titles(self) -> Sequence[str | Promise]:
        """The actions of sending the form, in the words of the applications whose checks refuse."""
        return [additions.reasons()[code] for code in self.refusals]


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    reasons: Sequence[str]
    more: int = 0

    @classmethod
    def of(cls, *errors: VersioningError) -> Self:
        sentences = [reason for error in errors for reason in reasons(error)]
        return cls(reasons=sentences[:MAX_NOTES], more=len(sentences[MAX_NOTES:]))


def reasons(error: VersioningError | None) -> list[str]:
    """Return an error of the domain as sentences in the language of the page; none for None."""
    if error is None:
        return []
    if isinstance(error, Invalid):
        sentences = [translate(issue.message) for issue in error.issues]
        return [f"{message[:1].upper()}{message[1:]}." for message in sentences]
    return [translate(error.summary)]


def obstacle_to(
    resource: VersionedResource,
    version: Snapshot | None,
    caller: Caller,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
) -> Obstacle | None:
    """Return the gate's refusal of the version with these options; None if it would let it pass.

    `at` is when it goes live, by default now.

    The gate is not called for live versions, nor for people who cannot publish.
    """
    if version is None or version.version_id == resource.active_id:
        return None
    if not caller.may(Right.PUBLISH, resource.workspace_id):
        return None
    when = at or timezone.now()
    request = PublishRequest(resource=resource, version=version, caller=caller, options=options, at=when)
    error = gate.refusal(request, get_editor().code)
    return None if error is None else Obstacle.of(error)


def overruled_by_reason(
    refusals: Iterable[str],
    workspace_id: str,
    caller: Caller,
    refusals_with: Callable[[Options], Sequence[str]],
) -> Sequence[str]:
    """Return the codes of all refusals that an admin's reason has to overrule; none if no reason would help.

    `refusals` are the codes of the gate's refusals, which may be only those of the first check.
    `refusals_with` returns the remaining ones with options.
    """
    reasons = additions.reasons()
    codes = [code for code in dict.fromkeys(refusals) if code in reasons]
    if not codes or not caller.may(Right.ADMINISTER, workspace_id):
        return []
    while remaining := refusals_with(gate.with_reason(_ANY_REASON, codes)):
        more = [code for code in dict.fromkeys(remaining) if code in reasons and code not in codes]
        if not more:
            return []
        codes += more
    return codes


def given_reason(request: HttpRequest) -> str | None:
    """Return the reason posted with a `ReasonForm`, empty if blank; None if none was posted."""
    reason = request.POST.get("reason")
    return None if reason is None else reason.strip()


def options_of(request: HttpRequest, reason: str | None) -> Options:
    """Return the options that overrule, with the reason, the refusals named in the posted `ReasonForm`."""
    return gate.with_reason(reason, request.POST.getlist("overrules")) if reason else NO_OPTIONS


CHANGED: Final = gettext_lazy(
    "Someone changed this since you looked, so nothing was published. This is how it stands now."
)
NOT_UNDONE: Final = gettext_lazy("Someone has changed this since, so nothing was undone.")


class PublishPage(DifferencesPage, DependentsPage):
    """Shows the differences between the live version and another one, and publishes exactly that one."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the effects of publishing the version; by default the latest one.

        The open page polls for changes by others, so that it can be published once nothing is missing.
        """
        self.listen(self.scope)
        self.require(Right.PUBLISH)
        return self.show(request.GET.get("version") or self.stored_resource.current.version_id)

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Publish the version that was shown; with a reason, without the required approvals."""
        if "undo" in request.POST:
            return self._undone(request.POST["undo"])
        version_id, before = request.POST.get("version", ""), self.stored_resource.active_id
        reason = given_reason(request)
        if reason == "":
            return self.show(version_id, status=400, reason_error=_("Say why."))
        try:
            published = self.collection.publish(
                self.resource_id,
                version_id,
                by=self.caller,
                expect=self.etags,
                **options_of(request, reason),
            )
        except EditConflict:
            self.forget()
            return self.show(version_id, status=409, conflict=CHANGED)
        except Invalid:
            return self.show(version_id, status=400)
        except Forbidden:
            # The page shows the gate's refusal, or that the person has lost the right.
            self.require(Right.PUBLISH)
            return self.show(version_id, status=403)
        warnings = [translate(warning.message) for warning in published.warnings]
        for warning in first_of(warnings, MAX_MESSAGES):
            self.tell(warning)
        message = _("%(version)s is live.") % {"version": title_of(published.version)}
        if before != published.resource.active_id:
            with suppress(NotFound):  # it is no longer stored
                if before is not None:
                    find_version(published.resource, before)
                undo = f"{before or ''}|{published.resource.etag}"
                message = with_undo(message, self.address("publish"), undo)
        return self.back("history", message)

    def _undone(self, undo: str) -> HttpResponse:
        """Restore the previous live version, unless the resource has changed since."""
        self.require(Right.PUBLISH)
        version_id, _bar, etag = undo.partition("|")
        live = self.stored_resource.active
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
        if self.stored_resource.active is not None:
            message = _("%(version)s is live again.") % {"version": title_of(self.stored_resource.active)}
        return self.back("history", message)

    @property
    def stored_resource(self) -> VersionedResource:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to publish."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to publish.")
        return self.with_history

    def show(
        self, version_id: str, *, status: int = 200, reason_error: str = "", **context: Any
    ) -> HttpResponse:
        resource, caller = self.stored_resource, self.caller
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
            # Together with those of further checks, so that all obstacles are shown at once.
            obstacle = Obstacle.of(refusal, *gate.further_refusals(request, refusal))

            def refusals_with(options: Options) -> list[str]:
                remaining = gate.refusal(replace(request, options=options), self.editor.code)
                return [] if remaining is None else [remaining.code]

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
