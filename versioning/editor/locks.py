"""Make locks: the exact versions of agents and prompt blocks, and of everything that they run or contain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final
from uuid import UUID

from editor_client.shared import canonical
from editor_client.shared.conditions import MAX_CHARACTERS_READ, Evaluation
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import BlockText, referenced_blocks

from versioning.domain.access import Caller
from versioning.domain.agents import AGENT
from versioning.domain.errors import Forbidden, Invalid, Message, NotFound
from versioning.domain.locks import MAX_ENTRIES, Lock, Pin, Terms
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector
from versioning.editor.resources import Resources
from versioning.editor.serving import candidate_for
from versioning.models import Agent, PromptBlock, SubAgentReference, Visibility
from versioning.serving import choice
from versioning.serving.assembly import find_blocks, require_instructions, shown_texts
from versioning.serving.grants import find_grants, granted_to_code
from versioning.serving.overlays import read_overlay
from versioning.serving.resolution import Candidate, select

_CHOOSES: Final = partial(choice.chosen, context={})
"""A lock contains the versions for requests without a context."""

AT_ONCE: Final = 50
"""How many configurations are in memory at the same time; each can be a megabyte."""


class _Way(Enum):
    """How a sub-agent is available to an agent that names it."""

    PART = "as part of it, for everyone who may run it"
    OWN = "to those who may run the sub-agent themselves"


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A prompt block in one version."""

    pin: Pin
    is_live: bool


@dataclass(frozen=True, kw_only=True)
class _Agent:
    """The data of an agent version that a lock needs, without the configuration."""

    pin: Pin
    uuid: UUID
    is_live: bool
    is_fallback: bool
    """Whether it is the latest version because none is published."""
    is_own: bool
    """Whether the caller may run it by their own right."""
    named: Sequence[str]
    """Its sub-agents, in any context."""
    granted: Mapping[str, UUID]
    referred_to: Collection[str]
    """The prompt blocks to which it refers, in any context."""
    shown_blocks: Mapping[str, _Block]


def make_lock(
    agents: Resources[Agent],
    prompts: Resources[PromptBlock],
    *,
    named: Collection[str],
    blocks: Iterable[str],
    selector: Selector,
    by: Caller,
) -> Lock:
    """Return the lock of the named agents and prompt blocks, in the versions that the selector names.

    It also contains every sub-agent and prompt block that they can reach in any context, as the caller would
    run and see them. Their versions are the published ones, or the readable drafts for a selector of drafts.
    Anything unavailable is not in the lock. Raises `NotFound` and `Forbidden` for a named resource as
    `select` does, and `Invalid` for more entries than a lock allows.
    """
    maker = _Maker(agents, selector, by)
    for block_id in blocks:
        maker.add_block(block_id, prompts)
    maker.add_agents(named)
    return maker.lock()


class _Maker:
    """Collects the agents and prompt blocks of one lock."""

    def __init__(self, agents: Resources[Agent], selector: Selector, by: Caller) -> None:
        self._resources = agents
        self._selector = selector
        self._reached = selector
        if selector.overlay is None:  # a label or an id applies only to the named resources
            self._reached = DRAFT if selector.asks_for_draft else PUBLISHED
        self._by = by
        self._evaluation = Evaluation({})
        self._evaluation.field = "resources"
        self._characters = 0
        self._agents: dict[str, _Agent | None] = {}
        """Every agent that was looked up; None for one that is unavailable to the caller."""
        self._unread: list[tuple[Candidate, bool]] = []
        self._locked: dict[str, None] = {}  # an ordered set
        self._blocks: dict[str, _Block] = {}
        """The named prompt blocks."""

    def add_block(self, block_id: str, prompts: Resources[PromptBlock]) -> None:
        """Add a named prompt block."""
        versions = ("active_version", "latest_version")
        block = prompts.backend.find(block_id, self._by, label=self._selector.label, only=versions)
        resolved = select(block, self._selector, self._by)
        pin = Pin(version_id=resolved.version.version_id, digest=resolved.version.digest)
        self._blocks[block_id] = _Block(pin=pin, is_live=resolved.is_live and not resolved.is_of_overlay_only)

    def add_agents(self, agent_ids: Collection[str]) -> None:
        """Add the named agents, then everything they can reach, level by level."""
        for agent_id in agent_ids:
            self._agents[agent_id] = None
            candidate = candidate_for(self._resources, agent_id, self._selector, self._by, _CHOOSES)
            require_instructions(candidate)
            self._read_later(candidate, is_own=True)
        self._read()
        level = list(dict.fromkeys(agent_ids))
        while level:
            self._locked |= dict.fromkeys(level)
            self._refuse_too_many(len(self._locked))
            for parent in map(self._get_agent, level):
                for agent_id in parent.named:
                    self._look_up(agent_id, parent.granted.get(agent_id))
            self._read()
            parents = [self._get_agent(node) for node in level]
            reached = dict.fromkeys(
                child for parent in parents for child in parent.named if self._way(parent, child)
            )
            level = [resource for resource in reached if resource not in self._locked]

    def lock(self) -> Lock:
        """Return the lock of everything added."""
        agents = {agent_id: self._get_agent(agent_id) for agent_id in self._locked}
        blocks: dict[str, _Block] = {}
        for agent in agents.values():
            for block_id, block in agent.shown_blocks.items():
                # One version of each: the draft's, if the lock is one of drafts.
                if block_id not in blocks or not block.is_live:
                    blocks[block_id] = block
        blocks |= self._blocks
        self._refuse_too_many(len(agents) + len(blocks))
        if not all(map(self._by.covers, (*agents, *blocks))):
            raise NotFound
        return Lock(
            agents={agent_id: agent.pin for agent_id, agent in agents.items()},
            prompt_blocks={block_id: value.pin for block_id, value in blocks.items()},
            terms=self._terms(agents, blocks),
        )

    def _terms(self, agents: Mapping[str, _Agent], blocks: Mapping[str, _Block]) -> Terms:
        own, without, unshown = {}, {}, {}
        for agent_id, agent in agents.items():
            ways = {
                target_id: self._way(agent, target_id) for target_id in agent.named if target_id in agents
            }
            without[agent_id] = frozenset(target_id for target_id, way in ways.items() if way is None)
            unshown[agent_id] = frozenset((agent.referred_to & blocks.keys()) - agent.shown_blocks.keys())
            if agent.is_live:
                own[agent_id] = frozenset(target_id for target_id, way in ways.items() if way is _Way.OWN)
        return Terms(
            draft_agents=frozenset(agent_id for agent_id, agent in agents.items() if not agent.is_live),
            draft_blocks=frozenset(block_id for block_id, block in blocks.items() if not block.is_live),
            own_agents=own,
            without_agents=without,
            without_blocks=unshown,
        )

    def _way(self, parent: _Agent, agent_id: str) -> _Way | None:
        """Return how a sub-agent is available to an agent; None if it is not."""
        agent = self._agents.get(agent_id)
        if agent is None:
            return None
        if agent.is_fallback and (parent.is_live or self._reached.overlay is not None):
            return None  # a published agent never runs the latest version of an unpublished one
        if parent.granted.get(agent_id) == agent.uuid:
            return _Way.PART
        return _Way.OWN if agent.is_own else None

    def _look_up(self, agent_id: str, identity: UUID | None) -> None:
        """Look up a sub-agent: once by the caller's own right, or else by the grant of its parent."""
        is_known = agent_id in self._agents
        is_unread = any(candidate.id == agent_id for candidate, _ in self._unread)
        if is_known and (self._agents[agent_id] is not None or identity is None or is_unread):
            return
        self._refuse_too_many(len(self._agents))
        own = None if is_known else self._find(agent_id, None) or self._find_as_public(agent_id)
        self._agents.setdefault(agent_id, None)
        candidate = own or (None if identity is None else self._find(agent_id, identity))
        if candidate is not None:
            self._read_later(candidate, is_own=own is not None)

    def _find(self, agent_id: str, identity: UUID | None) -> Candidate | None:
        selectors = [self._reached, PUBLISHED] if identity is None else [PUBLISHED]
        if self._reached.overlay is not None:
            selectors = [self._reached]
        for selector in dict.fromkeys(selectors):
            try:
                candidate = candidate_for(
                    self._resources, agent_id, selector, self._by, _CHOOSES, identity=identity
                )
                require_instructions(candidate)
            except (NotFound, Forbidden):
                continue
            return candidate
        return None

    def _find_as_public(self, agent_id: str) -> Candidate | None:
        """Return a public agent that every caller can run once the version of the overlay is live."""
        name = self._reached.overlay
        overlaid = None if name is None else read_overlay(name, self._by).versions.get((AGENT.slug, agent_id))
        if overlaid is None or overlaid.version_id is None:
            return None
        row = self._resources.all.filter(pk=agent_id, uuid=overlaid.identity).first()
        is_public = row is not None and row.visibility_by(self._resources.code) == Visibility.PUBLIC
        return self._find(agent_id, overlaid.identity) if is_public else None

    def _read_later(self, candidate: Candidate, *, is_own: bool) -> None:
        self._unread.append((candidate, is_own))
        if len(self._unread) == AT_ONCE:
            self._read()

    def _read(self) -> None:
        """Collect the data that the lock needs from the candidates, without keeping their configurations."""
        unread, self._unread = self._unread, []
        candidates = [candidate for candidate, _ in unread]
        block_ids: dict[str, set[str]] = {
            candidate.id: {target for _, target in referenced_blocks(candidate.config)}
            for candidate in candidates
        }
        policies = {candidate.policy for candidate in candidates}
        blocks_by_policy = {
            policy: find_blocks(
                set().union(
                    *(block_ids[candidate.id] for candidate in candidates if candidate.policy is policy)
                ),
                policy,
                self._by,
                self._evaluation,
                overlay=next(
                    (candidate.overlay for candidate in candidates if candidate.overlay is not None), None
                ),
            )
            for policy in policies
        }
        for (candidate, is_own), texts in zip(unread, shown_texts(candidates, blocks_by_policy), strict=True):
            shown_blocks = {
                block_id: _Block(
                    pin=Pin(version_id=text.version_id, digest=canonical.digest(text.config)),
                    is_live=blocks_by_policy[candidate.policy][block_id].is_live,
                )
                for block_id, text in texts.items()
                if block_id in block_ids[candidate.id] and isinstance(text, BlockText)
            }
            self._agents[candidate.id] = self._agent(
                candidate, block_ids[candidate.id], shown_blocks, is_own=is_own
            )

    def _agent(
        self,
        candidate: Candidate,
        block_ids: Collection[str],
        shown_blocks: Mapping[str, _Block],
        *,
        is_own: bool,
    ) -> _Agent:
        text = canonical.comparable(candidate.config)
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS_READ:
            message = Message(
                "has agents of more than {limit} characters together: lock fewer at once",
                limit=MAX_CHARACTERS_READ,
            )
            raise Invalid.field("resources", message)
        sub_agents = list(dict.fromkeys(target for _, target in referenced_agents(candidate.config)))
        return _Agent(
            pin=Pin(version_id=candidate.version_id, digest=canonical.digest_of(text)),
            uuid=candidate.uuid,
            is_live=candidate.is_live and not candidate.is_of_overlay_only,
            is_fallback=candidate.fallback is not None,
            is_own=is_own,
            named=sub_agents,
            granted=self._find_grants(candidate, sub_agents),
            referred_to=block_ids,
            shown_blocks=shown_blocks,
        )

    def _find_grants(self, candidate: Candidate, sub_agents: Collection[str]) -> Mapping[str, UUID]:
        if not candidate.is_live or candidate.is_of_overlay_only or not sub_agents:
            return {}
        if candidate.source == "code":
            return granted_to_code(sub_agents, self._resources.code)
        return find_grants(SubAgentReference, [candidate.version_id]).get(candidate.version_id, {})

    def _get_agent(self, agent_id: str) -> _Agent:
        agent = self._agents[agent_id]
        assert agent is not None  # noqa: S101  only agents that were found are in the lock
        return agent

    def _refuse_too_many(self, count: int) -> None:
        if count > MAX_ENTRIES:
            message = Message(
                "leads to more than {limit} agents and prompt blocks: lock fewer at once", limit=MAX_ENTRIES
            )
            raise Invalid.field("resources", message)
