"""Why a version cannot be published at this moment, in sentences: what the gate would answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from django.http import HttpRequest
from editor_client.shared.configurations import MAX_MESSAGE

from studio import extensions
from studio.limits import MAX_NOTES
from studio.translation import translated
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.models import VersionedResource

_ANY_REASON: Final = "…"
"""What stands for a reason that is not given yet; whether the gate accepts one is not up to its text."""


@dataclass(frozen=True, kw_only=True)
class ReasonForm:
    """The form in which an admin says why versions go live that a check refuses."""

    template: str
    """The template of the application whose check refuses: `Extension(reason_forms=…)`."""
    action: str
    hidden: Mapping[str, str]
    """The hidden fields."""
    title: str = ""
    """The version, in words; empty for several."""
    error: str = ""
    """What is wrong with the reason that was sent."""
    max_length: int = MAX_MESSAGE


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """What stands in the way of a version."""

    reasons: Sequence[str]
    """A sentence each, as many as a page shows."""
    more: int = 0
    """How many reasons there are besides."""

    @classmethod
    def of(cls, error: VersioningError) -> Self:
        """Return a refusal of the gate as a page says it."""
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
    """Return what the gate has against a version, asked with these options; None if it would let it pass.

    Of what is live already, and for who may not publish, nothing is asked.
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
    """Return the template of the form for a reason; empty if none would help.

    `refusals` are the codes of what the gate has against the versions. `passes` says whether the gate would
    let them go live with options.
    """
    templates = extensions.reason_forms()
    refused = [code for code in refusals if code in templates]
    if not refused or not caller.may(Right.ADMINISTER, workspace_id):
        return ""
    return templates[refused[0]] if passes(gate.with_reason(_ANY_REASON, refused)) else ""


def given_reason(request: HttpRequest) -> str | None:
    """Return the reason that a `ReasonForm` was sent with, empty for a blank one; None if none was sent."""
    reason = request.POST.get("reason")
    return None if reason is None else reason.strip()
