"""The routes of stored resources in the editor in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from editor_client.manage.kinds import KINDS
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.shared import canonical, ids, tags
from editor_client.shared.configurations import changed_fields, message_or, searchable_text
from editor_client.shared.errors import Invalid
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText, assemble
from editor_client.shared.text_keys import caseless
from editor_client.testing import serving
from editor_client.testing.editor import Editor, id_of
from editor_client.testing.object_lists import in_query
from editor_client.testing.protocol import (
    Answer,
    Refused,
    Request,
    done,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import AnyKind, Resource, Version, dependents
from editor_client.testing.rollouts import rollout_running

BEYOND: Final = frozenset({"metadata", "orderBy[field]", "orderBy[direction]", "source"})
"""Parameters of a real editor that this one does not support."""
PAGING: Final = ("page", "perPage")
OWN_FILTERS: Final = ("visibility", "authorId", "workspaceId", "hasDraft")


def _kind(request: Request) -> AnyKind:
    return KINDS[request.names[0]]


OnResource = Callable[[Editor, Request, Resource], Answer]


def on_resource(
    method: str, path: str, *parameters: str, changes: bool = True
) -> Callable[[OnResource], OnResource]:
    """Register the handler of a path below a resource, which it gets; `If-Match` has to allow a change."""

    def register(handler: OnResource) -> OnResource:
        def handle(editor: Editor, request: Request) -> Answer:
            resource = editor.find(_kind(request), request.names[1])
            if changes and method != "GET":
                _refuse_stale(resource, request.if_match)
            return handler(editor, request, resource)

        route(method, f"/stored/+/*{path}", *parameters)(handle)
        return handler

    return register


def _refuse_stale(resource: Resource, if_match: str | None) -> None:
    if if_match is not None and resource.etag not in if_match:
        latest, active = resource.latest, resource.active
        current = {
            "latestVersionId": latest.id,
            "activeVersionId": active and active.id,
            "savedBy": latest.author,
            "savedAt": latest.created_at,
            "changedFields": latest.changed,
        }
        message = "This has changed since you read it; look at the current state and try again."
        raise Refused(412, "edit_conflict", message, current=current)


def _selected(request: Request, resource: Resource) -> Version:
    return serving.select(resource, serving.selector_of(request.query))[0]


def _saved(resource: Resource, status: int = 200) -> Answer:
    return Answer({**resource.record(resource.latest), "warnings": []}, status, resource.shown_etag)


# Records


@route("POST", "/stored/agents/preview-instructions")
def _preview(editor: Editor, request: Request) -> Answer:
    refuse_unknown(request.body, ("blocks", "context"))
    evaluation = Evaluation(request.body.get("context") or {})
    evaluation.field = "blocks"
    found = {
        block.id: BlockText(version_id=block.latest.id, config=block.latest.config)
        for block in editor.all(PROMPT_BLOCKS)
    }
    text, reports = assemble(request.body["blocks"], evaluation, found, field="blocks")
    blocks = [{"type": one.type, "shown": one.shown, "id": one.id, "reason": one.reason} for one in reports]
    shown = [{name: value for name, value in block.items() if value is not None} for block in blocks]
    return Answer({"result": text, "blocks": shown})


@route("GET", "/stored/+", *PAGING, *OWN_FILTERS, "status", "search", "tag", "favoritedOnly")
def _list(editor: Editor, request: Request) -> Answer:
    kind, query = _kind(request), request.query
    status = query.get("status", "published" if kind.slug == "agent" else "all")
    text = caseless(query.get("search", ""))
    wanted = set(tags.asked_for(query["tag"])) if "tag" in query else set()
    found = []
    for one in editor.all(kind):
        record = one.record()
        if (
            status in {"all", record["status"]}
            and (query.get("favoritedOnly") != "true" or one.is_favorited)
            and wanted <= set(tags.tags_of(one.metadata))
            and any(
                text in searchable_text(one.id, version.config, kind.text)
                for version in (one.active, one.latest)
                if version
            )
            and all(in_query(record.get(name)) == query[name] for name in OWN_FILTERS if name in query)
        ):
            found.append(record)
    return request.page(kind.list_member, found, size=100)


@route("POST", "/stored/+")
def _create(editor: Editor, request: Request) -> Answer:
    return _saved(editor.create(_kind(request), request.body), status=201)


@on_resource("GET", "", *serving.SELECTORS)
def _read(editor: Editor, request: Request, resource: Resource) -> Answer:
    version = _selected(request, resource)
    return Answer(resource.record(version), etag=resource.shown_etag)


@on_resource("PATCH", "")
def _edit(editor: Editor, request: Request, resource: Resource) -> Answer:
    editor.edit(resource, request.body)
    return _saved(resource)


@on_resource("DELETE", "", "ifUnused", "endRollout")
def _delete(editor: Editor, request: Request, resource: Resource) -> Answer:
    found = dependents(editor, resource) if request.query.get("ifUnused") == "true" else []
    if found:
        named = ", ".join(agent["name"] for agent in found)
        raise Refused(409, "in_use", f"In use by {named}.", dependents=found, hiddenCount=0)
    editor.end_rollout(resource, request.query)
    editor.record("deleted", resource, previousVersionId=id_of(resource.active))
    editor.discard(resource)
    kind = re.sub("([A-Z])", r" \1", resource.kind.slug).lower()
    return done(f"The {kind} {resource.id!r} is deleted.")


@on_resource("POST", "/unpublish")
def _unpublish(editor: Editor, request: Request, resource: Resource) -> Answer:
    if resource.active is not None:
        editor.end_rollout(resource, request.body)
        editor.record("unpublished", resource, previousVersionId=resource.active.id)
        resource.active = resource.published_at = None
        resource.touch()
    return Answer(resource.record(), etag=resource.shown_etag)


@on_resource("POST", "/clone", *serving.SELECTORS, changes=False)
def _clone(editor: Editor, request: Request, resource: Resource) -> Answer:
    body = request.body
    refuse_unknown(body, ("newId", "newName", "workspaceId"))
    [new_id] = required(body, "newId")
    version = _selected(request, resource)
    about = {"id": new_id, "metadata": resource.metadata, "autoPublish": False}
    about |= {"name": body["newName"]} if "newName" in body else {}
    about |= {"workspaceId": body["workspaceId"]} if "workspaceId" in body else {}
    return _saved(editor.create(_kind(request), {**version.config, **about}), status=201)


@on_resource("GET", "/dependents", "status")
def _dependents(editor: Editor, request: Request, resource: Resource) -> Answer:
    found = dependents(editor, resource, request.query.get("status", "published"))
    return Answer({"dependents": found, "hiddenCount": 0})


@on_resource("POST", "/export", *serving.SELECTORS, changes=False)
def _export(editor: Editor, request: Request, resource: Resource) -> Answer:
    version = _selected(request, resource)
    kind = resource.kind
    config = {name: value for name, value in (request.body or version.config).items() if name in kind.names}
    exported = {
        kind.id_member: resource.id,
        "fileName": f"{kind.segment}/{ids.encode(resource.id)}.json",
        "content": canonical.file_text(config),
        "config": config,
    }
    return Answer(exported)


# Versions


@on_resource("GET", "/versions", *PAGING)
def _versions(editor: Editor, request: Request, resource: Resource) -> Answer:
    records = [resource.version_record(version) for version in reversed(resource.versions)]
    return request.page("versions", records, size=20)


@on_resource("GET", "/versions/compare", "from", "to")
def _compare(editor: Editor, request: Request, resource: Resource) -> Answer:
    wanted = required(request.query, "from", "to")
    before, after = map(resource.version, wanted)
    diffs = [
        {
            "field": name,
            "previousValue": before.config.get(name),
            "currentValue": after.config.get(name),
        }
        for name in changed_fields(resource.kind.names, before.config, after.config)
    ]
    versions = {"fromVersion": resource.version_record(before), "toVersion": resource.version_record(after)}
    return Answer({"diffs": diffs, **versions})


@on_resource("GET", "/versions/*")
def _version(editor: Editor, request: Request, resource: Resource) -> Answer:
    return Answer(resource.version_record(resource.version(request.names[2])))


@on_resource("POST", "/versions")
def _add_version(editor: Editor, request: Request, resource: Resource) -> Answer:
    source = resource.active or resource.latest
    return _copied(editor, request, resource, source, "Snapshot of what is published")


@on_resource("POST", "/versions/*/restore")
def _restore(editor: Editor, request: Request, resource: Resource) -> Answer:
    source = resource.version(request.names[2])
    message = f"Restored from version {source.number}"
    return _copied(editor, request, resource, source, message, restoredFrom=source.id)


def _copied(
    editor: Editor, request: Request, resource: Resource, source: Version, message: str, **detail: Any
) -> Answer:
    message = message_or(message, request.body.get("changeMessage"))
    version = editor.append(resource, source.config, message, **detail)
    return Answer(resource.version_record(version), status=201)


@on_resource("POST", "/versions/*/activate")
def _activate(editor: Editor, request: Request, resource: Resource) -> Answer:
    version = resource.version(request.names[2])
    editor.publish(resource, version, request.body)
    answer = done(f"Version {version.number} is published.").content
    content = {**answer, "activeVersionId": version.id, "warnings": []}
    return Answer(content, etag=resource.shown_etag)


@on_resource("DELETE", "/versions/*")
def _delete_version(editor: Editor, request: Request, resource: Resource) -> Answer:
    version, running = resource.version(request.names[2]), editor.running(resource)
    if running is not None and version.id in {arm["versionId"] for arm in running["arms"]}:
        raise rollout_running()
    obstacle = None
    named = next((name for name, label in resource.labels.items() if label.version is version), None)
    if version is resource.active:
        obstacle = "is published: publish another one or unpublish it first"
    elif named is not None:
        obstacle = f"carries the label {named!r}: move or remove the label first"
    elif len(resource.versions) == 1:
        obstacle = "is the only version: delete the whole resource instead"
    if obstacle is not None:
        raise Invalid.field("versionId", obstacle, code="version_in_use")
    editor.record("versionDeleted", resource, version)
    resource.versions.remove(version)
    resource.touch()
    return done("The version is deleted.")
