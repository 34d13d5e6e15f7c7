"""The routes of the editor in memory for datasets, and for trying a scorer.

Items are as they are now: their versions, histories and files are for a real editor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from editor_client.manage.dataset_items import ItemArguments
from editor_client.manage.datasets import DatasetArguments
from editor_client.manage.stored_scorers import SCORERS, Tried
from editor_client.result import camel
from editor_client.shared import canonical
from editor_client.shared.dataset_items import composed_name
from editor_client.shared.errors import Invalid
from editor_client.testing.editor import Editor
from editor_client.testing.object_lists import PAGING, Collection, Row, made
from editor_client.testing.protocol import (
    Answer,
    Json,
    Refused,
    Request,
    not_done,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import now

_MEMBERS: Final = [camel(one) for one in DatasetArguments.__annotations__ if one != "name"]
_ITEM_MEMBERS: Final = list(map(camel, ItemArguments.__annotations__))
_TRIED: Final = list(map(camel, Tried.__annotations__))


def _created(editor: Editor, given: Json) -> Row:
    workspace = given.pop("workspaceId") or editor.workspace
    given["name"] = composed_name(given["name"])
    if any(row.content["name"] == given["name"] for row in DATASETS.rows(editor)):
        message = f"There is a dataset {given['name']!r} in this workspace."
        raise Refused(409, "name_taken", message)
    return made(editor, {**given, "workspaceId": workspace, "version": 0, "digest": canonical.digest([])})


def _item(editor: Editor, given: Json, dataset_id: str) -> Row:
    DATASETS.by_id(editor, dataset_id)
    for row in ITEMS.rows(editor, (dataset_id,)):
        if given["externalId"] is not None and given["externalId"] == row.content["externalId"]:
            if canonical.same(_payload(row.content), _payload(given)):
                return row
            raise Refused(409, "conflict", "An external id stays with its first item.")
    return made(editor, {**given, "datasetId": dataset_id}, dataset_id)


def _items_changed(editor: Editor, owners: tuple[str, ...], changed: Sequence[Row]) -> None:
    """Make a version of a dataset whose items have changed."""
    dataset = DATASETS.by_id(editor, *owners)
    version = dataset.content["version"] + 1
    for row in changed:
        row.content["datasetVersion"] = version
    mine = (row.content for row in ITEMS.rows(editor, owners))
    held = sorted((one["id"], canonical.digest(_payload(one))) for one in mine)
    dataset.content |= {"version": version, "digest": canonical.digest(held), "updatedAt": now()}


def _payload(item: Mapping[str, Any]) -> Json:
    return {name: item[name] for name in ("input", *_ITEM_MEMBERS)}


DATASETS: Final = Collection(
    "/datasets",
    "datasets",
    needed=["name"],
    optional=dict.fromkeys([*_MEMBERS, "workspaceId"]),
    filters=["targetType", "workspaceId"],
    make=_created,
    changeable=["name", *_MEMBERS],
    nests_paging=True,
)


@route("GET", "/datasets/*/items", *PAGING, "version")
def _items(editor: Editor, request: Request) -> Answer:
    newest = str(DATASETS.by_id(editor, *request.names).content["version"])
    if request.query.get("version", newest) != newest:
        raise not_done("an earlier version of a dataset")
    return ITEMS.page(request, ITEMS.rows(editor, request.names))


@route("POST", "/datasets/*/items/batch")
def _add_batch(editor: Editor, request: Request) -> Answer:
    [given] = required(request.body, "items")
    rows, new = ITEMS.add(editor, request.names, given)
    items = [row.content for row in rows]
    return Answer({"items": items, "count": len(items)}, status=201 if new else 200)


@route("DELETE", "/datasets/*/items/batch")
def _delete_batch(editor: Editor, request: Request) -> Answer:
    [ids] = required(request.body, "itemIds")
    gone = [row for row in ITEMS.rows(editor, request.names) if row.content["id"] in ids]
    ITEMS.remove(editor, request.names, gone)
    return Answer({"success": True, "deletedCount": len(gone)})


ITEMS: Final = Collection(
    "/datasets/*/items",
    "items",
    needed=["input"],
    optional=dict.fromkeys(["externalId", *_ITEM_MEMBERS]),
    make=_item,
    changed=_items_changed,
    changeable=["input", *_ITEM_MEMBERS],
    actions=["create", "read", "change", "delete"],
    nests_paging=True,
)


@route("POST", "/stored/scorers/*/try")
def _try(editor: Editor, request: Request) -> Answer:
    body = request.body
    refuse_unknown(body, ("input", "output", *_TRIED))
    required(body, "input", "output")
    scorer = editor.find(SCORERS, request.names[0])
    version = scorer.version(body["versionId"]) if "versionId" in body else scorer.latest
    return Answer(scored(editor, version.config, body))


def scored(editor: Editor, config: Mapping[str, Any], body: Mapping[str, Any]) -> Json:
    """Return what a scorer says, with all members; raises `Invalid` for one that there is not."""
    nothing: Json = dict.fromkeys(("score", "passed", "label", "reason", "error", "notScorable"))
    outcome = editor.score(config, body)
    unknown = outcome.keys() - nothing.keys()
    if unknown:
        raise Invalid.field("score", f"is not to answer with {min(unknown)!r}")
    return {**nothing, **outcome}


def compares(scorer: Mapping[str, Any], body: Mapping[str, Any]) -> Json:
    """Return what a scorer of the type `equals` says, which compares with the ground truth."""
    if scorer.get("type") != "equals" or scorer.get("config"):
        raise not_done("the scoring by this scorer, unless FakeEditor(score=…) says what it says")
    if "groundTruth" not in body:
        return {"notScorable": {"reason": "There is no groundTruth."}}
    is_same = canonical.same(body["output"], body["groundTruth"])
    return {"score": float(is_same), "passed": is_same}
