"""The routes of the editor in memory for rollouts, usage and feedback."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from editor_client.result import with_json_names
from editor_client.shared.arms import reweighted
from editor_client.shared.errors import Invalid
from editor_client.shared.feedback import summed
from editor_client.testing.editor import Editor
from editor_client.testing.object_lists import Collection, Row
from editor_client.testing.protocol import (
    Answer,
    Json,
    Refused,
    Request,
    not_found,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import Resource, now
from editor_client.testing.rollouts import SUMS, arms_of, begun, end, rollout_running, shown

ABOUT: Final = ("kind", "id")


def _resource(editor: Editor, reference: Mapping[str, Any]) -> Resource:
    kind, resource_id = required(reference, *ABOUT)
    return editor.named(kind, resource_id)


# Rollouts


def _started(editor: Editor, given: Json) -> Row:
    resource = _resource(editor, given["resource"])
    if editor.running(resource) is not None:
        raise rollout_running()
    rollout = begun(resource, given, editor.username)
    for version_id in {arm["versionId"] for arm in rollout["arms"]}:
        editor.require(resource, resource.version(version_id).config, given)
    editor.record_rollout("started", resource, rollout)
    return Row(rollout, resource)


ROLLOUTS: Final = Collection(
    "/rollouts",
    "rollouts",
    needed=["resource", "bucketBy", "arms"],
    optional={"bypassReview": None, "bypassEvaluation": None},
    filters=["kind", "id", "state", "workspaceId"],
    make=_started,
    actions=["list", "create", "read"],
)


def _running(editor: Editor, request: Request) -> tuple[Resource, Json]:
    row = ROLLOUTS.row(editor, request)
    state = row.content["state"]
    if row.about is None or state != "running":
        message = f"This rollout is {state} and can no longer be changed."
        raise Refused(409, "rollout_ended", message)
    return row.about, row.content


@route("PATCH", "/rollouts/*")
def _change(editor: Editor, request: Request) -> Answer:
    resource, rollout = _running(editor, request)
    [given] = required(request.body, "arms")
    before = arms_of(rollout)
    after = reweighted(before, [(one["name"], one["weight"]) for one in given])
    for old, new in zip(before, after, strict=True):
        if new.weight > old.weight:
            editor.require(resource, resource.version(new.version_id).config, request.body)
    if after != before:
        rollout["arms"] = shown(after)
        editor.record_rollout("changed", resource, rollout)
    return Answer(rollout)


@route("POST", "/rollouts/*/stop")
def _stop(editor: Editor, request: Request) -> Answer:
    resource, rollout = _running(editor, request)
    end(rollout, "stopped", request.body.get("reason", "").strip() or None)
    editor.record_rollout("stopped", resource, rollout)
    return Answer(rollout)


@route("POST", "/rollouts/*/complete")
def _complete(editor: Editor, request: Request) -> Answer:
    resource, rollout = _running(editor, request)
    [name] = required(request.body, "arm")
    found = next((arm for arm in arms_of(rollout) if arm.name == name), None)
    if found is None:
        raise Invalid.field("arm", "is not an arm of this rollout")
    version = resource.version(found.version_id)
    editor.require(resource, version.config, request.body)
    end(rollout, "completed")
    editor.record_rollout("completed", resource, rollout, arm=name)
    editor.publish(resource, version, request.body, rolloutId=rollout["id"])
    return Answer(rollout)


# Usage


@route("POST", "/usage")
def _report(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("resource", "versionId", "arm", *SUMS))
    about, version_id, _ = required(body, "resource", "versionId", "runs")
    resource = _resource(editor, about)
    if version_id is not None:
        resource.version(version_id)
    editor.count(resource, version_id, body.get("arm"), {name: body[name] for name in SUMS if name in body})
    return Answer({"success": True, "message": "The usage is counted."}, status=201)


@route("GET", "/usage", *ABOUT)
def _usage(editor: Editor, request: Request) -> Answer:
    resource = _resource(editor, request.query)
    numbers: dict[str | None, int] = {version.id: version.number for version in resource.versions}
    counted = [row.content for row in editor.rows["/usage"] if row.about is resource]
    unknown = {"cost": None}
    usage = [{"versionNumber": numbers.get(one["versionId"]), **one, **unknown} for one in counted]
    return Answer({"usage": usage})


# Feedback


def _given(editor: Editor, given: Json) -> Row:
    about, version_id, arm, run_id = (given[name] for name in ("resource", "versionId", "arm", "runId"))
    if run_id is not None:
        served = editor.served.get(run_id)
        if served is None:
            raise not_found()
        about = about or dict(zip(ABOUT, next(iter(served)), strict=True))
        version_id, arm = served[about["kind"], about["id"]]
    elif about is None:
        raise Invalid.field("resource", "is required")
    resource = _resource(editor, about)
    for row in FEEDBACK.rows(editor):
        if given["externalId"] is not None and row.content["externalId"] == given["externalId"]:
            return row
    own = {name: given[name] for name in ("runId", "name", "value", "comment", "externalId")}
    known = {"id": str(uuid.uuid4()), "versionId": version_id, "arm": arm, "createdAt": now()}
    return Row(known | own, resource)


FEEDBACK: Final = Collection(
    "/feedback",
    "feedback",
    needed=["name", "value"],
    optional={
        **dict.fromkeys(["runId", "resource", "versionId", "arm", "externalId"]),
        "comment": "",
    },
    filters=[*ABOUT, "versionId", "name"],
    make=_given,
    actions=["list", "create"],
    is_by_resource=True,
)


@route("GET", "/feedback/summary", *ABOUT)
def _summary(editor: Editor, request: Request) -> Answer:
    resource = _resource(editor, request.query)
    rows = (row.content for row in FEEDBACK.rows(editor) if row.about is resource)
    found = summed((one["versionId"] or "", one["arm"] or "", one["name"], one["value"]) for one in rows)
    return Answer({"summary": [with_json_names(vars(one)) for one in found]})
