"""The routes of the editor in memory for datasets, and for trying a scorer.

Items are as they are now: their versions, histories and files are for a real editor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.stored_scorers import SCORERS
from editor_client.testing.editor import Editor
from editor_client.testing.object_lists import Collection, Row, made
from editor_client.testing.protocol import (
    Answer,
    Json,
    Refused,
    Request,
    done,
    not_done,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import now

_MEMBERS: Final = (
    "description",
    "metadata",
    "inputSchema",
    "groundTruthSchema",
    "requestContextSchema",
    "tags",
    "targetType",
    "targetIds",
    "scorerIds",
)
_ITEM_MEMBERS: Final = (
    "groundTruth",
    "expectedTrajectory",
    "toolMocks",
    "unmockedToolPolicy",
    "scorerIds",
    "requestContext",
    "metadata",
    "source",
)
_TRIED: Final = ("groundTruth", "metadata", "toolCalls", "usage", "milliseconds", "versionId")


def _created(editor: Editor, given: Json) -> Row:
    workspace = given.pop("workspaceId") or editor.workspace
    if any(row.content["name"] == given["name"] for row in DATASETS.rows(editor)):
        message = f"There is a dataset {given['name']!r} in this workspace."
        raise Refused(409, "name_taken", message)
    return made(editor, {**given, "workspaceId": workspace, "version": 0, "digest": canonical.digest([])})


DATASETS: Final = Collection(
    "/datasets",
    "datasets",
    needed=["name"],
    optional=dict.fromkeys([*_MEMBERS, "workspaceId"]),
    filters=["targetType", "workspaceId"],
    make=_created,
    changeable=["name", *_MEMBERS],
    nests_paging=True,
    page_size=10,
)
ITEMS: Final = Collection(
    "/datasets/*/items", "items", actions=["list", "read"], nests_paging=True, page_size=10
)


def _changed(editor: Editor, dataset: Row) -> None:
    """Make a version of a dataset whose items have changed."""
    mine = (row.content for row in ITEMS.rows(editor) if row.owners == (dataset.content["id"],))
    held = sorted((one["id"], canonical.digest(_payload(one))) for one in mine)
    about = {"version": dataset.content["version"] + 1, "digest": canonical.digest(held), "updatedAt": now()}
    dataset.content |= about


def _payload(item: Mapping[str, Any]) -> Json:
    return {name: item[name] for name in ("input", *_ITEM_MEMBERS)}


def _added(editor: Editor, request: Request, given: list[Json]) -> tuple[list[Json], bool]:
    """Add items, all or none; returns them, and whether any is new."""
    dataset = DATASETS.row(editor, request)
    owners, rows = request.names[:1], []
    known = {row.content["externalId"]: row.content for row in ITEMS.rows(editor) if row.owners == owners}
    found = []
    for one in given:
        refuse_unknown(one, ("input", "externalId", *_ITEM_MEMBERS))
        required(one, "input")
        item = {**dict.fromkeys(("externalId", *_ITEM_MEMBERS)), **one}
        there = known.get(item["externalId"]) if item["externalId"] is not None else None
        if there is not None and not canonical.same(_payload(there), _payload(item)):
            raise Refused(409, "conflict", "An external id stays with its first item.")
        if there is None:
            version = {"datasetId": owners[0], "datasetVersion": dataset.content["version"] + 1}
            row = made(editor, {**item, **version})
            row.owners = owners
            rows.append(row)
            there = known[item["externalId"]] = row.content
        found.append(there)
    if rows:
        ITEMS.rows(editor)[:0] = reversed(rows)
        _changed(editor, dataset)
    return found, bool(rows)


@route("POST", "/datasets/*/items")
def _add(editor: Editor, request: Request) -> Answer:
    [item], is_new = _added(editor, request, [dict(request.body)])
    return Answer(item, status=201 if is_new else 200)


@route("POST", "/datasets/*/items/batch")
def _add_batch(editor: Editor, request: Request) -> Answer:
    [given] = required(request.body, "items")
    items, is_new = _added(editor, request, given)
    return Answer({"items": items, "count": len(items)}, status=201 if is_new else 200)


@route("DELETE", "/datasets/*/items/batch")
def _delete_batch(editor: Editor, request: Request) -> Answer:
    [ids] = required(request.body, "itemIds")
    return Answer({"success": True, "deletedCount": _delete(editor, request, set(ids))})


def _delete(editor: Editor, request: Request, ids: set[str]) -> int:
    dataset, rows = DATASETS.row(editor, request), ITEMS.rows(editor)
    left = [row for row in rows if row.owners != request.names[:1] or row.content["id"] not in ids]
    count = len(rows) - len(left)
    rows[:] = left
    if count:
        _changed(editor, dataset)
    return count


@route("DELETE", "/datasets/*/items/*")
def _delete_item(editor: Editor, request: Request) -> Answer:
    row = ITEMS.row(editor, request)
    _delete(editor, request, {row.content["id"]})
    return done("The item is deleted.")


@route("PATCH", "/datasets/*/items/*")
def _change_item(editor: Editor, request: Request) -> Answer:
    row, dataset = ITEMS.row(editor, request), DATASETS.row(editor, request)
    refuse_unknown(request.body, ("input", *_ITEM_MEMBERS))
    if not canonical.same(_payload(row.content), _payload({**row.content, **request.body})):
        version = dataset.content["version"] + 1
        row.content |= {**request.body, "datasetVersion": version, "updatedAt": now()}
        _changed(editor, dataset)
    return Answer(row.content)


@route("POST", "/stored/scorers/*/try")
def _try(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("input", "output", *_TRIED))
    required(body, "input", "output")
    scorer = editor.find(SCORERS, request.names[0])
    version = scorer.version(body["versionId"]) if "versionId" in body else scorer.latest
    outcome = editor.score(version.config, body)
    nothing = dict.fromkeys(("score", "passed", "label", "reason", "error", "notScorable"))
    unknown = outcome.keys() - nothing.keys()
    if unknown:
        raise Invalid.field("score", f"is not to answer with {min(unknown)!r}")
    return Answer({**nothing, **outcome})


def compares(scorer: Mapping[str, Any], body: Mapping[str, Any]) -> Json:
    """Return what a scorer of the type `equals` says, which compares with the ground truth."""
    if scorer.get("type") != "equals" or scorer.get("config"):
        raise not_done("the scoring by this scorer, unless FakeEditor(score=…) says what it says")
    if "groundTruth" not in body:
        return {"notScorable": {"reason": "There is no groundTruth."}}
    is_same = canonical.same(body["output"], body["groundTruth"])
    return {"score": float(is_same), "passed": is_same}
