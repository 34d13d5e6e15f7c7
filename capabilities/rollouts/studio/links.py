"""The addresses of the pages about rollouts and usage."""

from __future__ import annotations

from urllib.parse import urlencode

from django.utils.translation import gettext as _

from capabilities.rollouts.ending import RolloutRunning
from capabilities.rollouts.models import Rollout
from studio.extensions import Action
from studio.kinds import KINDS_BY_SLUG, StudioKind
from versioning.domain.errors import VersioningError
from versioning.models import Event


def of_form(kind: StudioKind, resource_id: str, version_id: str) -> str:
    """Return the address of the form to start a rollout of a version."""
    return f"{kind.address('share', resource_id)}?{urlencode({'version': version_id})}"


def of_rollout(rollout: Rollout, page: str = "rollout") -> str:
    """Return the address of a page about a rollout: `rollout`, `rollout_stop`, `rollout_weights`."""
    return KINDS_BY_SLUG[rollout.kind].address(page, rollout.resource_id, str(rollout.pk))


def of_completing(rollout: Rollout, arm: str) -> str:
    """Return the address of the confirmation page for making an arm's version live."""
    address = KINDS_BY_SLUG[rollout.kind].address
    return address("rollout_complete", rollout.resource_id, str(rollout.pk), arm)


def of_rollouts(kind: StudioKind, resource_id: str) -> str:
    """Return the address of the page with the running rollout, or the last one."""
    return kind.address("rollouts", resource_id)


def way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address to stop a rollout that prevents the action; None for other errors."""
    if not isinstance(error, RolloutRunning):
        return None
    return Action(title=_("View rollout"), address=of_rollouts(kind, resource_id))


def of_event(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's rollout; empty for other events."""
    rollout_id = event.detail.get("rolloutId")
    if not rollout_id or not event.type.startswith("rollout."):
        return ""
    return kind.address("rollout", event.resource_id, str(rollout_id))
