"""Which agents a change affects, and what exactly would be live of them after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from editor_client.shared.gates import target_digest

from evaluation.gates.models import AgentReference, Gate
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.agents import AGENT, Registry
from versioning.domain.errors import VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.overrides import IN_CODE, code_config
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor.publish_requests import PublishRequest
from versioning.models import Agent, AgentVersion
from versioning.serving.grants import ids_named, target_of
from versioning.serving.overlays import OverlaidVersion, Overlay, Versions, counted_as_live

Lock = Mapping[str, Any]
Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""


@dataclass(frozen=True, kw_only=True)
class Affected:
    """An agent of which something else would be live, or for which nothing would change."""

    id: str
    identity: UUID
    after: Lock | None
    """What would be live after the change; None if that cannot be found out."""
    is_live: bool
    live: Lock | None
    """What is live; None if nothing is, or if that cannot be found out."""

    @property
    def about(self) -> AgentReference:
        """The reference to the agent."""
        return AgentReference(AGENT.slug, self.id)

    @property
    def after_digest(self) -> str | None:
        """The digest of what would be live."""
        return None if self.after is None else target_digest(self.after)

    @property
    def live_digest(self) -> str | None:
        """The digest of what is live."""
        return None if self.live is None else target_digest(self.live)


def affected_by(request: PublishRequest, is_asked: Callable[[str, UUID], bool]) -> Iterator[Affected]:
    """Yield the agents of the workspace of which a request would change what is live.

    That are the agent itself, and the agents that run or show the resource. `is_asked` says of an agent
    whether any gate is about it. A label changes nothing for the agents that show a prompt block.
    """
    code, resource = get_editor().code, request.resource
    caller = replace(request.caller, id_prefix="", actions=None)  # what a key reaches decides nothing here
    slug = resource.kind.slug
    if slug == AGENT.slug:
        identity = target_of(resource, code).identity
        if is_asked(resource.pk, identity):
            yield _itself(request, identity, caller)
    if request.label is not None or not (slug == AGENT.slug or resource.kind.is_shown):
        return
    for agent_id, identity in _showing(request, code).items():
        if is_asked(agent_id, identity):
            found = _showing_agent(request, agent_id, identity, caller)
            if found is not None:
                yield found


def _itself(request: PublishRequest, identity: UUID, caller: Caller) -> Affected:
    resource = request.resource
    if not request.together or resource.pointers is not None:
        after = _lock(resource.pk, Selector(version_id=request.version.version_id), caller)
    else:
        after = _overlaid_lock(request, resource.pk, caller)
    is_live = resource.active_id is not None or identity == IN_CODE
    live = _lock(resource.pk, PUBLISHED, caller) if is_live else None
    return Affected(id=resource.pk, identity=identity, after=after, is_live=is_live, live=live)


def _showing_agent(request: PublishRequest, agent_id: str, identity: UUID, caller: Caller) -> Affected | None:
    """Return an agent that may show the resource; None if nothing changes for it."""
    rows = Agent.objects.filter(pk=agent_id, active_version__isnull=False)
    is_live = identity == IN_CODE or rows.exists()
    found = Affected(
        id=agent_id,
        identity=identity,
        after=_overlaid_lock(request, agent_id, caller),
        is_live=is_live,
        live=_lock(agent_id, PUBLISHED, caller) if is_live else None,
    )
    return None if found.after is not None and found.after_digest == found.live_digest else found


def _lock(agent_id: str, selector: Selector, by: Caller) -> Lock | None:
    try:
        return get_editor().lock([agent_id], selector=selector, by=by)
    except VersioningError:
        return None


def _overlaid_lock(request: PublishRequest, agent_id: str, by: Caller) -> Lock | None:
    with overlaid(_versions(request)) as selector:
        return _lock(agent_id, selector, by)


@contextmanager
def overlaid(versions: Versions) -> Iterator[Selector]:
    """Give a selector of what would be served if these versions were live, within the block."""
    overlay = Overlay(selector="versionId", versions=versions)
    with counted_as_live(overlay) as name:
        yield Selector(overlay=name)


def _versions(request: PublishRequest) -> Versions:
    resource = request.resource
    own = OverlaidVersion(identity=resource.uuid, version_id=request.version.version_id)
    return {**request.together, (resource.kind.slug, resource.pk): own}


def _showing(request: PublishRequest, code: Registry) -> dict[str, UUID]:
    """Return the agents of the workspace that would show or run the resource, all the way up, by id."""
    workspace_id, found = request.resource.workspace_id, dict[str, UUID]()
    overlaid_agents = {
        one.version_id: agent_id
        for (slug, agent_id), one in _versions(request).items()
        if slug == AGENT.slug and one.version_id is not None
    }
    frontier: set[Key] = {(request.resource.kind.slug, request.resource.pk)}
    while frontier:
        naming: dict[str, UUID] = {}
        for references in AgentVersion.reference_models:
            ids = {key for slug, key in frontier if slug == references.target.kind.slug}
            if not ids:
                continue
            manager: Any = references._default_manager
            rows = manager.filter(target_id__in=ids).order_by()
            stored = Agent.objects.filter(workspace=workspace_id).order_by()
            live = stored.filter(active_version_id__in=rows.values("version_id"))
            then = [
                overlaid_agents[str(one)]
                for one in rows.filter(version_id__in=overlaid_agents).values_list("version_id", flat=True)
            ]
            naming |= dict(live.values_list("pk", "uuid"))
            naming |= dict(stored.filter(pk__in=then).values_list("pk", "uuid"))
            if workspace_id == code.workspace_id:
                naming |= {
                    agent.id: IN_CODE
                    for agent in code.agents.values()
                    if ids & ids_named(references, code_config(agent))
                }
        naming = {agent_id: IN_CODE if agent_id in code.agents else one for agent_id, one in naming.items()}
        new = naming.keys() - found.keys() - _itself_if_agent(request)
        found |= {agent_id: naming[agent_id] for agent_id in new}
        frontier = {(AGENT.slug, agent_id) for agent_id in new}
    return found


def _itself_if_agent(request: PublishRequest) -> set[str]:
    return {request.resource.pk} if request.resource.kind.slug == AGENT.slug else set()


def requests_of(versions: Versions, by: Caller) -> Iterator[PublishRequest]:
    """Yield what publishing these versions together would ask the gate."""
    editor = get_editor()
    for (slug, resource_id), one in versions.items():
        if one.version_id is not None:
            found = editor.collection(KINDS_BY_SLUG[slug]).version(resource_id, one.version_id, by=by)
            yield PublishRequest(resource=found.resource, version=found.version, caller=by, together=versions)


def asks(gates: list[Gate]) -> Callable[[str, UUID], bool]:
    """Return a function that says whether any of the gates is about an agent."""
    return lambda agent_id, identity: any(one.is_about(agent_id, identity) for one in gates)
