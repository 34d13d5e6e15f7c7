"""The agents that a change affects, in any workspace, with their live configurations before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from editor_client.shared.gates import target_digest

from capabilities.evaluation.gates.models import AgentIdentity
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right, Role
from versioning.domain.agents import AGENT, PROMPT_BLOCK, Registry
from versioning.domain.config import Config
from versioning.domain.errors import VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.overrides import IN_CODE, code_config, merged_config
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.domain.uuids import is_uuid
from versioning.editor.gate import (
    ALONE,
    GateRequest,
    PublishRequest,
    TakeDownRequest,
    VisibilityRequest,
)
from versioning.models import (
    Agent,
    AgentLabel,
    AgentVersion,
    BlockReference,
    Event,
    PromptBlock,
    VersionedResource,
    Visibility,
)
from versioning.models.guarded import unguard
from versioning.models.sealed_keys import LockKey
from versioning.models.versioned import find_model
from versioning.serving import choice
from versioning.serving.grants import Grants, ids_named, store_grants, target_of
from versioning.serving.overlays import OverlaidVersion, Overlay, Versions, counted_as_live

"""The slug of a kind, and the id of a resource."""
Spans = list[tuple[float, float]]
"""Ranges of positions in the log, in order and without overlaps."""
_MODELS: Final[Mapping[str, Any]] = {AGENT.slug: Agent, PROMPT_BLOCK.slug: PromptBlock}
_MEMBERS: Final = {AGENT.slug: "agents", PROMPT_BLOCK.slug: "promptBlocks"}
"""The members of a lock with the pins of a kind."""
_TYPES: Final = [f"{slug}.{verb}" for slug in _MEMBERS for verb in ("published", "unpublished", "deleted")]
_BEFORE: Final = -1.0
"""A position before every event."""


def last_live(agent_id: str, identity: UUID) -> str | None:
    """Return the version that was live when an agent was unpublished; None if it was pruned from the log."""
    rows = Event.objects.filter(
        resource_id=agent_id, resource_uuid=identity, type=f"{AGENT.slug}.unpublished", hidden_from=""
    )
    return rows.order_by("-position").values_list("previous_version_id", flat=True).first() or None


def were_live_together(lock: Mapping[str, Any], code: Registry, workspace_id: str) -> bool:
    """Return whether all configurations in a lock were live at one time, of the very same resources.

    Resources that they name but the lock does not contain must not have been live then, because they were not
    shown. Periods pruned from the log do not count. Content of files and commits, decided by deployment,
    counts as having been live. Agents outside the workspace count only if they have always been public,
    because the log does not record which agents were granted them. An agent was live with blocks of other
    workspaces only since its version was granted them. Takes at most seven queries, regardless of the lock's
    size, and one more for each agent with such blocks.
    """
    pins = {
        (slug, key): pin for slug, member in _MEMBERS.items() for key, pin in lock.get(member, {}).items()
    }
    pins_in_rows = {key: pin for key, pin in pins.items() if is_uuid(pin["versionId"] or "")}
    # The resources that agents of the lock name, in any context.
    versions = [pin["versionId"] for (slug, _), pin in pins_in_rows.items() if slug == AGENT.slug]
    agents_in_code = {key for slug, key in pins if slug == AGENT.slug and key in code.agents}
    configs = configs_in_code(code) if agents_in_code else {}
    absent: set[Key] = set()
    absent_in_code: set[Key] = set()
    for references in AgentVersion.reference_models:
        slug = references.target.kind.slug
        if slug not in _MEMBERS:
            continue
        absent_in_code |= {
            (slug, key) for agent_id in agents_in_code for key in ids_named(references, configs[agent_id])
        }
        if versions:
            manager: Any = references._default_manager
            rows = manager.filter(version_id__in=versions).order_by().values_list("target_id", flat=True)
            absent |= {(slug, key) for key in rows}
    absent -= pins.keys()
    absent_in_code -= pins.keys()
    if not _were_always_public([key for slug, key in pins_in_rows if slug == AGENT.slug], workspace_id):
        return False
    history = _History({*pins_in_rows, *absent, *absent_in_code}, code)
    if any(map(history.any_live, absent_in_code)):
        return False  # the time of the file's last change is unknown
    common_spans: Spans = [(_BEFORE, inf)]
    blocks = [key for slug, key in pins_in_rows if slug == PROMPT_BLOCK.slug]
    for key, pin in pins_in_rows.items():
        common_spans = _common(common_spans, history.live(key, pin, blocks))
    for key in absent:
        edges = [_BEFORE, *(edge for span in history.any_live(key) for edge in span), inf]
        common_spans = _common(common_spans, list(zip(edges[::2], edges[1::2], strict=True)))
    return bool(common_spans)


def _were_always_public(agent_ids: Collection[str], home: str) -> bool:
    """Return whether the agents outside a workspace have always been runnable by everyone."""
    outside = Agent.objects.filter(pk__in=agent_ids).exclude(workspace=home).order_by()
    visibilities = dict(outside.values_list("uuid", "visibility"))
    changes = Event.objects.filter(resource_id__in=agent_ids, type=f"{AGENT.slug}.updated").order_by()
    details = changes.filter(resource_uuid__in=visibilities).values_list("detail", flat=True)
    return all(visibility == Visibility.PUBLIC for visibility in visibilities.values()) and not any(
        "visibility" in detail["fields"] for detail in (details if visibilities else ())
    )


def configs_in_code(code: Registry) -> Mapping[str, Config]:
    """Return the configurations of code-defined agents, by id, with overrides from files.

    Overrides in rows are found by their references.
    """
    editor = get_editor()
    configs = {agent.id: code_config(agent) for agent in code.agents.values()}
    if editor.source != "code":
        return configs
    for agent in code.agents.values():
        with suppress(VersioningError):
            override = editor.agent.get(agent.id)
            if override.is_live:
                configs[agent.id] = merged_config(agent, override.version.config)
    return configs


class _History:
    """The periods in which versions of some resources were live."""

    def __init__(self, keys: Collection[Key], code: Registry) -> None:
        self._identities: dict[Key, UUID] = {}
        self._workspaces: dict[Key, str] = {}
        self._spans: dict[Key, list[tuple[UUID, str, float, float]]] = defaultdict(list)
        logged = self._read_log(keys)
        for slug, model in _MODELS.items():
            ids = [key for kind_slug, key in keys if kind_slug == slug]
            rows = model.objects.filter(pk__in=ids).order_by()
            columns = rows.values_list("pk", "uuid", "active_version_id", "workspace_id")
            for key, uuid, active, workspace_id in columns if ids else ():
                identity = IN_CODE if slug == AGENT.slug and key in code.agents else uuid
                self._identities[slug, key], self._workspaces[slug, key] = identity, workspace_id
                if active is not None and ((slug, key), identity) not in logged:
                    self._spans[slug, key].append((identity, str(active), _BEFORE, inf))

    def _read_log(self, keys: Collection[Key]) -> set[tuple[Key, UUID]]:
        ids = {key for _, key in keys}
        events = Event.objects.filter(resource_id__in=ids, type__in=_TYPES, hidden_from="")
        about_version = ("type", "version_id", "previous_version_id", "position")
        rows = events.order_by("position", "ordinal").values_list(
            "resource_kind", "resource_id", "resource_uuid", *about_version
        )
        since: dict[tuple[Key, UUID], tuple[str, float]] = {}
        logged: set[tuple[Key, UUID]] = set()
        for slug, key, identity, kind, version, previous, position in rows:
            about = (slug, key), identity
            before = since.pop(about, None)
            if before is None and previous and about not in logged:
                before = previous, _BEFORE
            logged.add(about)
            if before is not None:
                self._spans[slug, key].append((identity, *before, float(position)))
            if kind.endswith(".published"):
                since[about] = version, float(position)
        for (resource_key, identity), (version, start) in since.items():
            self._spans[resource_key].append((identity, version, start, inf))
        return logged

    def live(self, key: Key, pin: Mapping[str, Any], blocks: Sequence[str]) -> Spans:
        """Return the periods in which a resource was live in a configuration, with any blocks it names."""
        slug, resource_id = key
        identity = self._identities.get(key)
        spans_of_identity = [
            (version, start, end) for owner, version, start, end in self._spans[key] if owner == identity
        ]
        ids = {version for version, _, _ in spans_of_identity if is_uuid(version)}
        versions = _MODELS[slug].version_model.objects.filter(
            pk__in=ids, resource=resource_id, digest=pin["digest"]
        )
        fitting = {str(pk) for pk in versions.order_by().values_list("pk", flat=True)} if ids else set()
        spans = [span for span in spans_of_identity if span[0] in fitting]
        strangers = [
            block
            for block in blocks
            if self._workspaces.get((PROMPT_BLOCK.slug, block)) != self._workspaces[key]
        ]
        if slug == AGENT.slug and strangers:
            spans = self._filter_granted(spans, strangers)
        return _merge_spans((start, end) for _, start, end in spans)

    def _filter_granted(
        self, spans: Sequence[tuple[str, float, float]], blocks: Sequence[str]
    ) -> list[tuple[str, float, float]]:
        """Return the periods in which versions of an agent showed the named blocks of other workspaces.

        A version has the grants of its last publication; earlier grants are unknown.
        """
        last = {version: (version, start, end) for version, start, end in spans}
        rows = BlockReference.objects.filter(version_id__in=[*last], target_id__in=blocks).order_by()
        naming: set[str] = set()
        for version_id, block, identity in rows.values_list("version_id", "target_id", "target_uuid"):
            naming.add(str(version_id))
            if identity != self._identities[PROMPT_BLOCK.slug, block]:
                last.pop(str(version_id), None)
        return [span for span in spans if span[0] not in naming or last.get(span[0]) == span]

    def any_live(self, key: Key) -> Spans:
        """Return the periods in which any resource with an id was live."""
        return _merge_spans((start, end) for _, _, start, end in self._spans[key])


def _merge_spans(spans: Iterable[tuple[float, float]]) -> Spans:
    merged: Spans = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _common(spans: Spans, other_spans: Spans) -> Spans:
    overlaps = ((max(a, c), min(b, d)) for a, b in spans for c, d in other_spans)
    return [(start, end) for start, end in overlaps if start < end]


Lock = Mapping[str, Any]
Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""
MAX_COMBINATIONS: Final = 64
"""The maximum number of combinations of other resources' arms that are examined for an agent."""
_ACTIVE: Final = ""
"""Stands for the active version of an agent among those that applications can get."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """A change of the live state by any path: of one resource, or together with others."""

    resource: VersionedResource
    caller: Caller
    versions: Versions
    """The future live versions of the resources that change."""
    before: Versions = field(default_factory=lambda: ALONE)
    """The previous live versions of resources that have already changed in this transaction."""
    publishes: PublishRequest | None = None
    """The request to publish; None if the resource is taken down, or keeps its version."""
    visibility: str | None = None
    """The new visibility of the resource; None if it does not change."""

    @classmethod
    def of(cls, request: GateRequest) -> Move:
        """Return the change that a request to the gate describes."""
        resource = request.resource
        if isinstance(request, VisibilityRequest):
            return cls(
                resource=resource, caller=request.caller, versions=ALONE, visibility=request.visibility
            )
        publishes = request if isinstance(request, PublishRequest) else None
        version_id = None if publishes is None else publishes.version.version_id
        overlaid = OverlaidVersion(identity=resource.uuid, version_id=version_id)
        return cls(
            resource=resource,
            caller=request.caller,
            versions={**request.together, (resource.kind.slug, resource.pk): overlaid},
            before=request.before,
            publishes=publishes,
        )

    @cached_property
    def arms(self) -> Mapping[Key, Sequence[str]]:
        """The versions that rollouts give to some requests, by the resources that have them."""
        arms: dict[Key, list[str]] = {}
        for kind in (AGENT, PROMPT_BLOCK):
            for version_id, resource_id in choice.find_arms(kind).items():
                arms.setdefault((kind.slug, resource_id), []).append(version_id)
        return arms

    @property
    def agent_id(self) -> str | None:
        """The id of the resource, if it is an agent that goes live itself."""
        is_agent = self.publishes is not None and self.resource.kind.slug == AGENT.slug
        return self.resource.pk if is_agent else None

    @contextmanager
    def with_its_rights(self) -> Iterator[None]:
        """Apply a changed visibility, or the active version's new grants, within the block.

        Other versions are overlaid and read with the caller's rights, which determine their grants.
        """
        grants: Grants = {}
        if self.publishes is not None and self.publishes.version.version_id == self.resource.active_id:
            grants = self.publishes.grants(get_editor().code)
        if self.visibility is None and not grants:
            yield
            return
        LockKey.load_key()  # the first lock of an installation makes it, and it would be lost with the block
        with transaction.atomic():
            if self.visibility is not None:
                rows: Any = unguard(type(self.resource)._default_manager.filter(pk=self.resource.pk))
                rows.update(visibility=self.visibility)
            if self.publishes is not None:
                store_grants(self.publishes.version, grants)
            yield
            transaction.set_rollback(True)


@dataclass(frozen=True, kw_only=True)
class Concerned(AgentIdentity):
    """An agent whose live state may differ after a change."""

    versions: frozenset[str]
    """The versions available to applications that show or run the resource; `_ACTIVE` for the active one."""


@dataclass(frozen=True, kw_only=True)
class Affected(AgentIdentity):
    """An agent with its live state before and after a change, which may be the same."""

    after: Lock | None
    """The live configuration after the change; None if it cannot be determined."""
    is_live: bool
    """Whether it is live, or was before it was unpublished."""
    live: Lock | None
    """The last live configuration; None if there was none, or it cannot be determined."""

    @property
    def after_digest(self) -> str | None:
        """The digest of the live configuration after the change."""
        return _digest(self.after)

    @property
    def live_digest(self) -> str | None:
        """The digest of the last live configuration."""
        return _digest(self.live)

    @cached_property
    def was_live(self) -> bool:
        """Whether exactly this was live before: the agent with everything that it would show and run."""
        return self.after is not None and were_live_together(self.after, get_editor().code, self.workspace_id)


def _digest(lock: Lock | None) -> str | None:
    return None if lock is None else target_digest(lock)


def concerned_by(move: Move) -> list[Concerned]:
    """Return the agents whose live state may change: the agent itself, and those that show or run it.

    Releasing a prompt block under a label affects agents that show it, because a request can name the label.
    """
    code, concerned = get_editor().code, []
    if move.agent_id is not None:
        target = target_of(move.resource, code)
        identity, workspace_id = target.identity, target.workspace_id
        concerned.append(
            Concerned(id=target.id, identity=identity, workspace_id=workspace_id, versions=frozenset())
        )
    if move.resource.kind.slug == AGENT.slug or move.resource.kind.is_shown:
        concerned += _showing(move, code)
    return concerned


def affected_by(move: Move, concerned: Concerned) -> Iterator[Affected]:
    """Yield the future live state of an agent, once for each configuration available to applications.

    With rollouts of resources that it shows or runs, these include all combinations of their arms. With too
    many, the live state cannot be determined.
    """
    # It is read as by people who start its experiments; the limits of a key do not matter.
    caller = (
        replace(move.caller, id_prefix="", actions=None)
        if move.caller.may(Right.READ_DRAFTS, concerned.workspace_id)
        else Caller(username=move.caller.username, roles={concerned.workspace_id: Role.ADMIN})
    )
    is_itself = concerned.id == move.agent_id and not concerned.versions
    digests: set[str | None] = set()
    if is_itself:
        itself = _make_affected(move, concerned, _lock_of_itself(move, caller), caller)
        digests.add(itself.after_digest)
        yield itself
        versions = [_ACTIVE] if move.arms else []
    else:
        versions = sorted(concerned.versions)
    moved = move.versions.get((AGENT.slug, concerned.id))
    if moved is not None and moved.identity == concerned.identity and moved.version_id is None:
        versions = [version_id for version_id in versions if version_id != _ACTIVE]  # all are taken down
    for version_id in versions:
        own_version: Versions = ALONE
        if version_id != _ACTIVE:
            overlaid = OverlaidVersion(identity=concerned.identity, version_id=version_id, has_grants=True)
            own_version = {(AGENT.slug, concerned.id): overlaid}
        with move.with_its_rights():
            combinations = list(_combinations(move, {**move.versions, **own_version}, concerned.id, caller))
        for arms, after in combinations:
            if is_itself and not arms:
                continue
            digest = _digest(after)
            if digest in digests:
                continue
            if not is_itself and after is not None:
                before = _overlaid_lock({**move.before, **own_version, **arms}, concerned.id, caller)
                if digest == _digest(before):
                    continue
            digests.add(digest)
            yield _make_affected(move, concerned, after, caller)


def _combinations(
    move: Move, versions: Versions, agent_id: str, caller: Caller
) -> Iterator[tuple[Versions, Lock | None]]:
    """Yield each combination of arms that a request can get, with the resulting agent."""
    itself = AGENT.slug, agent_id
    offered = {key: arms for key, arms in move.arms.items() if key not in versions and key != itself}
    identities = _identities(offered)
    stack, count = [(ALONE, frozenset[Key]())], 0
    while stack:
        arms, decided = stack.pop()
        lock = _overlaid_lock({**versions, **arms}, agent_id, caller)
        reached = {(slug, key) for slug, member in _MEMBERS.items() for key in (lock or {}).get(member, ())}
        undecided = sorted((offered.keys() & reached) - decided)
        if not undecided:
            count += 1
            yield arms, lock
            continue
        key = undecided[0]
        stack.append((arms, decided | {key}))
        for version_id in sorted(offered[key]):
            arm = OverlaidVersion(identity=identities[key], version_id=version_id, has_grants=True)
            stack.append(({**arms, key: arm}, decided | {key}))
        if count + len(stack) > MAX_COMBINATIONS:
            yield {key: arm}, None
            return


def _identities(keys: Collection[Key]) -> Mapping[Key, UUID]:
    identities = dict.fromkeys(keys, IN_CODE)
    for kind in (AGENT, PROMPT_BLOCK):
        ids = [key for slug, key in keys if slug == kind.slug]
        rows = find_model(kind)._default_manager.filter(pk__in=ids).order_by() if ids else ()
        identities |= {(kind.slug, row.pk): row.uuid for row in rows}
    return identities


def _lock_of_itself(move: Move, caller: Caller) -> Lock | None:
    request = move.publishes
    assert request is not None  # noqa: S101  else it does not go live
    with move.with_its_rights():
        if len(move.versions) == 1 or request.resource.pointers is not None:
            selector = Selector(version_id=request.version.version_id)
            return _lock(request.resource.pk, selector, caller)
        return _overlaid_lock(move.versions, request.resource.pk, caller)


def _make_affected(move: Move, concerned: Concerned, after: Lock | None, caller: Caller) -> Affected:
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
    """Return whether an agent ever was live, and its last live configuration."""
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
    overlaid = OverlaidVersion(identity=concerned.identity, version_id=version_id, has_grants=True)
    return True, _overlaid_lock({**move.before, (AGENT.slug, concerned.id): overlaid}, concerned.id, caller)


def _lock(agent_id: str, selector: Selector, by: Caller) -> Lock | None:
    try:
        return get_editor().lock([agent_id], selector=selector, by=by)
    except VersioningError:
        return None


def _overlaid_lock(versions: Versions, agent_id: str, by: Caller) -> Lock | None:
    if not versions:
        return _lock(agent_id, PUBLISHED, by)
    with counted_as_live(Overlay(selector="versionId", versions=versions)) as name:
        return _lock(agent_id, Selector(overlay=name), by)


def _showing(move: Move, code: Registry) -> list[Concerned]:
    """Return the agents, in any workspace, that would show or run the resource directly or indirectly."""
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
    showing: dict[str, set[str]] = {}
    frontier: set[Key] = {(move.resource.kind.slug, move.resource.pk)}
    while frontier:
        naming: dict[str, set[str]] = {}
        for references in AgentVersion.reference_models:
            ids = {key for slug, key in frontier if slug == references.target.kind.slug}
            if not ids:
                continue
            manager: Any = references._default_manager
            rows = manager.filter(target_id__in=ids).order_by()
            version_ids = rows.values("version_id")
            live = (
                Agent.objects.filter(active_version_id__in=version_ids)
                .order_by()
                .values_list("pk", flat=True)
            )
            labels = AgentLabel.objects.filter(released=True, version_id__in=version_ids).order_by()
            for agent_id in live:
                naming.setdefault(agent_id, set()).add(_ACTIVE)
            for agent_id, version_id in labels.values_list("resource_id", "version_id"):
                naming.setdefault(agent_id, set()).add(str(version_id))
            agents = {**arms, **overlaid_agents}
            in_rows = rows.filter(version_id__in=[*filter(is_uuid, agents)])  # a commit has no references
            for version_id in in_rows.values_list("version_id", flat=True):
                name = _ACTIVE if str(version_id) in overlaid_agents else str(version_id)
                naming.setdefault(agents[str(version_id)], set()).add(name)
            for agent_id, config in in_code.items():
                if ids & ids_named(references, config):
                    naming.setdefault(agent_id, set()).add(_ACTIVE)
        naming.pop(move.agent_id or "", None)
        new = {
            agent_id for agent_id, versions in naming.items() if not versions <= showing.get(agent_id, set())
        }
        for agent_id in new:
            showing.setdefault(agent_id, set()).update(naming[agent_id])
        frontier = {(AGENT.slug, agent_id) for agent_id in new}
    rows = Agent.objects.filter(pk__in=showing).order_by().values_list("pk", "uuid", "workspace_id")
    owners = {pk: (uuid, workspace_id) for pk, uuid, workspace_id in rows} if showing else {}
    owners |= {agent_id: (IN_CODE, code.workspace_id) for agent_id in showing if agent_id in code.agents}
    return [
        Concerned(id=pk, identity=identity, workspace_id=workspace_id, versions=frozenset(showing[pk]))
        for pk, (identity, workspace_id) in sorted(owners.items())
    ]


def iter_requests(versions: Versions, by: Caller) -> Iterator[PublishRequest | TakeDownRequest]:
    """Yield the gate requests for publishing these versions together."""
    editor = get_editor()
    for (slug, resource_id), version in versions.items():
        collection = editor.collection(KINDS_BY_SLUG[slug])
        if version.version_id is not None:
            stored_version = collection.version(resource_id, version.version_id, by=by)
            yield PublishRequest(
                resource=stored_version.resource, version=stored_version.version, caller=by, together=versions
            )
        else:
            resource = collection.find(resource_id, by=by)
            yield TakeDownRequest(resource=resource, caller=by, together=versions)
