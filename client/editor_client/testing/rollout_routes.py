"""The routes of the editor in memory for rollouts, usage and feedback."""

from __future__ import annotations

import uuid
from typing import Final

from editor_client.shared.arms import Arm
from editor_client.testing.editor import Editor
from editor_client.testing.protocol import Answer, Json, Request, not_found, refuse_unknown, required, route
from editor_client.testing.resources import Resource, now
from editor_client.testing.rollouts import SUMS, Rollout, summed_up

ABOUT: Final = ("kind", "id")


def _resource(editor: Editor, named: Json) -> Resource:
    kind, resource_id = required(named, *ABOUT)
    return editor.named(kind, resource_id)


def _rollout(editor: Editor, request: Request) -> Rollout:
    found = next((one for one in editor.rollouts if one.id == request.names[0]), None)
    if found is None:
        raise not_found()
    return found


def _running(editor: Editor, request: Request) -> Rollout:
    found = _rollout(editor, request)
    found.require_running()
    return found


@route("GET", "/rollouts", "page", "perPage", "kind", "id", "state", "workspaceId")
def _list(editor: Editor, request: Request) -> Answer:
    records = [one.record for one in editor.rollouts]
    found = [
        one
        for one in records
        if all(
            {**one, **one["resource"]}[name] == wanted
            for name, wanted in request.query.items()
            if name not in {"page", "perPage"}
        )
    ]
    return request.page("rollouts", found, size=100)


@route("POST", "/rollouts")
def _start(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("resource", "bucketBy", "arms", "bypassReview"))
    about, bucket_by, given = required(body, "resource", "bucketBy", "arms")
    arms = [Arm(name=one["name"], version_id=one["versionId"], weight=one["weight"]) for one in given]
    return Answer(editor.start(_resource(editor, about), bucket_by, arms).record, status=201)


@route("GET", "/rollouts/*")
def _read(editor: Editor, request: Request) -> Answer:
    return Answer(_rollout(editor, request).record)


@route("PATCH", "/rollouts/*")
def _change(editor: Editor, request: Request) -> Answer:
    rollout = _running(editor, request)
    [arms] = required(request.body, "arms")
    if rollout.change([(one["name"], one["weight"]) for one in arms]):
        editor.record_rollout("changed", rollout)
    return Answer(rollout.record)


@route("POST", "/rollouts/*/stop")
def _stop(editor: Editor, request: Request) -> Answer:
    rollout = _running(editor, request)
    rollout.end("stopped", request.body.get("reason", "").strip() or None)
    editor.record_rollout("stopped", rollout)
    return Answer(rollout.record)


@route("POST", "/rollouts/*/complete")
def _complete(editor: Editor, request: Request) -> Answer:
    rollout = _running(editor, request)
    [name] = required(request.body, "arm")
    version = rollout.resource.version(rollout.arm(name).version_id)
    editor.check_blocks(version.config)
    rollout.end("completed")
    editor.record_rollout("completed", rollout, arm=name)
    editor.publish(rollout.resource, version, rolloutId=rollout.id)
    return Answer(rollout.record)


@route("POST", "/usage")
def _report(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("resource", "versionId", "arm", *SUMS))
    about, version_id, _ = required(body, "resource", "versionId", "runs")
    resource = _resource(editor, about)
    if version_id is not None:
        resource.version(version_id)
    sums = {name: body[name] for name in SUMS if name in body}
    editor.used.add(resource, version_id, body.get("arm"), **sums)
    return Answer({"success": True, "message": "The usage is counted."}, status=201)


@route("GET", "/usage", *ABOUT)
def _usage(editor: Editor, request: Request) -> Answer:
    return Answer({"usage": editor.used.of(_resource(editor, dict(request.query)))})


@route("POST", "/feedback")
def _say(editor: Editor, request: Request) -> Answer:
    body = request.body
    members = ("runId", "resource", "versionId", "arm", "name", "value", "comment", "externalId")
    refuse_unknown(body, members)
    name, value = required(body, "name", "value")
    version_id, arm = body.get("versionId"), body.get("arm")
    if "runId" in body:
        served = editor.used.served_by(body["runId"])
        about = body["resource"] if "resource" in body else dict(zip(ABOUT, next(iter(served)), strict=True))
        version_id, arm = served[about["kind"], about["id"]]
    else:
        [about] = required(body, "resource")
    resource = _resource(editor, about)
    external_id = body.get("externalId")
    for _, given in editor.feedback:
        if external_id is not None and given["externalId"] == external_id:
            return Answer(given)
    given = {
        "id": str(uuid.uuid4()),
        "versionId": version_id,
        "arm": arm,
        "runId": body.get("runId"),
        "name": name,
        "value": value,
        "comment": body.get("comment", ""),
        "externalId": external_id,
        "createdAt": now(),
    }
    editor.feedback.insert(0, (resource, given))
    return Answer(given, status=201)


def _said_of(editor: Editor, request: Request) -> list[Json]:
    wanted = _resource(editor, dict(request.query))
    narrowed = {name: request.query[name] for name in ("versionId", "name") if name in request.query}
    return [
        given
        for about, given in editor.feedback
        if about is wanted and all(given[name] == value for name, value in narrowed.items())
    ]


@route("GET", "/feedback", *ABOUT, "versionId", "name", "page", "perPage")
def _feedback(editor: Editor, request: Request) -> Answer:
    return request.page("feedback", _said_of(editor, request), size=100)


@route("GET", "/feedback/summary", *ABOUT)
def _summary(editor: Editor, request: Request) -> Answer:
    return Answer({"summary": summed_up(_said_of(editor, request))})
