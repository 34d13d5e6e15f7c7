"""References between resources: who depends on an agent or a block, and which references lead nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from editor_client.shared.instructions import referenced_blocks

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config, referenced_agents, referenced_tools
from versioning.domain.errors import Invalid, Issue
from versioning.domain.overrides import code_config, not_applied
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import Notice
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.models import (
    Agent,
    AgentLabel,
    PromptBlock,
    SubAgentReference,
    VersionedResource,
    Visibility,
)
from versioning.models.agents import is_visible
from versioning.models.compiled_queries import QueriesForCallers, ValuesByKeys
from versioning.models.querysets import within
from versioning.models.statements import prepared_cursor

MAX_WARNINGS: Final = 1000
"""The maximum number of warnings in the answer to a save."""


_readable: Final[QueriesForCallers[ValuesByKeys]] = QueriesForCallers()
"""For the ids of the agents that callers may read; every save asks for its sub-agents."""

# Only the name of the table is inserted.
_REFERS: Final = f'SELECT 1 FROM "{SubAgentReference._meta.db_table}" WHERE target_id = %s LIMIT 1'  # noqa: S608


@dataclass(frozen=True, kw_only=True)
class Dependents:
    """The agents that refer to a target: those that the caller may read, and the number of others."""

    readable: list[tuple[str, str]]
    """(id, name), sorted by id."""
    hidden_count: int

    @property
    def count(self) -> int:
        """How many there are, hidden ones included."""
        return len(self.readable) + self.hidden_count


def dependents_of(
    target: VersionedResource,
    code: Registry,
    *,
    status: Status,
    caller: Caller,
    unstored: Sequence[Agent] = (),
) -> Dependents:
    """Return the agents that refer directly to the target, in their live versions or in their drafts.

    Live versions are the published one and those with released labels. For an agent whose drafts the caller
    may not read, the live versions count whatever the status. Agents that the caller cannot read are
    counted only for a public target. Where code alone decides to which agents its agents refer, overrides
    do not count; otherwise `unstored` are the overrides that only a file describes.
    """
    found = _referring(target, code, status, caller, unstored)
    named = dict(found.rows.readable_by(caller, code).order_by().values_list("id", found.name))
    named |= dict.fromkeys(found.not_in_rows(caller, code), "")
    named |= {agent_id: agent.name for agent_id, agent in code.agents.items() if agent_id in named}
    hidden = 0
    if target.visibility_by(code) == Visibility.PUBLIC:
        hidden = found.rows.count() + len(found.in_code) - len(named)
    return Dependents(readable=sorted(named.items()), hidden_count=hidden)


def count_of_dependents(
    target: VersionedResource, code: Registry, *, caller: Caller, unstored: Sequence[Agent] = ()
) -> int:
    """Return how many agents `dependents_of` finds in live versions, hidden ones included."""
    found = _referring(target, code, Status.PUBLISHED, caller, unstored)
    elsewhere, rows = found.in_code, found.rows
    if target.visibility_by(code) != Visibility.PUBLIC:
        elsewhere = found.not_in_rows(caller, code)
        rows = rows.readable_by(caller, code).exclude(pk__in=elsewhere)
    in_rows: int = rows.count()
    return in_rows + len(elsewhere)


@dataclass(frozen=True, kw_only=True)
class _Referring:
    """The agents that refer to a target, whoever may read them."""

    rows: Any
    """Those that rows describe."""
    name: Case
    """The name of an agent in the version that counts."""
    in_code: set[str]
    overriding: set[str]
    """Those that override files describe."""

    def not_in_rows(self, caller: Caller, code: Registry) -> set[str]:
        """Return the ids of those in code and in files that the caller may read."""
        return (self.in_code | self.overriding) & code.readable_by(caller).keys()


def _referring(
    target: VersionedResource, code: Registry, status: Status, caller: Caller, unstored: Sequence[Agent]
) -> _Referring:
    references: Any = target.referred_by
    found = references.objects.filter(target_id=target.pk)
    versions = found.values("version_id")
    agents = Agent.objects.filter(pk__in=found.values("version__resource_id"))
    agents = agents.exclude(pk__in=code.agents) if references.fixed_by_code else agents
    agents = agents.exclude(pk=target.pk) if isinstance(target, Agent) else agents
    overrides = () if references.fixed_by_code else unstored
    condition, name = _reference_that_counts(versions, status, caller)
    judged = status if caller.may(Right.READ_DRAFTS, code.workspace_id) else Status.PUBLISHED
    return _Referring(
        rows=agents.exclude(pk__in=[agent.pk for agent in overrides]).filter(condition),
        name=name,
        in_code=_code_dependents(target, code),
        overriding=_overrides_that_refer(target, judged, overrides, versions) if overrides else set(),
    )


def agents_that_show(shown: VersionedResource, code: Registry, unstored: Sequence[Agent] = ()) -> list[Agent]:
    """Return the live agents that show the text of a resource to people who may not read the resource.

    These are public agents of its workspace, and agents of other workspaces to which it was granted. Live
    versions are the published one and those with released labels. `unstored` are overrides that only a file
    describes.
    """
    references: Any = shown.referred_by._default_manager.filter(target_id=shown.pk)
    at_home = Q(version__resource__workspace_id=shown.workspace_id)
    versions = references.filter(at_home | Q(target_uuid=shown.uuid)).values("version_id")
    condition, _ = _reference_that_counts(versions, Status.PUBLISHED, APPLICATION)
    strangers = is_visible(Visibility.PUBLIC, code) | ~Q(workspace_id=shown.workspace_id)
    found = {agent.pk: agent for agent in Agent.objects.filter(strangers & condition)}
    if shown.workspace_id == code.workspace_id:
        overrides = {override.pk: override for override in unstored}
        for agent in code.agents.values():
            override = overrides.get(agent.id)
            active = override.active if override else None
            config = active.config if active else code_config(agent)
            shows = agent.visibility == Visibility.PUBLIC and any(
                target == shown.pk for _, target in shown.referred_by.find(config)
            )
            if shows and agent.id not in found:
                found[agent.id] = Agent(id=agent.id, workspace_id=code.workspace_id)
    return [found[agent_id] for agent_id in sorted(found)]


def _reference_that_counts(versions: QuerySet[Any], status: Status, caller: Caller) -> tuple[Q, Case]:
    """Return the condition that a version of an agent counts, and the agent's name in that version."""
    released = AgentLabel.objects.filter(resource=OuterRef("pk"), released=True, version__in=versions)
    active = Q(active_version__in=versions)
    live = active | Q(Exists(released))
    live_name = Case(
        When(active, then=F("active_version__name")),
        default=Subquery(released.values("version__name")[:1]),
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
    return any(target.pk == found for _, found in target.referred_by.find(version.config))


def _code_dependents(target: VersionedResource, code: Registry) -> set[str]:
    find = target.referred_by.find
    others = (agent for agent in code.agents.values() if agent.id != target.pk)
    return {agent.id for agent in others if any(target.pk == found for _, found in find(code_config(agent)))}


def refuse_unpublished_blocks(config: Config, caller: Caller) -> None:
    """Raise `Invalid` naming every referenced block that is unpublished or that the caller cannot read."""
    references = list(referenced_blocks(config))
    if not references:
        return
    wanted = {target for _, target in references}
    rows = (
        PromptBlock.objects.readable_by(caller).filter(pk__in=wanted).values_list("pk", "active_version_id")
    )
    published = dict(rows)
    issues = [
        Issue(
            field,
            f"the prompt block {target!r} {'is not published' if target in published else 'does not exist'}",
        )
        for field, target in references
        if published.get(target) is None
    ]
    if issues:
        raise Invalid(issues, code="unpublished_blocks")


def warnings_for(agent_id: str, config: Config, caller: Caller, code: Registry) -> tuple[Notice, ...]:
    """Return warnings about a saved agent: unknown tools and sub-agents, cycles of sub-agents.

    Agents that the caller cannot read count as unknown. Of an override only applied fields are checked; the
    fields that are never applied are named.
    """
    if code.get(agent_id) is not None:
        ignored = tuple(
            Notice("not_applied", "is kept, but never applied to an agent that code defines", field)
            for field in not_applied(config)
        )
        return _first_of(ignored + _unknown_tools(agent_id, config, code))
    return _first_of(
        _unknown_tools(agent_id, config, code) + _sub_agent_warnings(agent_id, config, caller, code)
    )


def _first_of(notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """Return the first warnings and how many more there are: a megabyte of names has 70 000."""
    more = len(notices) - MAX_WARNINGS
    if more <= 0:
        return notices
    return (*notices[:MAX_WARNINGS], Notice("more_warnings", f"There are {more} more warnings."))


def _unknown_tools(agent_id: str, config: Config, code: Registry) -> tuple[Notice, ...]:
    known = code.tools_of(agent_id)
    return tuple(
        Notice("unknown_tool", f"There is no tool {name!r}.", field)
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
            message = f"The sub-agent {target!r} leads back to {agent_id!r}."
            notices.append(Notice("agent_cycle", message, field))
        elif target not in known:
            notices.append(Notice("unknown_agent", f"There is no agent {target!r} that you can read.", field))
    return tuple(notices)


def _readable_ids(caller: Caller, code: Registry) -> ValuesByKeys:
    def compile_query() -> ValuesByKeys:
        return ValuesByKeys(Agent.objects.readable_by(caller, code).values_list("pk"))

    return _readable.get(caller, code, None, compile_query)


def _leading_back_to(agent_id: str, starts: set[str], caller: Caller, code: Registry) -> set[str]:
    """Return those of the starting agents whose sub-agents lead back to `agent_id`.

    Follows published and latest versions of agents that the caller may read, with one query per level.
    Usually no agent refers to the saved one, which one narrow query finds out first.
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
    """Say whether any version of any agent refers to this one."""
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
