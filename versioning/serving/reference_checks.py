"""Dangling references: what prevents a version from being published, and the warnings of a save."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from django.db.models import Q
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks

from versioning.domain.access import Caller, Rights
from versioning.domain.agents import AGENT, Registry, referenced_tools
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, Message, ResourceId
from versioning.domain.overrides import not_applied
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.domain.resolved_agent import Notice
from versioning.models import Agent, PromptBlock, SubAgentReference
from versioning.models.statements import QueriesForCallers, ValuesByKeys, prepared_cursor

MAX_WARNINGS: Final = 1000
"""The maximum number of warnings in the answer to a save."""

_readable: Final[QueriesForCallers[ValuesByKeys]] = QueriesForCallers()
"""For the ids of the agents that callers may read; every save asks for its sub-agents."""

# Only the name of the table is inserted.
_REFERS: Final = f'SELECT 1 FROM "{SubAgentReference._meta.db_table}" WHERE target_id = %s LIMIT 1'  # noqa: S608


class UnpublishedBlocks(Invalid):
    """A version refers to prompt blocks that are not published, or that the caller cannot read."""

    def __init__(self, issues: Sequence[Issue], blocks: Sequence[str]) -> None:
        super().__init__(issues, code="unpublished_blocks")
        self.blocks = tuple(blocks)
        """Their ids, without duplicates."""


def unpublished_blocks(
    asked: Sequence[tuple[Config, Caller, Mapping[str, bool]]],
) -> Iterator[UnpublishedBlocks | None]:
    """Yield an error that names every referenced block that is unpublished or not readable, or None.

    Each configuration comes with its caller, and with the blocks that are published (True) or unpublished
    (False) in the same transaction, by id. Takes one statement for all callers with the same rights; none if
    no configuration refers to a block.
    """
    references = [list(referenced_blocks(config)) for config, _caller, _moving in asked]
    wanted: defaultdict[Rights, set[str]] = defaultdict(set)
    callers = {caller.rights: caller for _config, caller, _moving in asked}
    for (_config, caller, _moving), named in zip(asked, references, strict=True):
        wanted[caller.rights].update(target for _field, target in named)
    published = {rights: _published(ids, callers[rights]) for rights, ids in wanted.items() if ids}
    for (_config, caller, moving), named in zip(asked, references, strict=True):
        yield _error(named, published.get(caller.rights, {}), moving)


def _published(ids: Collection[str], caller: Caller) -> Mapping[str, bool]:
    """Return, for each block that the caller may read, whether it is published."""
    rows = PromptBlock.objects.readable_by(caller).filter(pk__in=ids)
    return {pk: active is not None for pk, active in rows.values_list("pk", "active_version_id")}


def _error(
    references: Sequence[tuple[str, str]], published: Mapping[str, bool], moving: Mapping[str, bool]
) -> UnpublishedBlocks | None:
    missing = [
        (field, target)
        for field, target in references
        if target not in published or not moving.get(target, published[target])
    ]
    issues = [
        Issue(
            field,
            Message("the prompt block {id!r} is not published", id=ResourceId(PROMPT_BLOCK.slug, target))
            if target in published
            else Message("the prompt block {id!r} does not exist, or you may not read it", id=target),
        )
        for field, target in missing
    ]
    return (
        UnpublishedBlocks(issues, list(dict.fromkeys(target for _, target in missing))) if missing else None
    )


def warnings_for(agent_id: str, config: Config, caller: Caller, code: Registry) -> tuple[Notice, ...]:
    """Return warnings about a saved agent: unknown tools and sub-agents, cycles of sub-agents.

    Agents that the caller cannot read count as unknown. For an override, only applied fields are checked;
    fields that are never applied get a warning.
    """
    if code.get(agent_id) is not None:
        ignored = tuple(
            Notice("not_applied", "is kept, but never applied to an agent that code defines", field)
            for field in not_applied(config)
        )
        return ignored + _unknown_tools(agent_id, config, code)
    return _unknown_tools(agent_id, config, code) + _sub_agent_warnings(agent_id, config, caller, code)


def limited(notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """Return the first warnings and the number of further ones: a megabyte of names has 70 000."""
    more = len(notices) - MAX_WARNINGS
    if more <= 0:
        return notices
    return (
        *notices[:MAX_WARNINGS],
        Notice("more_warnings", Message("There are {count} more warnings.", count=more)),
    )


def _unknown_tools(agent_id: str, config: Config, code: Registry) -> tuple[Notice, ...]:
    known = code.tools_of(agent_id)
    return tuple(
        Notice("unknown_tool", Message("There is no tool {name!r}.", name=name), field)
        for field, name in referenced_tools(config)
        if name not in known
    )


def _sub_agent_warnings(agent_id: str, config: Config, caller: Caller, code: Registry) -> tuple[Notice, ...]:
    references = list(referenced_agents(config))
    if not references:
        return ()
    wanted = {target for _, target in references}
    stored = {agent_id for (agent_id,) in _readable_ids(caller, code).get(wanted)}
    known = stored | (wanted & code.readable_by(caller).keys())
    looping = _leading_back_to(agent_id, known, caller, code)
    notices = []
    for field, target in references:
        if target == agent_id or target in looping:
            named = {"id": ResourceId(AGENT.slug, target), "other": ResourceId(AGENT.slug, agent_id)}
            message = Message("The sub-agent {id!r} leads back to {other!r}.", **named)
            notices.append(Notice("agent_cycle", message, field))
        elif target not in known:
            message = Message("There is no agent {id!r} that you can read.", id=target)
            notices.append(Notice("unknown_agent", message, field))
    return tuple(notices)


def _readable_ids(caller: Caller, code: Registry) -> ValuesByKeys:
    def compile_query() -> ValuesByKeys:
        return ValuesByKeys(Agent.objects.readable_by(caller, code).values_list("pk"))

    return _readable.get(caller, code, None, compile_query)


def _leading_back_to(agent_id: str, starts: set[str], caller: Caller, code: Registry) -> set[str]:
    """Return those of the starting agents whose sub-agents lead back to `agent_id`.

    Follows published and latest versions of agents that the caller may read, with one query per level. A
    narrow first query detects the usual case, in which no agent refers to the saved one.
    """
    refer_in_code = any(agent_id in agent.sub_agent_ids for agent in code.agents.values())
    if not refer_in_code and not _is_target(agent_id):
        return set()
    edges: dict[str, set[str]] = {}
    frontier = set(starts) - {agent_id}
    while frontier:
        for source in frontier:
            edges[source] = set()
        for source, target in _sub_agents_of(frontier, caller, code):
            edges[source].add(target)
        frontier = {target for source in frontier for target in edges[source]} - edges.keys() - {agent_id}
    looping = {source for source, targets in edges.items() if agent_id in targets}
    while more := {source for source, targets in edges.items() if targets & looping} - looping:
        looping |= more
    return looping & starts


def _is_target(agent_id: str) -> bool:
    """Return whether any version of any agent refers to this one."""
    with prepared_cursor() as cursor:
        cursor.execute(_REFERS, [agent_id])
        return cursor.fetchone() is not None


def _sub_agents_of(sources: set[str], caller: Caller, code: Registry) -> list[tuple[str, str]]:
    agents = Agent.objects.filter(pk__in=sources).exclude(pk__in=code.agents)
    published = agents.readable_by(caller, code).values("active_version_id")
    latest = agents.drafts_readable_by(caller).values("latest_version_id")
    references = SubAgentReference.objects.filter(Q(version_id__in=published) | Q(version_id__in=latest))
    in_code = [
        (agent_id, target)
        for agent_id, agent in code.readable_by(caller).items()
        if agent_id in sources
        for target in agent.sub_agent_ids
    ]
    return [*references.values_list("version__resource_id", "target_id"), *in_code]
