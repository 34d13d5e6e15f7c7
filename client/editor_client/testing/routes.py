"""The routes of the editor in memory: from a request to the JSON of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from editor_client.shared import tags
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText, assemble
from editor_client.testing import locks, reading, serving
from editor_client.testing.asked import CONTEXT, Answer, Asked, page_of
from editor_client.testing.editor import NOT_A_FIELD
from editor_client.testing.log import PARAMETERS
from editor_client.testing.refusals import refuse_unknown
from editor_client.testing.resources import PROMPT_BLOCK, Resource, Version, message_or

# What a real editor takes, and this one does not.
BEYOND: Final = frozenset({"metadata", "orderBy[field]", "orderBy[direction]", "source"})


# Records


def _list(asked: Asked) -> Answer:
    default = "published" if asked.kind.word == "agent" else "all"
    status = asked.query.get("status", default)
    rows = [
        one for one in asked.editor.all(asked.kind) if status == "all" or one.record()["status"] == status
    ]
    rows = [one for one in rows if reading.holds_text(one, asked.query.get("search", ""))]
    if asked.query.get("favoritedOnly") == "true":
        rows = [one for one in rows if one.is_favorited]
    if "tag" in asked.query:
        wanted = set(tags.asked_for(asked.query["tag"]))
        rows = [one for one in rows if wanted <= set(tags.tags_of(one.metadata))]
    own = {"visibility": None, "authorId": None, "workspaceId": None, "hasDraft": None}
    for name in own.keys() & asked.query.keys():
        rows = [one for one in rows if str(one.record().get(name)).lower() == asked.query[name].lower()]
    return Answer(content=page_of(asked, asked.kind.list_key, [one.record() for one in rows], size=100))


def _create(asked: Asked) -> Answer:
    return _saved(asked.editor.create(asked.kind, asked.body), status=201)


def _read(asked: Asked) -> Answer:
    resource = asked.resource
    version, _ = serving.select(resource, serving.selector_of(asked.query))
    return Answer(content=resource.record(version), tag=resource.shown_tag)


def _edit(asked: Asked) -> Answer:
    resource = asked.changing()
    asked.editor.edit(resource, asked.body)
    return _saved(resource)


def _saved(resource: Resource, status: int = 200) -> Answer:
    content = {**resource.record(resource.latest), "warnings": []}
    return Answer(content=content, status=status, tag=resource.shown_tag)


def _delete(asked: Asked) -> Answer:
    resource = asked.changing()
    if asked.query.get("ifUnused") == "true":
        reading.refuse_in_use(asked.editor, resource)
    asked.editor.delete(resource)
    return _done(f"The {resource.kind.singular} {resource.id!r} is deleted.")


def _unpublish(asked: Asked) -> Answer:
    resource = asked.changing()
    asked.editor.unpublish(resource)
    return Answer(content=resource.record(), tag=resource.shown_tag)


def _clone(asked: Asked) -> Answer:
    refuse_unknown(asked.body, ("newId", "newName", "workspaceId"), message=NOT_A_FIELD)
    if "newId" not in asked.body:
        raise Invalid.field("newId", "is required")
    source = asked.resource
    version, _ = serving.select(source, serving.selector_of(asked.query))
    name = {"name": asked.body["newName"]} if "newName" in asked.body else {}
    body = {**version.config, **name, "id": asked.body["newId"], "metadata": source.metadata}
    where = {"workspaceId": asked.body["workspaceId"]} if "workspaceId" in asked.body else {}
    copy = asked.editor.create(asked.kind, {**body, **where, "autoPublish": False})
    return _saved(copy, status=201)


def _dependents(asked: Asked) -> Answer:
    found = reading.dependents(asked.editor, asked.resource, asked.query.get("status", "published"))
    return Answer(content={"dependents": found, "hiddenCount": 0})


def _export(asked: Asked) -> Answer:
    resource = asked.resource
    version, _ = serving.select(resource, serving.selector_of(asked.query))
    return Answer(content=reading.export(resource, asked.body or version.config))


def _done(message: str) -> Answer:
    return Answer(content={"success": True, "message": message})


# Versions


def _versions(asked: Asked) -> Answer:
    resource = asked.resource
    records = [resource.version_record(version) for version in reversed(resource.versions)]
    return Answer(content=page_of(asked, "versions", records, size=20))


def _version(asked: Asked) -> Answer:
    resource = asked.resource
    return Answer(content=resource.version_record(resource.version(asked.names[2])))


def _compare(asked: Asked) -> Answer:
    missing = [Issue(name, "is required") for name in ("from", "to") if name not in asked.query]
    if missing:
        raise Invalid(missing)
    resource = asked.resource
    before, after = (resource.version(asked.query[name]) for name in ("from", "to"))
    return Answer(content=reading.comparison(resource, before, after))


def _add_version(asked: Asked) -> Answer:
    resource = asked.changing()
    source = resource.active or resource.latest
    message = message_or("Snapshot of what is published", asked.body)
    return _made_version(resource, asked.editor.copy_version(resource, source, message))


def _restore(asked: Asked) -> Answer:
    resource = asked.changing()
    source = resource.version(asked.names[2])
    message = message_or(f"Restored from version {source.number}", asked.body)
    version = asked.editor.copy_version(resource, source, message, restoredFrom=source.id)
    return _made_version(resource, version)


def _made_version(resource: Resource, version: Version) -> Answer:
    return Answer(content=resource.version_record(version), status=201)


def _activate(asked: Asked) -> Answer:
    resource = asked.changing()
    version = resource.version(asked.names[2])
    asked.editor.publish(resource, version)
    message = f"Version {version.number} is published."
    content = {"success": True, "message": message, "activeVersionId": version.id, "warnings": []}
    return Answer(content=content, tag=resource.shown_tag)


def _delete_version(asked: Asked) -> Answer:
    resource = asked.changing()
    asked.editor.delete_version(resource, resource.version(asked.names[2]))
    return _done("The version is deleted.")


# Labels


def _labels(asked: Asked) -> Answer:
    return Answer(content={"labels": list(asked.resource.label_records())})


def _set_label(asked: Asked) -> Answer:
    resource = asked.changing()
    asked.editor.set_label(resource, asked.names[2], asked.body)
    return Answer(content=resource.label_record(asked.names[2]), tag=resource.shown_tag)


def _remove_label(asked: Asked) -> Answer:
    asked.editor.remove_label(asked.changing(), asked.names[2])
    return _done(f"The label {asked.names[2]!r} is removed.")


# Favorites


def _favorite(asked: Asked) -> Answer:
    return _marked(asked.resource, is_favorited=True)


def _unfavorite(asked: Asked) -> Answer:
    return _marked(asked.resource, is_favorited=False)


def _marked(resource: Resource, *, is_favorited: bool) -> Answer:
    resource.is_favorited = is_favorited
    content = {"favorited": is_favorited, "favoriteCount": int(is_favorited)}
    return Answer(content=content, tag=resource.shown_tag)


# Agents, as applications use them


def _agents(asked: Asked) -> Answer:
    found = serving.all_resolved(asked.editor, asked.context)
    if asked.query.get("partial") == "true":
        for agent in found.values():
            del agent["instructions"], agent["blocks"]
    return Answer(content=found)


def _agent(asked: Asked) -> Answer:
    context = asked.context
    parts = serving.parts_of(asked.editor, asked.names[0], serving.selector_of(asked.query))
    if asked.query.get("form", "parts") != "parts":
        raise Invalid.field("form", "must be one of 'parts'")
    return Answer(content=parts if "form" in asked.query else serving.resolved(parts, context))


def _generate(asked: Asked) -> Answer:
    refuse_unknown(asked.body, serving.RUN_MEMBERS, message=NOT_A_FIELD)
    body = {CONTEXT: asked.context, **asked.body}
    versions = body.get("versions") or {}
    parts = locks.locked_parts if locks.is_lock(versions) else serving.selected_parts
    found = parts(asked.editor, asked.names[0], asked.query, versions)
    return Answer(content=serving.run(found, body, asked.generate))


def _lock(asked: Asked) -> Answer:
    return Answer(content=locks.make(asked.editor, asked.body))


def _stream(asked: Asked) -> Answer:
    return Answer(content=serving.events_of(_generate(asked).content), is_stream=True)


def _preview(asked: Asked) -> Answer:
    refuse_unknown(asked.body, ("blocks", "context"), message=NOT_A_FIELD)
    evaluation = Evaluation(asked.body.get("context") or {})
    evaluation.field = "blocks"
    found = {
        block.id: BlockText(version_id=block.latest.id, config=block.latest.config)
        for block in asked.editor.all(PROMPT_BLOCK)
    }
    text, reports = assemble(asked.body["blocks"], evaluation, found, field="blocks")
    blocks = [{"type": one.type, "shown": one.shown, "id": one.id, "reason": one.reason} for one in reports]
    shown = [{name: value for name, value in block.items() if value is not None} for block in blocks]
    return Answer(content={"result": text, "blocks": shown})


def _events(asked: Asked) -> Answer:
    return Answer(content=asked.editor.log.page(asked.query))


Handler = Callable[[Asked], Answer]
PAGING: Final = ("page", "perPage")
ROUTES: Final[Mapping[tuple[str, str], tuple[Handler, tuple[str, ...]]]] = {
    ("GET", "/stored/+"): (
        _list,
        (
            *PAGING,
            "status",
            "visibility",
            "authorId",
            "workspaceId",
            "hasDraft",
            "search",
            "tag",
            "favoritedOnly",
        ),
    ),
    ("POST", "/stored/+"): (_create, ()),
    ("POST", "/stored/agents/preview-instructions"): (_preview, ()),
    ("GET", "/stored/+/*"): (_read, serving.SELECTORS),
    ("PATCH", "/stored/+/*"): (_edit, ()),
    ("DELETE", "/stored/+/*"): (_delete, ("ifUnused",)),
    ("GET", "/stored/+/*/dependents"): (_dependents, ("status",)),
    ("POST", "/stored/+/*/export"): (_export, serving.SELECTORS),
    ("POST", "/stored/+/*/clone"): (_clone, serving.SELECTORS),
    ("POST", "/stored/+/*/unpublish"): (_unpublish, ()),
    ("GET", "/stored/+/*/versions"): (_versions, PAGING),
    ("POST", "/stored/+/*/versions"): (_add_version, ()),
    ("GET", "/stored/+/*/versions/compare"): (_compare, ("from", "to")),
    ("GET", "/stored/+/*/versions/*"): (_version, ()),
    ("DELETE", "/stored/+/*/versions/*"): (_delete_version, ()),
    ("POST", "/stored/+/*/versions/*/activate"): (_activate, ()),
    ("POST", "/stored/+/*/versions/*/restore"): (_restore, ()),
    ("GET", "/stored/+/*/labels"): (_labels, ()),
    ("PUT", "/stored/+/*/labels/*"): (_set_label, ()),
    ("DELETE", "/stored/+/*/labels/*"): (_remove_label, ()),
    ("PUT", "/stored/+/*/favorite"): (_favorite, ()),
    ("DELETE", "/stored/+/*/favorite"): (_unfavorite, ()),
    ("GET", "/agents"): (_agents, ("partial",)),
    ("GET", "/agents/*"): (_agent, (*serving.SELECTORS, "form")),
    ("POST", "/locks"): (_lock, ()),
    ("POST", "/agents/*/generate"): (_generate, serving.SELECTORS),
    ("POST", "/agents/*/stream"): (_stream, serving.SELECTORS),
    ("GET", "/events"): (_events, PARAMETERS),
}
"""What is done: `*` stands for a name, `+` for the segment of a kind."""
