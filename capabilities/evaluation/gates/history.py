"""What was live together, as far as the log knows: of an agent, with everything that it shows and runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any, Final
from uuid import UUID

from versioning.conf import get_editor
from versioning.domain.agents import AGENT, PROMPT_BLOCK, Registry
from versioning.domain.config import Config
from versioning.domain.errors import VersioningError
from versioning.domain.overrides import IN_CODE, code_config, merged_config
from versioning.domain.uuids import is_uuid
from versioning.models import Agent, AgentVersion, BlockReference, Event, PromptBlock, Visibility
from versioning.serving.grants import ids_named

Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""
Spans = list[tuple[float, float]]
"""From which positions of the log, and until which, without overlaps and in order."""
_MODELS: Final[Mapping[str, Any]] = {AGENT.slug: Agent, PROMPT_BLOCK.slug: PromptBlock}
_MEMBERS: Final = {AGENT.slug: "agents", PROMPT_BLOCK.slug: "promptBlocks"}
"""The members of a lock with the pins of a kind."""
_TYPES: Final = [f"{slug}.{what}" for slug in _MEMBERS for what in ("published", "unpublished", "deleted")]
_BEFORE: Final = -1.0
"""Before every position of the log."""


def last_live(agent_id: str, identity: UUID) -> str | None:
    """Return the version that was live when an agent was unpublished; None if the log no longer knows."""
    rows = Event.objects.filter(
        resource_id=agent_id, resource_uuid=identity, type=f"{AGENT.slug}.unpublished", hidden_from=""
    )
    return rows.order_by("-position").values_list("previous_version_id", flat=True).first() or None


def were_live_together(lock: Mapping[str, Any], code: Registry, workspace_id: str) -> bool:
    """Return whether all configurations in a lock were live at one time, of the very same resources.

    What they name and the lock does not hold must not have been live then, because it was not shown. What the
    log no longer knows was not live. Content of files and of commits, which people who deploy decide about,
    counts as having been live. Agents outside the workspace count only if they have always been public: of
    others the log does not tell which agents were granted them. An agent was live with blocks of other
    workspaces only since its version was granted them. Takes at most seven queries, however much the lock
    holds, and one more for each agent with such blocks.
    """
    pins = {
        (slug, key): pin for slug, member in _MEMBERS.items() for key, pin in lock.get(member, {}).items()
    }
    stored = {key: pin for key, pin in pins.items() if is_uuid(pin["versionId"] or "")}
    absent, absent_in_code = _named(stored) - pins.keys(), _named_in_code(pins, code) - pins.keys()
    if not _were_always_public([key for slug, key in stored if slug == AGENT.slug], workspace_id):
        return False
    history = _History({*stored, *absent, *absent_in_code}, code)
    if any(map(history.any_live, absent_in_code)):
        return False  # since when the file is what it is, nobody knows
    shared: Spans = [(_BEFORE, inf)]
    blocks = [key for slug, key in stored if slug == PROMPT_BLOCK.slug]
    for key, pin in stored.items():
        shared = _common(shared, history.live(key, pin, blocks))
    for key in absent:
        shared = _common(shared, _gaps(history.any_live(key)))
    return bool(shared)


def _were_always_public(agent_ids: Collection[str], home: str) -> bool:
    """Return whether everyone could always run those of the agents that are outside a workspace."""
    outside = Agent.objects.filter(pk__in=agent_ids).exclude(workspace=home).order_by()
    visibilities = dict(outside.values_list("uuid", "visibility"))
    changes = Event.objects.filter(resource_id__in=agent_ids, type=f"{AGENT.slug}.updated").order_by()
    changed = changes.filter(resource_uuid__in=visibilities).values_list("detail", flat=True)
    return all(visibility == Visibility.PUBLIC for visibility in visibilities.values()) and not any(
        "visibility" in detail["fields"] for detail in (changed if visibilities else ())
    )


def _named(stored: Mapping[Key, Any]) -> set[Key]:
    """Return what the agents of a lock name, in any context."""
    versions = [pin["versionId"] for (slug, _), pin in stored.items() if slug == AGENT.slug]
    found: set[Key] = set()
    for references in AgentVersion.reference_models:
        slug = references.target.kind.slug
        manager: Any = references._default_manager
        if slug in _MEMBERS and versions:
            rows = manager.filter(version_id__in=versions).order_by().values_list("target_id", flat=True)
            found |= {(slug, target_id) for target_id in rows}
    return found


def _named_in_code(pins: Collection[Key], code: Registry) -> set[Key]:
    """Return what the code-defined agents of a lock name, in any context."""
    own = {key for slug, key in pins if slug == AGENT.slug and key in code.agents}
    configs = configs_in_code(code) if own else {}
    return {
        (references.target.kind.slug, target_id)
        for references in AgentVersion.reference_models
        for agent_id in own
        if references.target.kind.slug in _MEMBERS
        for target_id in ids_named(references, configs[agent_id])
    }


def configs_in_code(code: Registry) -> Mapping[str, Config]:
    """Return the configurations of code-defined agents, by id; with files that override them, if there are.

    Overrides in rows are found by what these refer to.
    """
    editor = get_editor()
    found = {agent.id: code_config(agent) for agent in code.agents.values()}
    if editor.source != "code":
        return found
    for agent in code.agents.values():
        with suppress(VersioningError):
            override = editor.agent.get(agent.id)
            if override.is_live:
                found[agent.id] = merged_config(agent, override.version.config)
    return found


class _History:
    """When the versions of some resources were live."""

    def __init__(self, keys: Collection[Key], code: Registry) -> None:
        self._identities: dict[Key, UUID] = {}
        self._workspaces: dict[Key, str] = {}
        self._spans: dict[Key, list[tuple[UUID, str, float, float]]] = defaultdict(list)
        known = self._read_log(keys)
        for slug, model in _MODELS.items():
            ids = [key for own, key in keys if own == slug]
            rows = model.objects.filter(pk__in=ids).order_by()
            columns = rows.values_list("pk", "uuid", "active_version_id", "workspace_id")
            for key, uuid, active, workspace_id in columns if ids else ():
                identity = IN_CODE if slug == AGENT.slug and key in code.agents else uuid
                self._identities[slug, key], self._workspaces[slug, key] = identity, workspace_id
                if active is not None and ((slug, key), identity) not in known:
                    self._spans[slug, key].append((identity, str(active), _BEFORE, inf))

    def _read_log(self, keys: Collection[Key]) -> set[tuple[Key, UUID]]:
        """Read the periods of the log; return the resources that it knows."""
        ids = {key for _, key in keys}
        events = Event.objects.filter(resource_id__in=ids, type__in=_TYPES, hidden_from="")
        columns = (
            "resource_kind",
            "resource_id",
            "resource_uuid",
            "type",
            "version_id",
            "previous_version_id",
        )
        since: dict[tuple[Key, UUID], tuple[str, float]] = {}
        known: set[tuple[Key, UUID]] = set()
        for slug, key, identity, kind, version, previous, position in events.order_by(
            "position", "ordinal"
        ).values_list(*columns, "position"):
            about = (slug, key), identity
            before = since.pop(about, None)
            if before is None and previous and about not in known:
                before = previous, _BEFORE
            known.add(about)
            if before is not None:
                self._spans[slug, key].append((identity, *before, float(position)))
            if kind.endswith(".published"):
                since[about] = version, float(position)
        for (own, identity), (version, start) in since.items():
            self._spans[own].append((identity, version, start, inf))
        return known

    def live(self, key: Key, pin: Mapping[str, Any], blocks: Sequence[str]) -> Spans:
        """Return when a resource was live in a configuration, and showed these blocks if it names them."""
        slug, resource_id = key
        identity = self._identities.get(key)
        own = [(version, start, end) for one, version, start, end in self._spans[key] if one == identity]
        ids = {version for version, _, _ in own if is_uuid(version)}
        versions = _MODELS[slug].version_model.objects.filter(
            pk__in=ids, resource=resource_id, digest=pin["digest"]
        )
        fitting = {str(pk) for pk in versions.order_by().values_list("pk", flat=True)} if ids else set()
        spans = [one for one in own if one[0] in fitting]
        strangers = [
            block
            for block in blocks
            if self._workspaces.get((PROMPT_BLOCK.slug, block)) != self._workspaces[key]
        ]
        if slug == AGENT.slug and strangers:
            spans = self._granted(spans, strangers)
        return _joined((start, end) for _, start, end in spans)

    def _granted(
        self, spans: Sequence[tuple[str, float, float]], blocks: Sequence[str]
    ) -> list[tuple[str, float, float]]:
        """Return when versions of an agent showed blocks of other workspaces, as far as they name them.

        A version keeps the grants with which it was published last; what it was granted before is not known.
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
        """Return when any resource with an id was live."""
        return _joined((start, end) for _, _, start, end in self._spans[key])


def _joined(spans: Iterable[tuple[float, float]]) -> Spans:
    found: Spans = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _gaps(spans: Sequence[tuple[float, float]]) -> Spans:
    edges = [_BEFORE, *(edge for span in spans for edge in span), inf]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def _common(one: Spans, other: Spans) -> Spans:
    found = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return [(start, end) for start, end in found if start < end]
