"""The routes of labels and favorites in the editor in memory."""

from __future__ import annotations

from functools import partial

from editor_client.shared import ids
from editor_client.shared.errors import Invalid
from editor_client.testing.editor import Editor
from editor_client.testing.protocol import Answer, Json, Request, done, not_found, refuse_unknown, required
from editor_client.testing.resources import Label, Resource, now
from editor_client.testing.stored import on_resource


@on_resource("GET", "/labels")
def _labels(editor: Editor, request: Request, resource: Resource) -> Answer:
    return Answer({"labels": list(resource.label_records())})


@on_resource("PUT", "/labels/*")
def _set_label(editor: Editor, request: Request, resource: Resource) -> Answer:
    name, body = request.names[2], request.body
    refuse_unknown(body, ("versionId", "released", "bypassEvaluation", "bypassReview"))
    problem = ids.label_problem(name)
    if problem is not None:
        raise Invalid.field("name", problem)
    [version_id] = required(body, "versionId")
    version, before = resource.version(version_id), resource.labels.get(name)
    released = bool(body.get("released", before is not None and before.released))
    if before is None or (before.version, before.released) != (version, released):
        if released:
            editor.require(resource, version.config, body)
        resource.labels[name] = Label(version=version, released=released, updated_at=now())
        resource.touch()
        about: Json = {"label": name, "detail": {"released": released}}
        about["previousVersionId"] = before and before.version.id
        editor.record("labelMoved", resource, version, **about)
    return Answer(resource.label_record(name), etag=resource.shown_etag)


@on_resource("DELETE", "/labels/*")
def _remove_label(editor: Editor, request: Request, resource: Resource) -> Answer:
    name = request.names[2]
    if name in ids.RESERVED_LABELS:
        raise Invalid.field("name", f"{name!r} is computed and cannot be removed")
    label = resource.labels.pop(name, None)
    if label is None:
        raise not_found()
    resource.touch()
    about: Json = {"label": name, "detail": {"released": label.released}}
    editor.record("labelRemoved", resource, previousVersionId=label.version.id, **about)
    return done(f"The label {name!r} is removed.")


def _favorite(editor: Editor, request: Request, resource: Resource, *, is_favorited: bool) -> Answer:
    resource.is_favorited = is_favorited
    content = {"favorited": is_favorited, "favoriteCount": int(is_favorited)}
    return Answer(content, etag=resource.shown_etag)


on_resource("PUT", "/favorite", changes=False)(partial(_favorite, is_favorited=True))
on_resource("DELETE", "/favorite", changes=False)(partial(_favorite, is_favorited=False))
