"""The routes of the editor in memory: each answers a request as the service does."""

from __future__ import annotations

import re
from typing import Any, Final

from editor_client.calls import CONTEXT
from editor_client.kinds import KINDS
from editor_client.shared import canonical, ids, tags
from editor_client.shared.configurations import changed_fields, message_or, searchable_text
from editor_client.shared.errors import Invalid
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText, assemble
from editor_client.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.testing import serving
from editor_client.testing.editor import Editor
from editor_client.testing.protocol import (
    Answer,
    Json,
    Refused,
    Request,
    done,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import AnyKind, Resource, Version
from editor_client.testing.rollouts import served_in

BEYOND: Final = frozenset({"metadata", "orderBy[field]", "orderBy[direction]", "source"})
"""Parameters of a real editor that this one does not support."""
PAGING: Final = ("page", "perPage")
OWN_FILTERS: Final = ("visibility", "authorId", "workspaceId", "hasDraft")
EVENTS: Final = ("after", "before", "epoch", "limit", "type", "kind", "id", "workspaceId", "actor")


def _kind(request: Request) -> AnyKind:
    return KINDS[request.names[0]]


def _resource(editor: Editor, request: Request) -> Resource:
    return editor.find(_kind(request), request.names[1])


def _changing(editor: Editor, request: Request) -> Resource:
    """Return the resource for a change, if `If-Match` allows it."""
    resource = _resource(editor, request)
    if request.if_match is not None and resource.etag not in request.if_match:
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
    return resource


def _selected(editor: Editor, request: Request) -> tuple[Resource, Version]:
    resource = _resource(editor, request)
    return resource, serving.select(resource, serving.selector_of(request.query))[0]


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
    text = query.get("search", "").casefold()
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
            and all(
                str(record.get(name)).lower() == query[name].lower() for name in OWN_FILTERS if name in query
            )
        ):
            found.append(record)
    return request.page(kind.list_member, found, size=100)


@route("POST", "/stored/+")
def _create(editor: Editor, request: Request) -> Answer:
    return _saved(editor.create(_kind(request), request.body), status=201)


@route("GET", "/stored/+/*", *serving.SELECTORS)
def _read(editor: Editor, request: Request) -> Answer:
    resource, version = _selected(editor, request)
    return Answer(resource.record(version), etag=resource.shown_etag)


@route("PATCH", "/stored/+/*")
def _edit(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    editor.edit(resource, request.body)
    return _saved(resource)


@route("DELETE", "/stored/+/*", "ifUnused", "endRollout")
def _delete(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    found = editor.dependents(resource) if request.query.get("ifUnused") == "true" else []
    if found:
        named = ", ".join(agent["name"] for agent in found)
        raise Refused(409, "in_use", f"In use by {named}.", dependents=found, hiddenCount=0)
    editor.delete(resource, request.query)
    kind = re.sub("([A-Z])", r" \1", resource.kind.slug).lower()
    return done(f"The {kind} {resource.id!r} is deleted.")


@route("POST", "/stored/+/*/unpublish")
def _unpublish(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    editor.unpublish(resource, request.body)
    return Answer(resource.record(), etag=resource.shown_etag)


@route("POST", "/stored/+/*/clone", *serving.SELECTORS)
def _clone(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("newId", "newName", "workspaceId"))
    [new_id] = required(body, "newId")
    source, version = _selected(editor, request)
    about = {"id": new_id, "metadata": source.metadata, "autoPublish": False}
    about |= {"name": body["newName"]} if "newName" in body else {}
    about |= {"workspaceId": body["workspaceId"]} if "workspaceId" in body else {}
    return _saved(editor.create(_kind(request), {**version.config, **about}), status=201)


@route("GET", "/stored/+/*/dependents", "status")
def _dependents(editor: Editor, request: Request) -> Answer:
    found = editor.dependents(_resource(editor, request), request.query.get("status", "published"))
    return Answer({"dependents": found, "hiddenCount": 0})


@route("POST", "/stored/+/*/export", *serving.SELECTORS)
def _export(editor: Editor, request: Request) -> Answer:
    resource, version = _selected(editor, request)
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


@route("GET", "/stored/+/*/versions", *PAGING)
def _versions(editor: Editor, request: Request) -> Answer:
    resource = _resource(editor, request)
    records = [resource.version_record(version) for version in reversed(resource.versions)]
    return request.page("versions", records, size=20)


@route("GET", "/stored/+/*/versions/compare", "from", "to")
def _compare(editor: Editor, request: Request) -> Answer:
    wanted = required(request.query, "from", "to")
    resource = _resource(editor, request)
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


@route("GET", "/stored/+/*/versions/*")
def _version(editor: Editor, request: Request) -> Answer:
    resource = _resource(editor, request)
    return Answer(resource.version_record(resource.version(request.names[2])))


@route("POST", "/stored/+/*/versions")
def _add_version(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    source = resource.active or resource.latest
    return _copied(editor, request, resource, source, "Snapshot of what is published")


@route("POST", "/stored/+/*/versions/*/restore")
def _restore(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    source = resource.version(request.names[2])
    message = f"Restored from version {source.number}"
    return _copied(editor, request, resource, source, message, restoredFrom=source.id)


def _copied(
    editor: Editor, request: Request, resource: Resource, source: Version, message: str, **detail: Any
) -> Answer:
    message = message_or(message, request.body.get("changeMessage"))
    version = editor.append(resource, source.config, message, **detail)
    return Answer(resource.version_record(version), status=201)


@route("POST", "/stored/+/*/versions/*/activate")
def _activate(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    version = resource.version(request.names[2])
    editor.publish(resource, version, request.body)
    answer = done(f"Version {version.number} is published.").content
    content = {**answer, "activeVersionId": version.id, "warnings": []}
    return Answer(content, etag=resource.shown_etag)


@route("DELETE", "/stored/+/*/versions/*")
def _delete_version(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    editor.delete_version(resource, resource.version(request.names[2]))
    return done("The version is deleted.")


# Labels and favorites


@route("GET", "/stored/+/*/labels")
def _labels(editor: Editor, request: Request) -> Answer:
    return Answer({"labels": list(_resource(editor, request).label_records())})


@route("PUT", "/stored/+/*/labels/*")
def _set_label(editor: Editor, request: Request) -> Answer:
    resource = _changing(editor, request)
    editor.set_label(resource, request.names[2], request.body)
    return Answer(resource.label_record(request.names[2]), etag=resource.shown_etag)


@route("DELETE", "/stored/+/*/labels/*")
def _remove_label(editor: Editor, request: Request) -> Answer:
    editor.remove_label(_changing(editor, request), request.names[2])
    return done(f"The label {request.names[2]!r} is removed.")


@route("PUT", "/stored/+/*/favorite")
def _favorite(editor: Editor, request: Request) -> Answer:
    return _marked(_resource(editor, request), is_favorited=True)


@route("DELETE", "/stored/+/*/favorite")
def _unfavorite(editor: Editor, request: Request) -> Answer:
    return _marked(_resource(editor, request), is_favorited=False)


def _marked(resource: Resource, *, is_favorited: bool) -> Answer:
    resource.is_favorited = is_favorited
    content = {"favorited": is_favorited, "favoriteCount": int(is_favorited)}
    return Answer(content, etag=resource.shown_etag)


# Agents, as applications use them, and the log


@route("GET", "/agents", "partial")
def _agents(editor: Editor, request: Request) -> Answer:
    found = serving.all_resolved(editor, request.context)
    if request.query.get("partial") == "true":
        for agent in found.values():
            del agent["instructions"], agent["blocks"]
    return Answer(found)


@route("GET", "/agents/*", *serving.SELECTORS, "form")
def _agent(editor: Editor, request: Request) -> Answer:
    context = request.context
    parts = serving.parts_of(editor, request.names[0], serving.selector_of(request.query))
    if request.query.get("form", "parts") != "parts":
        raise Invalid.field("form", "must be one of 'parts'")
    return Answer(parts if "form" in request.query else serving.resolved(parts, context))


@route("POST", "/agents/*/generate", *serving.SELECTORS)
def _generate(editor: Editor, request: Request) -> Answer:
    refuse_unknown(request.body, serving.RUN_MEMBERS)
    body: Json = {CONTEXT: request.context, **request.body}
    parts = serving.parts_of_run(editor, request.names[0], request.query, body.get("versions") or {})
    agent, answer = serving.run(parts, body, editor.generate)
    served = served_in(agent)
    for (kind, resource_id), (version_id, arm) in served.items():
        editor.count(editor.named(kind, resource_id), version_id, arm, {"runs": 1})
    editor.served[answer["runId"]] = served
    return Answer(answer)


@route("POST", "/agents/*/stream", *serving.SELECTORS)
def _stream(editor: Editor, request: Request) -> Answer:
    return Answer(serving.events_of(_generate(editor, request).content), is_stream=True)


@route("POST", "/locks")
def _lock(editor: Editor, request: Request) -> Answer:
    return Answer(serving.make_lock(editor, request.body))


@route("GET", "/events", *EVENTS)
def _events(editor: Editor, request: Request) -> Answer:
    return Answer(editor.events(request.query))
