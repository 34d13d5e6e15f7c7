"""Why a version cannot be published now, in sentences: what the gate would answer."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from editor_client.shared.configurations import MAX_MESSAGE

from studio import additions
from studio.limits import MAX_NOTES
from studio.translation import translated
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.publish_requests import NO_OPTIONS, Options, PublishRequest
from versioning.models import VersionedResource

_ANY_REASON: Final = "…"
"""A placeholder for a missing reason; the gate does not judge its text."""


@dataclass(frozen=True, kw_only=True)
class ReasonForm:
    """The form for an admin's reason to publish versions that a check refuses."""

    refusals: Sequence[str]
    """The codes of the refusals that the reason overrules; the form sends them along."""
    action: str
    hidden: Mapping[str, str]
    """The hidden fields."""
    error: str = ""
    """The error of the posted reason."""
    max_length: int = MAX_MESSAGE

    @property
    def titles(self) -> Sequence[str | Promise]:
        """What is done by sending the form, in the words of the applications whose checks refuse."""
        return [additions.reasons()[code] for code in self.refusals]


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """The reasons why a version cannot be published."""

    reasons: Sequence[str]
    """A sentence each, up to the limit of a page."""
    more: int = 0
    """How many reasons were left out."""

    @classmethod
    def of(cls, *errors: VersioningError) -> Self:
        """Return refusals of the gate as a page shows them."""
        found = [reason for error in errors for reason in reasons(error)]
        return cls(reasons=found[:MAX_NOTES], more=len(found[MAX_NOTES:]))


def reasons(error: VersioningError | None) -> list[str]:
    """Return an error of the domain as sentences in the language of the page; none for None."""
    if error is None:
        return []
    if isinstance(error, Invalid):
        sentences = [translated(issue.message) for issue in error.issues]
        return [f"{message[:1].upper()}{message[1:]}." for message in sentences]
    return [translated(error.summary)]


def obstacle_to(
    resource: VersionedResource,
    version: Snapshot | None,
    caller: Caller,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
) -> Obstacle | None:
    """Return the gate's refusal of the version with these options; None if it would let it pass.

    `at` is when it goes live, by default now.

    The gate is not asked about live versions, nor for people who may not publish.
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

    `refusals` are the codes of the gate's refusals, of which a check may say only its own. `refusals_with`
    returns those that are left with options.
    """
    known = additions.reasons()
    found = [code for code in dict.fromkeys(refusals) if code in known]
    if not found or not caller.may(Right.ADMINISTER, workspace_id):
        return []
    while left := refusals_with(gate.with_reason(_ANY_REASON, found)):
        more = [code for code in dict.fromkeys(left) if code in known and code not in found]
        if not more:
            return []
        found += more
    return found


def given_reason(request: HttpRequest) -> str | None:
    """Return the reason posted with a `ReasonForm`, empty if blank; None if none was posted."""
    reason = request.POST.get("reason")
    return None if reason is None else reason.strip()


def options_of(request: HttpRequest, reason: str | None) -> Options:
    """Return the options that overrule, with the reason, what the posted `ReasonForm` said it overrules."""
    return gate.with_reason(reason, request.POST.getlist("overrules")) if reason else NO_OPTIONS
