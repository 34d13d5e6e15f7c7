"""The versions that answer on the Try page: of an agent, or of a prompt block in an agent that uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from editor_client.shared.instructions import referenced_blocks

from studio import additions, extensions
from studio.kinds import AGENT, PROMPT_BLOCK
from studio.limits import shortened
from studio.resources.rows import BlockOnPage
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import NotFound
from versioning.domain.overrides import CodeAgent, code_config, merged_config
from versioning.domain.selectors import PUBLISHED, OverlayName, Selector, Status
from versioning.domain.snapshots import Snapshot, title_of
from versioning.models import VersionedResource
from versioning.serving.dependents import Dependents


class OverlayOnPage(NamedTuple):
    """An overlay, and the words about it."""

    name: OverlayName
    words: extensions.OverlayWords


def named_overlay(parameters: Mapping[str, str]) -> OverlayOnPage | None:
    """Return the overlay named by the parameters of a request, or None."""
    named = ((name, words) for name, words in additions.overlays().items() if parameters.get(name))
    return next((OverlayOnPage(OverlayName(name, parameters[name]), words) for name, words in named), None)


MAX_AGENTS: Final = 200
"""The maximum number of agents offered to run a prompt block in."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A version that answers."""

    title: str
    version: str
    agent: str
    """The id of the agent that runs."""
    version_id: str
    """The expected version of the agent; empty for an agent as defined in code."""
    status: Status
    """Whether it is the live version or a draft."""
    stream: str
    """The address to post the messages to."""
    blocks: Sequence[BlockOnPage] = ()
    """The prompt blocks in it."""


@dataclass(frozen=True)
class BlockInAgent:
    """An agent that uses a prompt block, and the version of it that does."""

    id: str
    name: str
    config: Config
    """The configuration served with this version."""
    version: Snapshot | None
    """None for an agent as defined in code."""
    is_live: bool

    @property
    def selector(self) -> Selector:
        """The selector that runs this version, with the published texts of its prompt blocks."""
        if self.is_live or self.version is None:
            return PUBLISHED
        return Selector(version_id=self.version.version_id)

    def column(self, block: VersionedResource, status: Status) -> Column:
        """Return the column of the block's draft, or of its published version."""
        is_draft = status is Status.DRAFT
        shown = block.latest if is_draft else block.active
        query = {**self.selector.as_dict(), **({"draftBlock": block.pk} if is_draft else {})}
        return Column(
            title=_("Draft") if is_draft else _("Live"),
            version=title_of(shown) if shown else _("not live"),
            agent=self.id,
            version_id=self.version.version_id if self.version else "",
            status=status,
            stream=f"{AGENT.address('try_run', self.id)}?{urlencode(query)}",
        )

    def column_with_overlay(self, overlay: OverlayOnPage, block: Snapshot | None, caller: Caller) -> Column:
        """Return the column of the agent and the block as if an overlay were live."""
        version: Snapshot | None = self.version
        if version is not None:
            selector = Selector(overlay=overlay.name)
            version = AGENT.collection.get(self.id, selector, by=caller).version
        return column_with_overlay(overlay, self.id, version, title_of(block) if block else _("not live"))


def column_with_overlay(
    overlay: OverlayOnPage, agent_id: str, version: Snapshot | None, called: str
) -> Column:
    """Return the column of an agent as if an overlay were live; `called` names the version."""
    query = urlencode(Selector(overlay=overlay.name).as_dict())
    return Column(
        title=str(overlay.words.column),
        version=called,
        agent=agent_id,
        version_id=version.version_id if version else "",
        status=Status.DRAFT,
        stream=f"{AGENT.address('try_run', agent_id)}?{query}",
    )


@dataclass(frozen=True)
class AgentsOfBlock:
    """The agents that use a prompt block and that the caller may run."""

    block_id: str
    caller: Caller

    @cached_property
    def offered(self) -> list[tuple[str, str]]:
        """The (id, name) of each, up to a limit; agents that show the block live come first."""
        found = self._named(self.live, self.live.ids[:MAX_AGENTS])
        if len(found) < MAX_AGENTS:
            found += self._named(self._drafts, self._only_in_drafts[: MAX_AGENTS - len(found)])
        return found

    @cached_property
    def live(self) -> Dependents:
        """The agents that show the block live, and the number of others."""
        return self._users(Status.PUBLISHED)

    @cached_property
    def _drafts(self) -> Dependents:
        return self._users(Status.DRAFT)

    @cached_property
    def _only_in_drafts(self) -> list[str]:
        live = set(self.live.ids)
        return [agent_id for agent_id in self._drafts.ids if agent_id not in live]

    def _named(self, users: Dependents, ids: Sequence[str]) -> list[tuple[str, str]]:
        return [(agent_id, shortened(name or agent_id)) for agent_id, name in users.named(ids)]

    def _users(self, status: Status) -> Dependents:
        users: Dependents = PROMPT_BLOCK.collection.dependents(self.block_id, status=status, by=self.caller)
        return users

    def get(self, agent_id: str) -> BlockInAgent | None:
        """Return an agent, by default the first, with its version that refers to the block.

        That is the published version if it does, otherwise the latest one for callers who may read drafts.
        None if neither does: only a labelled version may refer to it. Raises `NotFound` for other agents.
        """
        is_live = agent_id in self.live.ids if agent_id else bool(self.live.ids)
        users, ids = (self.live, self.live.ids) if is_live else (self._drafts, self._only_in_drafts)
        if not agent_id and ids:
            agent_id = ids[0]
        if agent_id not in ids:
            raise NotFound
        code = AGENT.catalog(self.caller).in_code.get(agent_id)
        record = self._record(agent_id, code)
        versions: list[tuple[Snapshot | None, bool]] = []
        if record is None or record.active is not None or code is not None:
            versions.append((record.active if record else None, True))
        if record is not None and self.caller.may(Right.READ_DRAFTS, record.workspace_id):
            versions.append((record.current, False))
        for version, is_live in versions:
            config = _served(code, version)
            if any(target == self.block_id for _field, target in referenced_blocks(config)):
                name = dict(self._named(users, [agent_id])).get(agent_id, agent_id)
                return BlockInAgent(agent_id, name, config, version, is_live)
        return None

    def _record(self, agent_id: str, code: CodeAgent | None) -> VersionedResource | None:
        try:
            record: VersionedResource = AGENT.collection.find(agent_id, by=self.caller)
        except NotFound:
            if code is None:
                raise
            return None
        return record


def _served(code: CodeAgent | None, version: Snapshot | None) -> Config:
    """Return the configuration served with a version, if any: an override is applied to the code."""
    if code is None:
        return version.config if version else {}
    return merged_config(code, version.config) if version else code_config(code)
