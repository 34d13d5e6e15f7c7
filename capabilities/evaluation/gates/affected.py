"""Which agents a change affects, in whatever workspace, and what exactly would be live of them after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from editor_client.shared.gates import target_digest

from capabilities.evaluation.gates.history import configs_in_code, last_live, were_live_together
from capabilities.evaluation.gates.models import AgentReference
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right, Role
from versioning.domain.agents import AGENT, PROMPT_BLOCK, Registry
from versioning.domain.errors import VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.overrides import IN_CODE
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.domain.uuids import is_uuid
from versioning.editor.gate import (
    ALONE,
    GateRequest,
    PublishRequest,
    TakeDownRequest,
    VisibilityRequest,
)
from versioning.models import Agent, AgentLabel, AgentVersion, VersionedResource
from versioning.models.guarded import unguarded
from versioning.models.sealed_keys import LockKey
from versioning.models.versioned import find_model
from versioning.serving import choice
from versioning.serving.grants import Grants, ids_named, store_grants, target_of
from versioning.serving.overlays import OverlaidVersion, Overlay, Versions, counted_as_live

Lock = Mapping[str, Any]
Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""
MAX_COMBINATIONS: Final = 64
"""How many combinations of arms of other resources are looked at for an agent."""
_ACTIVE: Final = ""
"""Stands for the active version of an agent among those that applications can get."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """A change of what is live, by any door: of one resource, or together with others."""

    resource: VersionedResource
    caller: Caller
    versions: Versions
    """What would be live of the resources that move."""
    before: Versions = field(default_factory=lambda: ALONE)
    """What was live of those that have moved already in this transaction."""
    publishes: PublishRequest | None = None
    """The request to publish; None if the resource is taken down, or keeps its version."""
    visibility: str | None = None
    """Who would be able to read the resource; None if that does not change."""

    @classmethod
    def of(cls, request: GateRequest) -> Move:
        """Return what a request to the gate would change."""
        resource = request.resource
        if isinstance(request, VisibilityRequest):
            return cls(
                resource=resource, caller=request.caller, versions=ALONE, visibility=request.visibility
            )
        publishes = request if isinstance(request, PublishRequest) else None
        version_id = None if publishes is None else publishes.version.version_id
        own = OverlaidVersion(identity=resource.uuid, version_id=version_id)
        return cls(
            resource=resource,
            caller=request.caller,
            versions={**request.together, (resource.kind.slug, resource.pk): own},
            before=request.before,
            publishes=publishes,
        )

    @cached_property
    def arms(self) -> Mapping[Key, Sequence[str]]:
        """The versions that rollouts give to some requests, by the resources that have them."""
        found: dict[Key, list[str]] = {}
        for kind in (AGENT, PROMPT_BLOCK):
            for version_id, resource_id in choice.find_arms(kind).items():
                found.setdefault((kind.slug, resource_id), []).append(version_id)
        return found

    @property
    def agent_id(self) -> str | None:
        """The id of the resource, if it is an agent that goes live itself."""
        is_agent = self.publishes is not None and self.resource.kind.slug == AGENT.slug
        return self.resource.pk if is_agent else None

    @contextmanager
    def with_its_rights(self) -> Iterator[None]:
        """Let a changed visibility, or what the active version would gain, hold within the block.

        Other versions are overlaid, and read as the caller may, for that is what they would be granted.
        """
        grants: Grants = {}
        if self.publishes is not None and self.publishes.version.version_id == self.resource.active_id:
            grants = self.publishes.grants(get_editor().code)
        if self.visibility is None and not grants:
            yield
            return
        LockKey.opened()  # the first lock of an installation makes it, and it would be lost with the block
        with transaction.atomic():
            if self.visibility is not None:
                rows: Any = unguarded(type(self.resource)._default_manager.filter(pk=self.resource.pk))
                rows.update(visibility=self.visibility)
            if self.publishes is not None:
                store_grants(self.publishes.version, grants)
            yield
            transaction.set_rollback(True)


@dataclass(frozen=True, kw_only=True)
class Concerned:
    """An agent of which something else may be live after a change."""

    id: str
    identity: UUID
    workspace_id: str
    versions: frozenset[str]
    """Those that show or run the resource, and that applications can get; `_ACTIVE` for the active one."""


@dataclass(frozen=True, kw_only=True)
class Affected:
    """An agent of which something else would be live, or for which nothing would change."""

    id: str
    identity: UUID
    workspace_id: str
    after: Lock | None
    """What would be live after the change; None if that cannot be found out."""
    is_live: bool
    """Whether it is live, or was before it was unpublished."""
    live: Lock | None
    """What was live last; None if nothing ever was, or if that cannot be found out."""

    @property
    def about(self) -> AgentReference:
        """The reference to the agent."""
        return AgentReference(AGENT.slug, self.id)

    @property
    def after_digest(self) -> str | None:
        """The digest of what would be live."""
        return _digest(self.after)

    @property
    def live_digest(self) -> str | None:
        """The digest of what was live last."""
        return _digest(self.live)

    @cached_property
    def was_live(self) -> bool:
        """Whether just this was live before: the agent with everything that it would show and run."""
        return self.after is not None and were_live_together(self.after, get_editor().code, self.workspace_id)


def _digest(lock: Lock | None) -> str | None:
    return None if lock is None else target_digest(lock)


def concerned_by(move: Move) -> list[Concerned]:
    """Return the agents of which something else may be live: the agent itself, and those that show or run it.

    That a prompt block is released under a label affects those that show it, because a request can name the
    label.
    """
    code, found = get_editor().code, []
    if move.agent_id is not None:
        target = target_of(move.resource, code)
        found.append(
            Concerned(
                id=target.id,
                identity=target.identity,
                workspace_id=target.workspace_id,
                versions=frozenset(),
            )
        )
    if move.resource.kind.slug == AGENT.slug or move.resource.kind.is_shown:
        found += _showing(move, code)
    return found


def affected_by(move: Move, concerned: Concerned) -> Iterator[Affected]:
    """Yield what would be live of an agent, once for each configuration that applications can get of it.

    Where rollouts of what it shows and runs give arms, those are all combinations of these arms, too. If
    there are too many, what would be live cannot be found out.
    """
    caller = _reader(move.caller, concerned.workspace_id)
    is_itself = concerned.id == move.agent_id and not concerned.versions
    known: set[str | None] = set()
    if is_itself:
        itself = _itself(move, concerned)
        known.add(itself.after_digest)
        yield itself
        versions = [_ACTIVE] if move.arms else []
    else:
        versions = sorted(concerned.versions)
    for version_id in versions:
        if version_id == _ACTIVE and _is_taken_down(move, concerned):
            continue
        named: Versions = ALONE
        if version_id != _ACTIVE:
            own = OverlaidVersion(identity=concerned.identity, version_id=version_id, has_grants=True)
            named = {(AGENT.slug, concerned.id): own}
        with move.with_its_rights():
            combinations = list(_combinations(move, {**move.versions, **named}, concerned.id, caller))
        for arms, after in combinations:
            if is_itself and not arms:
                continue
            digest = _digest(after)
            if digest in known:
                continue
            if not is_itself and after is not None:
                before = _overlaid_lock({**move.before, **named, **arms}, concerned.id, caller)
                if digest == _digest(before):
                    continue
            known.add(digest)
            yield _affected(move, concerned, after, caller)


def _combinations(
    move: Move, versions: Versions, agent_id: str, caller: Caller
) -> Iterator[tuple[Versions, Lock | None]]:
    """Yield each combination of arms that a request can get, with what it would get of an agent then."""
    itself = AGENT.slug, agent_id
    offered = {key: arms for key, arms in move.arms.items() if key not in versions and key != itself}
    identities = _identities(offered)
    left, found = [(ALONE, frozenset[Key]())], 0
    while left:
        arms, decided = left.pop()
        lock = _overlaid_lock({**versions, **arms}, agent_id, caller)
        reached = {
            (kind.slug, one)
            for kind, member in ((AGENT, "agents"), (PROMPT_BLOCK, "promptBlocks"))
            for one in (lock or {}).get(member, ())
        }
        undecided = sorted((offered.keys() & reached) - decided)
        if not undecided:
            found += 1
            yield arms, lock
            continue
        key = undecided[0]
        left.append((arms, decided | {key}))
        for version_id in sorted(offered[key]):
            arm = OverlaidVersion(identity=identities[key], version_id=version_id, has_grants=True)
            left.append(({**arms, key: arm}, decided | {key}))
        if found + len(left) > MAX_COMBINATIONS:
            yield {key: arm}, None
            return


def _identities(keys: Collection[Key]) -> Mapping[Key, UUID]:
    found = dict.fromkeys(keys, IN_CODE)
    for kind in (AGENT, PROMPT_BLOCK):
        ids = [one for slug, one in keys if slug == kind.slug]
        rows = find_model(kind)._default_manager.filter(pk__in=ids).order_by() if ids else ()
        found |= {(kind.slug, row.pk): row.uuid for row in rows}
    return found


def _is_taken_down(move: Move, concerned: Concerned) -> bool:
    """Return whether nothing will be active of the agent either, because both are taken down together."""
    own = move.versions.get((AGENT.slug, concerned.id))
    return own is not None and own.identity == concerned.identity and own.version_id is None


def _itself(move: Move, concerned: Concerned) -> Affected:
    request, caller = move.publishes, _reader(move.caller, concerned.workspace_id)
    assert request is not None  # noqa: S101  else it does not go live
    with move.with_its_rights():
        if len(move.versions) == 1 or request.resource.pointers is not None:
            after = _lock(concerned.id, Selector(version_id=request.version.version_id), caller)
        else:
            after = _overlaid_lock(move.versions, concerned.id, caller)
    return _affected(move, concerned, after, caller)


def _affected(move: Move, concerned: Concerned, after: Lock | None, caller: Caller) -> Affected:
    is_live, live = _live(move, concerned, caller)
    return Affected(
        id=concerned.id,
        identity=concerned.identity,
        workspace_id=concerned.workspace_id,
        after=after,
        is_live=is_live,
        live=live,
    )


def _live(move: Move, concerned: Concerned, caller: Caller) -> tuple[bool, Lock | None]:
    """Return whether an agent ever was live, and what was live of it last."""
    if concerned.identity == IN_CODE:
        return True, _overlaid_lock(move.before, concerned.id, caller)
    row = Agent.objects.filter(pk=concerned.id).first()
    if row is None or not row.was_ever_published:
        return False, None
    moved = move.before.get((AGENT.slug, concerned.id))
    if (row.active_version_id if moved is None else moved.version_id) is not None:
        return True, _overlaid_lock(move.before, concerned.id, caller)
    version_id = last_live(concerned.id, concerned.identity)
    if version_id is None:
        return True, None
    own = OverlaidVersion(identity=concerned.identity, version_id=version_id, has_grants=True)
    return True, _overlaid_lock({**move.before, (AGENT.slug, concerned.id): own}, concerned.id, caller)


def _reader(caller: Caller, workspace_id: str) -> Caller:
    """Return who reads an agent as those do who start its experiments; what a key reaches decides nothing."""
    if caller.may(Right.READ_DRAFTS, workspace_id):
        return replace(caller, id_prefix="", actions=None)
    return Caller(username=caller.username, roles={workspace_id: Role.ADMIN})


def _lock(agent_id: str, selector: Selector, by: Caller) -> Lock | None:
    try:
        return get_editor().lock([agent_id], selector=selector, by=by)
    except VersioningError:
        return None


def _overlaid_lock(versions: Versions, agent_id: str, by: Caller) -> Lock | None:
    if not versions:
        return _lock(agent_id, PUBLISHED, by)
    with overlaid(versions) as selector:
        return _lock(agent_id, selector, by)


@contextmanager
def overlaid(versions: Versions) -> Iterator[Selector]:
    """Give a selector of what would be served if these versions were live, within the block."""
    overlay = Overlay(selector="versionId", versions=versions)
    with counted_as_live(overlay) as name:
        yield Selector(overlay=name)


def _showing(move: Move, code: Registry) -> list[Concerned]:
    """Return the agents that would show or run the resource, all the way up, wherever they are."""
    in_code = configs_in_code(code)
    arms = {
        version_id: agent_id
        for (slug, agent_id), versions in move.arms.items()
        if slug == AGENT.slug
        for version_id in versions
    }
    overlaid_agents = {
        version.version_id: agent_id
        for (slug, agent_id), version in move.versions.items()
        if slug == AGENT.slug and version.version_id is not None
    }
    found: dict[str, set[str]] = {}
    frontier: set[Key] = {(move.resource.kind.slug, move.resource.pk)}
    while frontier:
        naming: dict[str, set[str]] = {}
        for references in AgentVersion.reference_models:
            ids = {key for slug, key in frontier if slug == references.target.kind.slug}
            if not ids:
                continue
            manager: Any = references._default_manager
            rows = manager.filter(target_id__in=ids).order_by()
            own = rows.values("version_id")
            live = Agent.objects.filter(active_version_id__in=own).order_by().values_list("pk", flat=True)
            labels = AgentLabel.objects.filter(released=True, version_id__in=own).order_by()
            for agent_id in live:
                naming.setdefault(agent_id, set()).add(_ACTIVE)
            for agent_id, version_id in labels.values_list("resource_id", "version_id"):
                naming.setdefault(agent_id, set()).add(str(version_id))
            known = {**arms, **overlaid_agents}
            in_rows = rows.filter(version_id__in=[*filter(is_uuid, known)])  # a commit has no references
            for version_id in in_rows.values_list("version_id", flat=True):
                name = _ACTIVE if str(version_id) in overlaid_agents else str(version_id)
                naming.setdefault(known[str(version_id)], set()).add(name)
            for agent_id, config in in_code.items():
                if ids & ids_named(references, config):
                    naming.setdefault(agent_id, set()).add(_ACTIVE)
        naming.pop(move.agent_id or "", None)
        new = {
            agent_id for agent_id, versions in naming.items() if not versions <= found.get(agent_id, set())
        }
        for agent_id in new:
            found.setdefault(agent_id, set()).update(naming[agent_id])
        frontier = {(AGENT.slug, agent_id) for agent_id in new}
    return _rows_of(found, code)


def _rows_of(found: Mapping[str, set[str]], code: Registry) -> list[Concerned]:
    """Return agents by id, in the order of their ids."""
    rows = Agent.objects.filter(pk__in=found).order_by().values_list("pk", "uuid", "workspace_id")
    of_agents: dict[str, tuple[UUID, str]] = (
        {pk: (uuid, workspace) for pk, uuid, workspace in rows} if found else {}
    )
    of_agents |= {agent_id: (IN_CODE, code.workspace_id) for agent_id in found if agent_id in code.agents}
    return [
        Concerned(
            id=agent_id,
            identity=of_agents[agent_id][0],
            workspace_id=of_agents[agent_id][1],
            versions=frozenset(found[agent_id]),
        )
        for agent_id in sorted(of_agents)
    ]


def requests_of(versions: Versions, by: Caller) -> Iterator[PublishRequest | TakeDownRequest]:
    """Yield what publishing these versions together would ask the gate."""
    editor = get_editor()
    for (slug, resource_id), one in versions.items():
        collection = editor.collection(KINDS_BY_SLUG[slug])
        if one.version_id is not None:
            found = collection.version(resource_id, one.version_id, by=by)
            yield PublishRequest(resource=found.resource, version=found.version, caller=by, together=versions)
        else:
            resource = collection.find(resource_id, by=by)
            yield TakeDownRequest(resource=resource, caller=by, together=versions)
