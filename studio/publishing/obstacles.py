"""Why a version cannot be published now, in sentences: what the gate would answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from django.http import HttpRequest
from editor_client.shared.configurations import MAX_MESSAGE

from studio import additions
from studio.limits import MAX_NOTES
from studio.translation import translated
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.models import VersionedResource

_ANY_REASON: Final = "…"
"""A placeholder for a missing reason; the gate does not judge its text."""


@dataclass(frozen=True, kw_only=True)
class ReasonForm:
    """The form for an admin's reason to publish versions that a check refuses."""

    template: str
    """The template of the application whose check refuses: `Extension(reason_forms=…)`."""
    action: str
    hidden: Mapping[str, str]
    """The hidden fields."""
    title: str = ""
    """The version, in words; empty for several."""
    error: str = ""
    """The error of the posted reason."""
    max_length: int = MAX_MESSAGE


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """The reasons why a version cannot be published."""

    reasons: Sequence[str]
    """A sentence each, up to the limit of a page."""
    more: int = 0
    """How many reasons were left out."""

    @classmethod
    def of(cls, error: VersioningError) -> Self:
        """Return a refusal of the gate as a page shows it."""
        found = reasons(error)
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
    options: gate.Options = gate.NO_OPTIONS,
) -> Obstacle | None:
    """Return the gate's refusal of the version with these options; None if it would let it pass.

    The gate is not asked about live versions, nor for people who may not publish.
    """
    if version is None or version.version_id == resource.active_id:
        return None
    if not caller.may(Right.PUBLISH, resource.workspace_id):
        return None
    request = gate.PublishRequest(resource=resource, version=version, caller=caller, options=options)
    error = gate.refusal(request, get_editor().code)
    return None if error is None else Obstacle.of(error)


def reason_template(
    refusals: Iterable[str], workspace_id: str, caller: Caller, passes: Callable[[gate.Options], bool]
) -> str:
    """Return the template of the form for a reason; empty if no reason would help.

    `refusals` are the codes of the gate's refusals. `passes` returns whether the gate would let the versions
    go live with options.
    """
    templates = additions.reason_forms()
    refused = [code for code in refusals if code in templates]
    if not refused or not caller.may(Right.ADMINISTER, workspace_id):
        return ""
    return templates[refused[0]] if passes(gate.with_reason(_ANY_REASON, refused)) else ""


def given_reason(request: HttpRequest) -> str | None:
    """Return the reason posted with a `ReasonForm`, empty if blank; None if none was posted."""
    reason = request.POST.get("reason")
    return None if reason is None else reason.strip()
