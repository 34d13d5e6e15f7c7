"""Items of datasets: results, arguments and methods."""

from __future__ import annotations

from typing import Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.shapes import ItemChanges, ItemHistory, ItemRecord
from editor_client.methods import D_co, Handle, method
from editor_client.result import Success, with_json_names


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
