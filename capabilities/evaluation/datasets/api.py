"""Datasets, their items and versions over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, get_args

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.datasets import schemas
from capabilities.evaluation.datasets.changing_items import current
from capabilities.evaluation.datasets.items import ItemTooLarge
from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Revision
from capabilities.evaluation.datasets.verbs import Datasets
from versioning.api import errors, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page, number_in
from versioning.api.schemas import Nothing, Success
from versioning.domain.errors import NotFound
from versioning.domain.uuids import parse_uuid
from versioning.models.search import ByteLength

ORDERS: Final = {"createdAt": "created_at", "updatedAt": "updated_at", "name": "name"}
ITEM_ORDERS: Final = {"createdAt": "item__created_at", "updatedAt": "updated_at"}
VERSION_ORDERS: Final = {"version": "version"}
_NUMBER: Final = {"type": "integer", "minimum": 0, "maximum": parameters.MAX_PAGE}
_DATASET: Final = (parameters.UUID, "The id of the dataset.")
_ITEM: Final = (parameters.UUID, "The id of the item.")

errors.STATUS[ItemTooLarge] = 413


@dataclass(frozen=True)
class Added:
    """The items of a batch."""

    items: Sequence[Revision]
    count: int


class Removed(NamedTuple):
    """How many items were deleted."""

    deleted_count: int
    success: bool = True


class History(NamedTuple):
    """The revisions of an item."""

    history: Sequence[Revision]


class DatasetViewSet(EditorViewSet):
    """Datasets of the workspaces whose drafts the caller may read."""

    job = "Evaluate"
    subject = "dataset"
    created = frozenset({"create"})
    errors = {"create": (409,), "update": (409,), "destroy": (409,)}
    query = {
        "list": (
            *parameters.paging(10, ORDERS),
            parameters.WORKSPACE,
            parameters.query("targetType", "Only for such targets.", enum=get_args(schemas.TargetType)),
            parameters.query(
                "targetIds", "Only for this target; given several times, for any.", type=parameters.TEXTS
            ),
        ),
        "versions": parameters.paging(10, VERSION_ORDERS),
    }
    requests = {"create": schemas.DatasetCreate, "update": schemas.DatasetUpdate, "destroy": Nothing}
    responses = {
        "list": schemas.DatasetPage,
        "create": schemas.DatasetAnswer,
        "retrieve": schemas.DatasetAnswer,
        "update": schemas.DatasetAnswer,
        "destroy": Success,
        "versions": schemas.DatasetVersionPage,
    }
    paths = {"id": _DATASET}

    def list(self, request: Request) -> Response:
        """List the datasets, newest first."""
        given = request.query_params
        found = Datasets.list(
            workspace=given.get("workspaceId"),
            target_type=given.get("targetType"),
            target_ids=given.getlist("targetIds"),
            by=self.caller,
        )
        page = Page.read(given, size=10, fields=ORDERS, then="pk")
        return self.page_of(page, found, weight=ByteLength("settings_json"))

    def create(self, request: Request) -> Response:
        """Create a dataset, without items."""
        given = schemas.DatasetCreate.read(request)
        named = {"name": given.pop("name"), "workspace": given.pop("workspaceId", None)}
        made = Datasets.current().create(given, **named, by=self.caller)
        return self.made(made, f"datasets/{made.pk}")

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a dataset."""
        return with_etag(request, self.dump(Datasets.find(id, by=self.caller)))

    def update(self, request: Request, id: str) -> Response:
        """Change a dataset; its items have to fit new schemas."""
        changes = schemas.DatasetUpdate.read(request)
        return Response(self.dump(Datasets.current().change(id, changes, by=self.caller)))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a dataset with its items."""
        Nothing.read(request)
        Datasets.delete(id, by=self.caller)
        return Response(self.dump("The dataset is deleted."))

    def versions(self, request: Request, id: str) -> Response:
        """List the versions, newest first."""
        dataset = Datasets.find(id, by=self.caller)
        page = Page.read(request.query_params, size=10, fields=VERSION_ORDERS, then="pk")
        return self.page_of(page, DatasetVersion.objects.filter(dataset=dataset))


class ItemViewSet(EditorViewSet):
    """The items of a dataset."""

    job = "Evaluate"
    subject = "dataset item"
    created = frozenset({"create", "create_batch"})
    errors = {"create": (409,), "create_batch": (409,), "update": (409,)}
    query = {
        "list": (
            *parameters.paging(10, ITEM_ORDERS),
            parameters.query("version", "As of this version of the dataset.", type=_NUMBER),
            parameters.query(
                "search", "Text in a value or the external id, ignoring case; up to 200 characters."
            ),
        ),
    }
    requests = {
        "create": schemas.ItemCreate,
        "create_batch": schemas.ItemBatch,
        "destroy_batch": schemas.ItemIds,
        "update": schemas.ItemUpdate,
        "destroy": Nothing,
        "purge": Nothing,
    }
    responses = {
        "list": schemas.ItemPage,
        "create": schemas.ItemAnswer,
        "create_batch": schemas.ItemsAdded,
        "destroy_batch": schemas.ItemsDeleted,
        "retrieve": schemas.ItemAnswer,
        "update": schemas.ItemAnswer,
        "destroy": Success,
        "purge": Success,
        "history": schemas.ItemHistory,
        "as_of": schemas.ItemAnswer,
    }
    paths = {
        "id": _DATASET,
        "item": _ITEM,
        "version": (_NUMBER, "A version of the dataset."),
    }

    def list(self, request: Request, id: str) -> Response:
        """List the items, newest first."""
        given = request.query_params
        dataset = self._dataset(id)
        found = Revision.objects.of_version(dataset, number_in(given, "version", None))
        text = given.get("search")
        if text is not None:
            found = found.with_text(text)
        page = Page.read(given, size=10, fields=ITEM_ORDERS, then="-pk")
        return self.page_of(page, found, weight=ByteLength("payload_json"))

    def create(self, request: Request, id: str) -> Response:
        """Add an item; 200 if it is there already, by its external id."""
        given = schemas.ItemCreate.read(request)
        added = Datasets.add(id, [given], places=[""], by=self.caller)
        [revision] = added.revisions
        if not added.created:
            return Response(self.dump(revision))
        return self.made(revision, f"datasets/{id}/items/{revision.item_id}")

    def create_batch(self, request: Request, id: str) -> Response:
        """Add items, all of them or none, as one version."""
        given = schemas.ItemBatch.read(request)["items"]
        places = [f"items.{index}." for index in range(len(given))]
        added = Datasets.add(id, given, places=places, by=self.caller)
        answer = Added(added.revisions, len(added.revisions))
        return Response(self.dump(answer), status=201 if added.created else 200)

    def destroy_batch(self, request: Request, id: str) -> Response:
        """Delete items, as one version; what is no item is left out of the count."""
        count = Datasets.remove(id, schemas.ItemIds.read(request)["itemIds"], by=self.caller)
        return Response(self.dump(Removed(deleted_count=count)))

    def retrieve(self, request: Request, id: str, item: str) -> Response:
        """Read an item as it is now."""
        return with_etag(request, self.dump(current(self._dataset(id), item)))

    def update(self, request: Request, id: str, item: str) -> Response:
        """Change an item."""
        changes = schemas.ItemUpdate.read(request)
        return Response(self.dump(Datasets.change_item(id, item, changes, by=self.caller)))

    def destroy(self, request: Request, id: str, item: str) -> Response:
        """Delete an item; earlier versions keep it."""
        Nothing.read(request)
        if not Datasets.remove(id, [item], by=self.caller):
            raise NotFound
        return Response(self.dump("The item is deleted."))

    def purge(self, request: Request, id: str, item: str) -> Response:
        """Remove the content of an item from all versions, for good."""
        Nothing.read(request)
        Datasets.purge(id, item, by=self.caller)
        return Response(self.dump("The content of the item is removed."))

    def history(self, request: Request, id: str, item: str) -> Response:
        """List the revisions of an item, newest first."""
        found = Revision.objects.filter(dataset=self._dataset(id), item=parse_uuid(item)).select_related(
            "item"
        )
        if not found:
            raise NotFound
        return Response(self.dump(History([*found])))

    def as_of(self, request: Request, id: str, item: str, version: str) -> Response:
        """Read an item as of a version of the dataset."""
        dataset = self._dataset(id)
        number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else None
        if number is None or number > dataset.version:
            raise NotFound
        revision = Revision.objects.of_version(dataset, number).filter(item=parse_uuid(item)).first()
        if revision is None:
            raise NotFound
        return with_etag(request, self.dump(revision))

    def _dataset(self, dataset_id: str) -> Dataset:
        return Datasets.find(dataset_id, by=self.caller)
