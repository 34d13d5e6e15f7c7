"""Items of datasets: results, arguments and methods."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypedDict, Unpack

from editor_client.calls import Call, Object, reading, segment
from editor_client.methods import D_co, Handle, method
from editor_client.pages import Page, Paging
from editor_client.result import Result, Success, with_json_names


class ItemRecord(Result):
    """An item, as it is in one version of its dataset."""

    id: str
    dataset_id: str
    dataset_version: int
    """That of its last change."""
    external_id: str | None = None
    input: Any
    ground_truth: Any = None
    expected_trajectory: Mapping[str, Any] | None = None
    tool_mocks: tuple[Any, ...] | None = None
    unmocked_tool_policy: str | None = None
    scorer_ids: tuple[str, ...] | None = None
    request_context: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime


class ItemRevision(ItemRecord):
    """What an item was from one version of its dataset until another."""

    valid_to: int | None = None
    is_deleted: bool


class ItemHistory(Result):
    """The revisions of an item, newest first."""

    history: tuple[ItemRevision, ...]


class ItemsAdded(Result):
    """The items of a batch, in its order."""

    item_records: tuple[ItemRecord, ...] = field(metadata={"json_name": "items"})
    count: int


class ItemsDeleted(Result):
    """How many items there were."""

    success: bool
    deleted_count: int


class ItemPage(Page[ItemRecord]):
    """A page of items."""

    item_records: tuple[ItemRecord, ...] = field(metadata={"json_name": "items"})


class ItemArguments(TypedDict, total=False):
    """The members of an item that can be set, besides its input; None clears one."""

    ground_truth: Any
    expected_trajectory: Object | None
    tool_mocks: list[Object] | None
    unmocked_tool_policy: Literal["allow", "deny"] | None
    scorer_ids: list[str] | None
    request_context: Object | None
    metadata: Object | None
    source: Object | None


class NewItem(ItemArguments, total=False):
    """The members of a new item."""

    external_id: str


class ItemChanges(ItemArguments, total=False):
    """The members of an item that are changed."""

    input: Any


class ItemFields(NewItem, total=False):
    """An item of a batch, which needs an `input`."""

    input: Any


class ItemFilters(Paging, total=False):
    """The filters of a list of items."""

    version: int
    search: str


class DatasetItem(Handle[D_co]):
    """An item of a dataset, by id."""

    def __init__(self, client: D_co, dataset_path: str, item_id: str) -> None:
        super().__init__(client, item_id, f"{dataset_path}/items/{segment('id', item_id)}")

    @method
    def details(self, *, version: int | None = None) -> Call[ItemRecord]:
        """Read the item as it is now, or as of a version of the dataset."""
        path = self._path if version is None else f"{self._path}/versions/{version}"
        return Call.to("GET", path, reading(ItemRecord, id=self.id))

    @method
    def update(self, **changes: Unpack[ItemChanges]) -> Call[ItemRecord]:
        """Change members, as a new version of the dataset."""
        return Call.to("PATCH", self._path, reading(ItemRecord, id=self.id), body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the item; earlier versions keep it."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def purge(self) -> Call[Success]:
        """Remove its content from every version, for good."""
        return Call.to("DELETE", f"{self._path}/purge", reading(Success))

    @method
    def history(self) -> Call[ItemHistory]:
        """List its revisions, newest first."""
        return Call.to("GET", f"{self._path}/history", reading(ItemHistory))
