"""Find the override of a code-defined agent that a selector names, or tell that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from versioning.domain.access import Caller
from versioning.domain.errors import NotFound
from versioning.domain.overrides import CodeAgent
from versioning.domain.selectors import Selector, Status
from versioning.editor.resources import Resources
from versioning.models import VersionedResource
from versioning.serving.choice import Chooses, nothing
from versioning.serving.overlays import Overlay, read_overlay
from versioning.serving.resolution import Resolved, require_drafts, select

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class SelectedOverride(Generic[R]):
    """The part of an override that applies to a request."""

    row: R | None
    """The record of the override, whichever version is selected."""
    override: Resolved[R] | None
    """The selected version; None if the code itself is served."""
    overlay: Overlay | None = None
    """The overlay that was asked for."""


def selected_override(
    resources: Resources[R],
    agent: CodeAgent,
    selector: Selector,
    by: Caller,
    *,
    chooses: Chooses = nothing,
) -> SelectedOverride[R]:
    """Return the version of an override that the selector names.

    `chooses` may replace the active version. Raises `NotFound` for a version or a label
    that does not exist, and what `require_drafts` raises.
    """
    row = resources.backend.override(agent)
    if selector.asks_for_draft:
        require_drafts(selector, by, resources.ownership.workspace_id)
    counted = None if row is not None and row.gone and selector.version_id is None else row
    if selector.overlay is not None:
        return _in_overlay(row, counted, selector, by, read_overlay(selector.overlay, by))
    if counted is None and selector.status is None:
        raise NotFound
    if counted is None or (selector.status is Status.PUBLISHED and counted.active_id is None):
        return SelectedOverride(row=row, override=None)
    override = select(counted, selector, by, chosen=chooses([counted]).get(counted.pk))
    return SelectedOverride(row=row, override=override)


def _in_overlay(
    row: R | None, counted: R | None, selector: Selector, by: Caller, overlay: Overlay
) -> SelectedOverride[R]:
    """Return the version of an override that would be served if the overlay were live."""
    overlaid = None if counted is None else overlay.of(counted)
    live = overlaid.version_id if overlaid is not None else counted and counted.active_id
    override = None if counted is None or live is None else select(counted, selector, by)
    return SelectedOverride(row=row, override=override, overlay=overlay)


def is_as_code_says(resources: Resources[R], resource_id: str, by: Caller) -> bool:
    """Say whether the caller may read the code-defined agent and nothing overrides it."""
    agent = resources.ownership.readable_by(by).get(resource_id)
    if agent is None:
        return False
    row = resources.backend.override(agent)
    return row is None or row.gone
