"""A candidate: a configuration about to be served, of a stored or a code-defined agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from uuid import UUID

from editor_client.shared import canonical

from versioning.domain.config import Config
from versioning.domain.overrides import IN_CODE, CodeAgent, applied, merged_config
from versioning.domain.resolved_agent import Notice
from versioning.domain.selectors import SelectedBlocks, Selector, Status
from versioning.models import Agent
from versioning.serving.overlays import Overlay
from versioning.serving.resolution import Resolved


class Blocks(Enum):
    """Which text of a referenced prompt block is shown."""

    LIVE = "published"
    """The published text of blocks in the agent's workspace, or granted when it was published; for any
    caller."""
    READABLE = "published, of blocks that the caller may read"
    """For versions that are not published: a reference in a draft gives no access."""
    DRAFTS = "the latest that the caller may read"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration about to be served, and its origin."""

    id: str
    uuid: UUID
    config: Config
    source: str
    status: Status
    metadata: Mapping[str, Any]
    version_id: str | None
    version_number: int | None
    granted_to: str | None
    """The version whose grants count."""
    active_version_id: str | None
    selector: Selector
    policy: Blocks
    is_live: bool
    workspace_id: str
    fallback: Notice | None = None
    overlay: Overlay | None = None
    """An overlay whose prompt blocks count as if they were live."""
    has_grants: bool = False
    """Whether the version of the overlay has stored grants that count."""
    selected_blocks: SelectedBlocks = field(default_factory=dict)
    """The prompt blocks for which the request selects a version."""

    @property
    def is_of_overlay_only(self) -> bool:
        """Whether it would be served if the overlay were live, but is not live yet."""
        is_other = self.overlay is not None and self.version_id not in {self.active_version_id, None}
        return is_other and not self.has_grants

    @classmethod
    def stored(cls, resolved: Resolved[Agent]) -> Candidate:
        """Return the candidate for the selected version of a stored agent."""
        agent = resolved.resource
        return cls(
            id=agent.pk,
            uuid=agent.uuid,
            config=resolved.version.config,
            source="stored",
            status=Status.PUBLISHED if agent.active_id else Status.DRAFT,
            metadata=agent.metadata,
            version_id=resolved.version.version_id,
            version_number=resolved.version.number,
            granted_to=resolved.version.version_id,
            active_version_id=agent.active_id,
            selector=resolved.selector,
            policy=_policy(resolved),
            is_live=resolved.is_live,
            workspace_id=agent.workspace_id,
            fallback=resolved.fallback,
            overlay=resolved.overlay,
            has_grants=resolved.has_grants,
        )

    @classmethod
    def code(
        cls,
        agent: CodeAgent,
        selector: Selector,
        *,
        workspace_id: str,
        row: Agent | None,
        override: Resolved[Agent] | None,
        overlay: Overlay | None = None,
    ) -> Candidate:
        """Return the candidate for a code-defined agent, with the selected override applied.

        `workspace_id` is the workspace of code-defined agents.
        """
        return cls(
            id=agent.id,
            uuid=IN_CODE,
            config=merged_config(agent, override.version.config if override else {}),
            source="code",
            status=Status.PUBLISHED,
            metadata={**agent.metadata, **(row.metadata if row else {})},
            version_id=override.version.version_id if override else None,
            version_number=override.version.number if override else None,
            granted_to=_published_as(agent, override) if override else None,
            active_version_id=row.active_id if row else None,
            selector=selector,
            policy=_policy(override) if override else Blocks.LIVE,
            workspace_id=workspace_id,
            is_live=override.is_live if override else True,
            overlay=overlay,
            has_grants=override is not None and override.has_grants,
        )


def _published_as(agent: CodeAgent, override: Resolved[Agent]) -> str:
    """Return the id of the version as which an override was published.

    The content of a file is identified by the newest version or commit with the same configuration. Neither a
    copy of the live version nor its commit was published, so neither affects the live one's grants.
    """
    row, version = override.resource, override.version
    published, file = row.active_version, row.pointers.file if row.pointers else None
    if (
        not override.is_active
        or published is None
        or file is None
        or published.version_id == version.version_id
    ):
        return version.version_id
    holds = canonical.digest(applied(agent, published.config)) == file.digest
    return published.version_id if holds else version.version_id


def _policy(resolved: Resolved[Agent]) -> Blocks:
    if resolved.selector.asks_for_draft:
        return Blocks.DRAFTS
    if resolved.is_overlaid and resolved.is_of_overlay_only:  # it has no grants yet
        return Blocks.READABLE
    return Blocks.LIVE if resolved.is_live else Blocks.READABLE
