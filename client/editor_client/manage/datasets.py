"""Datasets and their items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self, Unpack

from editor_client.calls import Call, Request, query, reading, segment, text
from editor_client.manage.shapes import (
    DatasetArguments,
    DatasetPage,
    DatasetRecord,
    DatasetVersionPage,
    Imported,
    ItemChanges,
    ItemFields,
    ItemFilters,
    ItemHistory,
    ItemPage,
    ItemRecord,
    ItemsAdded,
    ItemsDeleted,
    NewDataset,
    NewItem,
)
from editor_client.methods import ById, D_co, Driver, Handle, Paging, iterating, listing, method
from editor_client.result import Success, with_json_names


class DatasetItem(Handle[D_co]):
    """An item of a dataset, by id."""

    def __init__(self, client: D_co, dataset_path: str, item_id: str) -> None:
        super().__init__(client, item_id, f"{dataset_path}/items/{segment('id', item_id)}")

    @method
    def details(self, *, version: int | None = None) -> Call[ItemRecord]:
        """Read the current item, or the item as of a version of the dataset."""
        path = self._path if version is None else f"{self._path}/versions/{version}"
        return Call.to("GET", path, reading(ItemRecord, id=self.id))

    @method
    def update(self, **changes: Unpack[ItemChanges]) -> Call[ItemRecord]:
        """Change members, as a new version of the dataset."""
        return Call.to("PATCH", self._path, reading(ItemRecord, id=self.id), body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the item; earlier versions still have it."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def purge(self) -> Call[Success]:
        """Remove its content from every version permanently."""
        return Call.to("DELETE", f"{self._path}/purge", reading(Success))

    @method
    def history(self) -> Call[ItemHistory]:
        """List its revisions, newest first."""
        return Call.to("GET", f"{self._path}/history", reading(ItemHistory))


FileFormat = Literal["jsonl", "csv", "promptfoo"]
TargetType = Literal["agent", "workflow", "scorer", "processor"]


class DatasetFilters(Paging, total=False):
    """The filters of a list of datasets."""

    target_type: TargetType
    target_ids: str
    """One of its targets."""
    workspace_id: str


class Dataset(ById[D_co, DatasetRecord]):
    """A dataset, by id."""

    _address, _record = "/datasets", DatasetRecord

    @method
    def update(self, **changes: Unpack[DatasetArguments]) -> Call[DatasetRecord]:
        """Change members; the items have to fit new schemas."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the dataset with its items."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def list_versions(self, **page: Unpack[Paging]) -> Call[DatasetVersionPage]:
        """List its versions, newest first."""
        return listing(f"{self._path}/versions", DatasetVersionPage, page)

    @method
    def list_items(self, **filters: Unpack[ItemFilters]) -> Call[ItemPage]:
        """List its items, newest first, now or as of a `version`."""
        return listing(f"{self._path}/items", ItemPage, filters)

    iter_items = iterating(list_items)

    @method
    def add_item(self, input: Any, **fields: Unpack[NewItem]) -> Call[ItemRecord]:
        """Add an item; an existing one with the same `external_id` and content is unchanged.

        Raises `Conflict` if it exists with another content.
        """
        body = {"input": input, **with_json_names(fields)}
        return Call.to("POST", f"{self._path}/items", reading(ItemRecord), body=body)

    @method
    def add_items(self, items: Iterable[ItemFields]) -> Call[ItemsAdded]:
        """Add up to 1,000 items, all or none, as one version."""
        body = {"items": [with_json_names(item) for item in items]}
        return Call.to("POST", f"{self._path}/items/batch", reading(ItemsAdded), body=body)

    @method
    def delete_items(self, item_ids: Iterable[str]) -> Call[ItemsDeleted]:
        """Delete items, as one version; return their number."""
        body = {"itemIds": list(item_ids)}
        return Call.to("DELETE", f"{self._path}/items/batch", reading(ItemsDeleted), body=body)

    @method
    def import_file(
        self, content: str | bytes, file_format: FileFormat = "jsonl", *, dry_run: bool = False
    ) -> Call[Imported]:
        """Add the new items of a file, all or none, as one version.

        Raises `ValidationFailed` if rows fail, listed in its `details["failed"]`. With `dry_run` nothing is
        stored, and the result lists them.
        """
        body = content.encode() if isinstance(content, str) else content
        params = query(format=file_format, dry_run=dry_run or None)
        path = f"{self._path}/import"
        return Call(request=Request("POST", path, params, body, is_file=True), read=reading(Imported))

    @method
    def export_file(self, file_format: FileFormat = "jsonl", *, version: int | None = None) -> Call[str]:
        """Return the items as a file, now or as of a version."""
        params = query(format=file_format, version=version)
        return Call.to("GET", f"{self._path}/export", text, query=params)

    def get_item(self, item_id: str) -> DatasetItem[D_co]:
        """Return an item; no request is sent yet."""
        return DatasetItem(self._client, self._path, item_id)


class DatasetMethods(Driver):
    """The methods of a client for datasets."""

    @method
    def list_datasets(self, **filters: Unpack[DatasetFilters]) -> Call[DatasetPage]:
        """List the datasets of workspaces whose drafts the key may read, newest first."""
        return listing("/datasets", DatasetPage, filters)

    iter_datasets = iterating(list_datasets)

    @method
    def create_dataset(self, **fields: Unpack[NewDataset]) -> Call[DatasetRecord]:
        """Create a dataset without items; raises `Conflict` with `name_taken`."""
        return Call.to("POST", "/datasets", reading(DatasetRecord), body=with_json_names(fields))

    def get_dataset(self, dataset_id: str) -> Dataset[Self]:
        """Return a dataset; no request is sent yet."""
        return Dataset(self, dataset_id)
