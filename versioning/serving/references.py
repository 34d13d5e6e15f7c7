"""References between resources: which agents depend on an agent or a block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks

from versioning.domain.access import APPLICATION, Caller, Right, Rights
from versioning.domain.agents import AGENT, PROMPT_BLOCK, Notice, Registry, referenced_tools
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, Message, ResourceId
from versioning.domain.overrides import code_config, not_applied
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.models import Agent, AgentLabel, PromptBlock, SubAgentReference, VersionedResource, Visibility
from versioning.models.agents import is_visible
from versioning.models.querysets import within
from versioning.models.statements import QueriesForCallers, ValuesByKeys, prepared_cursor

MAX_BY_ID: Final = 1_000
"""Up to this number of agents, the names are read by id; for more, all names are read."""


class Dependents:
    """The agents that refer to a target: those that the caller may read, and the number of others."""

    def __init__(
        self,
        ids: Sequence[str],
        hidden_count: int,
        names: Callable[[Collection[str] | None], dict[str, str]],
    ) -> None:
        self.ids = ids
        """The ids of the readable agents, sorted."""
        self.hidden_count = hidden_count
        self._names = names

    @property
    def count(self) -> int:
        """The number of agents, hidden ones included."""
        return len(self.ids) + self.hidden_count

    @cached_property
    def readable(self) -> list[tuple[str, str]]:
        """The (id, name) of all readable agents, sorted by id."""
        return self.find_names(self.ids)

    def find_names(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return the (id, name) of some agents, in one query; of thousands, a page shows a few."""
        if not ids:
            return []
        names = self._names(ids if len(ids) <= MAX_BY_ID else None)
        return [(agent_id, names[agent_id]) for agent_id in ids if agent_id in names]


def find_dependents(
    target: VersionedResource,
    code: Registry,
    *,
    status: Status,
    caller: Caller,
    unstored: Sequence[Agent] = (),
) -> Dependents:
    """Return the agents that refer directly to the target, in their live versions or in their drafts.

    Live versions are the published one and those with released labels. For an agent whose drafts the caller
    may not read, only live versions count, for any `status`. Agents that the caller cannot read are counted
    only for a public target. Overrides do not count where code fixes the references; otherwise `unstored` are
    the overrides that exist only as files.
    """
    if target.referred_by is None:
        return Dependents((), 0, lambda _ids: {})
    referring = _referring(target, code, status, caller, unstored)
    rows = referring.rows.readable_by(caller, code).order_by()
    elsewhere = dict.fromkeys(referring.not_in_rows(caller, code), "")
    ids = sorted({*rows.values_list("id", flat=True), *elsewhere})
    hidden = 0
    if target.visibility_by(code) == Visibility.PUBLIC:
        hidden = referring.rows.count() + len(referring.in_code) - len(ids)

    def names(agent_ids: Collection[str] | None) -> dict[str, str]:
        in_rows = (
            rows.values_list("id", referring.name)
            if agent_ids is None
            else referring.names_of(agent_ids, caller, code)
        )
        names_by_id = {agent_id: name for agent_id, name in in_rows if name is not None} | elsewhere
        return names_by_id | {
            agent_id: agent.name for agent_id, agent in code.agents.items() if agent_id in names_by_id
        }

    return Dependents(ids, hidden, names)


def count_of_dependents(
    target: VersionedResource, code: Registry, *, caller: Caller, unstored: Sequence[Agent] = ()
) -> int:
    """Return the number of agents that `dependents_of` finds in live versions, hidden ones included."""
    if target.referred_by is None:
        return 0
    # Every page of a resource shows the number, and most resources are not referred to: then the other
    # queries are skipped.
    references: Any = target.referred_by
    if not (code.agents or unstored or references.objects.filter(target_id=target.pk).exists()):
        return 0
    referring = _referring(target, code, Status.PUBLISHED, caller, unstored)
    elsewhere, rows = referring.in_code, referring.rows
    if target.visibility_by(code) != Visibility.PUBLIC:
        elsewhere = referring.not_in_rows(caller, code)
        rows = rows.readable_by(caller, code).exclude(pk__in=elsewhere)
    in_rows: int = rows.count()
    return in_rows + len(elsewhere)


@dataclass(frozen=True, kw_only=True)
class _Referring:
    """The agents that refer to a target, readable or not."""

    rows: Any
    """Those in rows."""
    name: Case
    """The name of an agent in the relevant version."""
    versions: Any
    """All versions that refer to the target."""
    status: Status
    in_code: set[str]
    overriding: set[str]
    """Those in override files."""

    def names_of(self, ids: Collection[str], caller: Caller, code: Registry) -> Any:
        """Return the (id, name) of some of these agents, in one query.

        The name is None if an agent no longer refers to the target.
        """
        agents: Any = Agent.objects.filter(pk__in=ids)
        released = AgentLabel.objects.filter(resource__in=ids, released=True).order_by()
        is_live = Q(version__in=agents.order_by().values("active_version")) | Q(
            version__in=released.values("version")
        )
        _, name = _reference_that_counts(self.versions.filter(is_live), self.status, caller)
        return agents.readable_by(caller, code).order_by().values_list("id", name)

    def not_in_rows(self, caller: Caller, code: Registry) -> set[str]:
        """Return the ids of those in code and in files that the caller may read."""
        return (self.in_code | self.overriding) & code.readable_by(caller).keys()


def _referring(
    target: VersionedResource, code: Registry, status: Status, caller: Caller, unstored: Sequence[Agent]
) -> _Referring:
    references: Any = target.referred_by
    reference_rows = references.objects.filter(target_id=target.pk)
    versions = reference_rows.values("version_id")
    agents = Agent.objects.exclude(pk__in=code.agents) if references.fixed_by_code else Agent.objects.all()
    agents = agents.exclude(pk=target.pk) if isinstance(target, Agent) else agents
    if status is Status.DRAFT:  # whose condition is not an index lookup
        agents = agents.filter(pk__in=reference_rows.values("version__resource_id"))
    overrides = () if references.fixed_by_code else unstored
    condition, name = _reference_that_counts(versions, status, caller)
    other_agents = (agent for agent in code.agents.values() if agent.id != target.pk)
    judged = status if caller.may(Right.READ_DRAFTS, code.workspace_id) else Status.PUBLISHED
    return _Referring(
        rows=agents.exclude(pk__in=[agent.pk for agent in overrides]).filter(condition),
        name=name,
        versions=versions,
        status=status,
        in_code={
            agent.id
            for agent in other_agents
            if any(target.pk == target_id for _, target_id in target.referred_by.find(code_config(agent)))
        },
        overriding=_overrides_that_refer(target, judged, overrides, versions) if overrides else set(),
    )


def agents_that_show(
    resource: VersionedResource, code: Registry, unstored: Sequence[Agent] = ()
) -> list[Agent]:
    """Return the live agents that show the text of a resource to people who cannot read the resource.

    These are public agents of its workspace, and agents of other workspaces to which it was granted. Live
    versions are the published one and those with released labels. `unstored` are overrides that exist only as
    files.
    """
    references: Any = resource.referred_by._default_manager.filter(target_id=resource.pk)
    at_home = Q(version__resource__workspace_id=resource.workspace_id)
    versions = references.filter(at_home | Q(target_uuid=resource.uuid)).values("version_id")
    condition, _ = _reference_that_counts(versions, Status.PUBLISHED, APPLICATION)
    strangers = is_visible(Visibility.PUBLIC, code) | ~Q(workspace_id=resource.workspace_id)
    agents = {agent.pk: agent for agent in Agent.objects.filter(strangers & condition)}
    if resource.workspace_id == code.workspace_id:
        overrides = {override.pk: override for override in unstored}
        for agent in code.agents.values():
            override = overrides.get(agent.id)
            active = override.active if override else None
            config = active.config if active else code_config(agent)
            shows = agent.visibility == Visibility.PUBLIC and any(
                target == resource.pk for _, target in resource.referred_by.find(config)
            )
            if shows and agent.id not in agents:
                agents[agent.id] = Agent(id=agent.id, workspace_id=code.workspace_id)
    return [agents[agent_id] for agent_id in sorted(agents)]


def _reference_that_counts(versions: QuerySet[Any], status: Status, caller: Caller) -> tuple[Q, Case]:
    """Return the condition that a version of an agent counts, and the agent's name in that version."""
    # An expression instead of the column: SQLite would look for a label of each version that refers, of which
    # there can be many more than released labels.
    version_id = Coalesce("version_id", "version_id")
    released = AgentLabel.objects.alias(of=version_id).filter(released=True, of__in=versions).order_by()
    active = Q(active_version__in=versions)
    # Both parts are index lookups: no irrelevant agent is read. With OR, PostgreSQL reads all.
    published = Agent.objects.filter(active).order_by().values("pk")
    live = Q(pk__in=published.union(released.values("resource_id"), all=True))
    of_label = AgentLabel.objects.filter(resource=OuterRef("pk"), released=True, version__in=versions)
    live_name = Case(
        When(active, then=F("active_version__name")),
        default=Subquery(of_label.values("version__name")[:1]),
    )
    if status is Status.PUBLISHED:
        return live, live_name
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    condition = (drafts & Q(latest_version__in=versions)) | (~drafts & live)
    return condition, Case(When(drafts, then=F("latest_version__name")), default=live_name)


def _overrides_that_refer(
    target: VersionedResource, status: Status, overrides: Sequence[Agent], versions: QuerySet[Any]
) -> set[str]:
    """Return the overrides in files that refer to the target, by the same rule as for rows."""
    if status is Status.DRAFT:
        return {agent.pk for agent in overrides if _refers(agent.latest, target)}
    labels = AgentLabel.objects.filter(resource__in=[agent.pk for agent in overrides], released=True)
    released = labels.filter(version__in=versions).values_list("resource_id", flat=True)
    return {agent.pk for agent in overrides if agent.active and _refers(agent.active, target)} | set(released)


def _refers(version: Snapshot, target: VersionedResource) -> bool:
    return any(target.pk == target_id for _, target_id in target.referred_by.find(version.config))


MAX_WARNINGS: Final = 1000
"""The maximum number of warnings in the answer to a save."""

_readable: Final[QueriesForCallers[ValuesByKeys]] = QueriesForCallers()
"""Queries for the readable agents of callers by id; every save checks its sub-agents."""

# Only the name of the table is inserted.
_REFERS: Final = f'SELECT 1 FROM "{SubAgentReference._meta.db_table}" WHERE target_id = %s LIMIT 1'  # noqa: S608


class UnpublishedBlocks(Invalid):
    """A version refers to prompt blocks that are not published, or that the caller cannot read."""

    def __init__(self, issues: Sequence[Issue], blocks: Sequence[str]) -> None:
        super().__init__(issues, code="unpublished_blocks")
        self.blocks = tuple(blocks)
        """Their ids, without duplicates."""


def unpublished_blocks(
    requests: Sequence[tuple[Config, Caller, Mapping[str, bool]]],
) -> Iterator[UnpublishedBlocks | None]:
    """Yield an error that names every referenced block that is unpublished or not readable, or None.

    Each configuration comes with its caller, and with the blocks that are published (True) or unpublished
    (False) in the same transaction, by id. Takes one statement for all callers with the same rights; none if
    no configuration refers to a block.
    """
    references = [list(referenced_blocks(config)) for config, _caller, _moving in requests]
    ids_by_rights: defaultdict[Rights, set[str]] = defaultdict(set)
    callers = {caller.rights: caller for _config, caller, _moving in requests}
    for (_config, caller, _moving), block_references in zip(requests, references, strict=True):
        ids_by_rights[caller.rights].update(target for _field, target in block_references)
    published = {}
    for rights, ids in ids_by_rights.items():
        if ids:
            blocks = PromptBlock.objects.readable_by(callers[rights]).filter(pk__in=ids)
            pointers = blocks.values_list("pk", "active_version_id")
            published[rights] = {pk: active is not None for pk, active in pointers}
    for (_config, caller, moving), block_references in zip(requests, references, strict=True):
        yield _error(block_references, published.get(caller.rights, {}), moving)


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
            Notice("not_applied", "is stored but never applied to an agent that code defines", field)
            for field in not_applied(config)
        )
        return ignored + _unknown_tools(agent_id, config, code)
    return _unknown_tools(agent_id, config, code) + _sub_agent_warnings(agent_id, config, caller, code)


def limit_notices(notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """Return the first warnings and the number of further ones: a megabyte of names has 70 000."""
    more = len(notices) - MAX_WARNINGS
    if more <= 0:
        return notices
    return (
        *notices[:MAX_WARNINGS],
        Notice("more_warnings", Message("There are {count} more warnings.", count=more)),
    )


def _unknown_tools(agent_id: str, config: Config, code: Registry) -> tuple[Notice, ...]:
    tool_names = code.tool_names(agent_id)
    return tuple(
        Notice("unknown_tool", Message("There is no tool {name!r}.", name=name), field)
        for field, name in referenced_tools(config)
        if name not in tool_names
    )


def _sub_agent_warnings(agent_id: str, config: Config, caller: Caller, code: Registry) -> tuple[Notice, ...]:
    references = list(referenced_agents(config))
    if not references:
        return ()
    target_ids = {target for _, target in references}
    readable = _readable.get(
        caller, code, None, lambda: ValuesByKeys(Agent.objects.readable_by(caller, code).values_list("pk"))
    )
    stored = {agent_id for (agent_id,) in readable.get(target_ids)}
    readable_ids = stored | (target_ids & code.readable_by(caller).keys())
    looping = _leading_back_to(agent_id, readable_ids, caller, code)
    notices = []
    for field, target in references:
        if target == agent_id or target in looping:
            placeholders = {"id": ResourceId(AGENT.slug, target), "other": ResourceId(AGENT.slug, agent_id)}
            message = Message("The sub-agent {id!r} leads back to {other!r}.", **placeholders)
            notices.append(Notice("agent_cycle", message, field))
        elif target not in readable_ids:
            message = Message("There is no agent {id!r} that you can read.", id=target)
            notices.append(Notice("unknown_agent", message, field))
    return tuple(notices)


def _leading_back_to(agent_id: str, starts: set[str], caller: Caller, code: Registry) -> set[str]:
    """Return those of the starting agents whose sub-agents lead back to `agent_id`.

    Follows published and latest versions of agents that the caller may read, with one query per level. A
    narrow first query detects the usual case, in which no agent refers to the saved one.
    """
    refer_in_code = any(agent_id in agent.sub_agent_ids for agent in code.agents.values())
    if not refer_in_code:
        with prepared_cursor() as cursor:
            cursor.execute(_REFERS, [agent_id])
            if cursor.fetchone() is None:
                return set()
    edges: dict[str, set[str]] = {}
    frontier = set(starts) - {agent_id}
    while frontier:
        for source in frontier:
            edges[source] = set()
        for source, target in _list_sub_agents(frontier, caller, code):
            edges[source].add(target)
        frontier = {target for source in frontier for target in edges[source]} - edges.keys() - {agent_id}
    looping = {source for source, targets in edges.items() if agent_id in targets}
    while more := {source for source, targets in edges.items() if targets & looping} - looping:
        looping |= more
    return looping & starts


def _list_sub_agents(sources: set[str], caller: Caller, code: Registry) -> list[tuple[str, str]]:
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
