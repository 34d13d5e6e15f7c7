"""What goes out: the wire form of everything the API answers with."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from editor_client.shared import canonical, ids
from editor_client.shared.instructions import BlockReport

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import Notice, ResolvedAgent
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot, title_of
from versioning.editor.reading import Difference, Label
from versioning.models import Agent, Favorited, VersionedResource
from versioning.serving.dependents import Dependents
from versioning.serving.resolution import Resolved

Wire = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How one kind of resource is called on the wire."""

    singular: str
    segment: str
    list_key: str
    id_key: str
    folder: str
    namespace: str
    """The editor's name for the collection."""


AGENTS = Kind(
    singular="agent",
    segment="agents",
    list_key="agents",
    id_key="agentId",
    folder="agents",
    namespace="agent",
)
PROMPT_BLOCKS = Kind(
    singular="prompt block",
    segment="prompt-blocks",
    list_key="promptBlocks",
    id_key="blockId",
    folder="prompt-blocks",
    namespace="prompt",
)


def time(moment: datetime.datetime) -> str:
    """Return ISO 8601 in UTC with milliseconds and `Z`."""
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def record(
    resource: VersionedResource,
    version: Snapshot,
    caller: Caller,
    code: Registry,
    favorited: Favorited | None = None,
) -> Wire:
    """Return a resource, flat, with the fields of one of its versions.

    `code` knows the agents that code defines: who may read an override is theirs to say.
    """
    drafts = caller.may(Right.READ_DRAFTS, resource.workspace_id)
    answer = {
        "id": resource.pk,
        "workspaceId": resource.workspace_id,
        "status": (Status.PUBLISHED if resource.active_id else Status.DRAFT).value,
        "activeVersionId": resource.active_id,
        "latestVersionId": resource.latest_id if drafts else None,
        "resolvedVersionId": version.version_id,
        "hasDraft": resource.has_draft if drafts else None,
        "authorId": resource.author.get_username() if resource.author else None,
        "metadata": resource.metadata,
        "createdAt": time(resource.created_at),
        "updatedAt": time(resource.updated_at),
        **version.config,
    }
    if favorited is not None:
        answer |= {"isFavorited": favorited.by_caller, "favoriteCount": favorited.count}
    return {**answer, "visibility": resource.visibility_by(code)} if isinstance(resource, Agent) else answer


def favorite(found: Favorited) -> Wire:
    """Return what marking an agent as a favorite, or taking the mark away, answers with."""
    return {"favorited": found.by_caller, "favoriteCount": found.count}


def saved(
    resolved: Resolved[Any], caller: Caller, code: Registry, favorited: Favorited | None = None
) -> Wire:
    """Return the record that a save answers with, and what the caller should know about it."""
    return {
        **record(resolved.resource, resolved.version, caller, code, favorited),
        "warnings": [notice(warning) for warning in resolved.warnings],
    }


def activated(resolved: Resolved[Any]) -> Wire:
    """Return what publishing answers with."""
    return {
        "success": True,
        "message": f"{title_of(resolved.version)} is published.",
        "activeVersionId": resolved.version.version_id,
        "warnings": [notice(warning) for warning in resolved.warnings],
    }


def version(kind: Kind, resource: VersionedResource, row: Snapshot, labels: list[str]) -> Wire:
    """Return a version with its configuration at top level."""
    return {
        "id": row.version_id,
        kind.id_key: resource.pk,
        "versionNumber": row.number,
        **row.config,
        "changedFields": row.changed_fields,
        "changeMessage": row.change_message,
        **_author(row),
        "createdAt": time(row.created_at),
        "source": row.source,
        "readOnly": row.read_only,
        "state": resource.state_of(row).value,
        "labels": labels,
    }


def _author(row: Snapshot) -> Wire:
    """Return who saved a version: a user of this service, or the author of a commit."""
    if row.commit is None:
        return {"authorId": row.author_name}
    return {"authorId": None, "authorName": row.author_name, "commit": row.commit}


def difference(found: Difference) -> Wire:
    """Return one field in which two versions differ."""
    return {"field": found.field, "previousValue": found.previous, "currentValue": found.current}


def label(found: Label) -> Wire:
    """Return a label."""
    return {
        "name": found.name,
        "versionId": found.version_id,
        "versionNumber": found.version_number,
        "kind": "computed" if found.computed else "custom",
        "released": found.released,
        "updatedAt": time(found.updated_at),
        "updatedBy": found.updated_by,
    }


def dependents(found: Dependents) -> Wire:
    """Return the dependents of a resource."""
    return {
        "dependents": [{"id": agent_id, "name": name} for agent_id, name in found.readable],
        "hiddenCount": found.hidden_count,
    }


def export(kind: Kind, resource_id: str, config: Config) -> Wire:
    """Return a configuration as the file that would hold it."""
    return {
        kind.id_key: resource_id,
        "fileName": f"{kind.folder}/{ids.encode(resource_id)}.json",
        "content": canonical.file_text(config),
        "config": config,
    }


def notice(found: Notice) -> Wire:
    """Return a warning or a fallback."""
    answer = {"code": found.code, "message": found.message}
    return answer if found.field is None else {**answer, "field": found.field}


def block_report(report: BlockReport) -> Wire:
    """Return what became of one block in a preview."""
    answer: Wire = {"type": report.type, "shown": report.shown}
    if report.id is not None:
        answer["id"] = report.id
    if report.reason is not None:
        answer["reason"] = report.reason
    return answer


def resolved_agent(agent: ResolvedAgent) -> Wire:
    """Return an agent as applications use it."""
    model = agent.model or {}
    return {
        "id": agent.id,
        "name": agent.name,
        "description": agent.description,
        "instructions": agent.instructions,
        "tools": agent.tools,
        "agents": agent.agents,
        "model": agent.model,
        "provider": model.get("provider"),
        "modelId": model.get("name"),
        "defaultOptions": agent.default_options,
        "source": agent.source,
        "status": agent.status.value,
        "metadata": agent.metadata,
        "resolvedVersionId": agent.resolved_version_id,
        "activeVersionId": agent.active_version_id,
        "selector": agent.selector.as_dict(),
        "fallback": notice(agent.fallback) if agent.fallback else None,
        "warnings": [notice(warning) for warning in agent.warnings],
        "blocks": [
            {"id": report.id, "versionId": report.version_id, "shown": report.shown, "reason": report.reason}
            for report in agent.blocks
            if report.id is not None
        ],
    }
