"""Datasets, their items, versions and files over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args
from urllib.parse import quote

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.datasets import schemas
from capabilities.evaluation.datasets.formats import FORMATS
from capabilities.evaluation.datasets.models import DatasetVersion, Revision
from capabilities.evaluation.datasets.verbs import Datasets, ItemTooLarge, find_item
from versioning.api import errors, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging, number_in
from versioning.api.runs import AnyAccept
from versioning.api.schemas import BodyTooLarge, Nothing, Success
from versioning.domain.access import Right
from versioning.domain.errors import Message, NotFound, VersioningError
from versioning.domain.uuids import is_key, parse_uuid
from versioning.models.search import ByteLength

DATASET_PAGING: Final = Paging(10, fields=("createdAt", "updatedAt", "name"))
ITEM_PAGING: Final = Paging(
    10, fields=("createdAt", "updatedAt"), columns={"createdAt": "item__created_at"}, then="-pk"
)
VERSION_PAGING: Final = Paging(10, fields=("version",))
_NUMBER: Final = {"type": "integer", "minimum": 0, "maximum": parameters.MAX_PAGE}
_DATASET: Final = (parameters.UUID, "The id of the dataset.")
_ITEM: Final = (parameters.UUID, "The id of the item.")


class DatasetViewSet(EditorViewSet):
    """Datasets of the workspaces whose drafts the caller may read."""

    job = "Evaluate"
    subject = "dataset"
    created = frozenset({"create"})
    errors = {"create": (409,), "update": (409,), "destroy": (409,)}
    query = {
        "list": (
            *DATASET_PAGING.parameters,
            parameters.WORKSPACE,
            parameters.query("targetType", "Only for such targets.", enum=get_args(schemas.TargetType)),
            parameters.query(
                "targetIds", "Only for this target; given several times, for any.", type=parameters.TEXTS
            ),
        ),
        "versions": VERSION_PAGING.parameters,
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
        query = request.query_params
        datasets = Datasets.list(
            workspace=query.get("workspaceId"),
            target_type=query.get("targetType"),
            target_ids=query.getlist("targetIds"),
            by=self.caller,
        )
        page = DATASET_PAGING.read(query)
        return self.page_of(page, datasets, weight=ByteLength("settings_json"))

    def create(self, request: Request) -> Response:
        """Create a dataset, without items."""
        body = schemas.DatasetCreate.read(request)
        arguments = {"name": body.pop("name"), "workspace": body.pop("workspaceId", None)}
        dataset = Datasets.current().create(body, **arguments, by=self.caller)
        return self.respond_created(dataset, f"datasets/{dataset.pk}")

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
        page = VERSION_PAGING.read(request.query_params)
        return self.page_of(page, DatasetVersion.objects.filter(dataset=dataset))


class ItemViewSet(EditorViewSet):
    """The items of a dataset."""

    job = "Evaluate"
    subject = "dataset item"
    created = frozenset({"create", "create_batch"})
    errors = {"create": (409,), "create_batch": (409,), "update": (409,)}
    query = {
        "list": (
            *ITEM_PAGING.parameters,
            parameters.query("version", "As of this version of the dataset.", type=_NUMBER),
            parameters.query(
                "search", "Text in a value or the external id, ignoring case; up to 200 characters."
            ),
        )
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
    paths = {"id": _DATASET, "item": _ITEM, "version": (_NUMBER, "A version of the dataset.")}

    def list(self, request: Request, id: str) -> Response:
        """List the items, newest first."""
        query = request.query_params
        dataset = Datasets.find(id, by=self.caller)
        version = number_in(query, "version", None)
        if version is not None and version > dataset.version:
            raise NotFound
        items = Revision.objects.of_version(dataset, version)
        if "search" in query:
            items = items.with_text(query["search"])
        page = ITEM_PAGING.read(query)
        return self.page_of(page, items, weight=ByteLength("payload_json"))

    def create(self, request: Request, id: str) -> Response:
        """Add an item; 200 if it exists already, by its external id."""
        added = Datasets.add(id, [schemas.ItemCreate.read(request)], places=[""], by=self.caller)
        [revision] = added.revisions
        if not added.created:
            return Response(self.dump(revision))
        return self.respond_created(revision, f"datasets/{id}/items/{revision.item_id}")

    def create_batch(self, request: Request, id: str) -> Response:
        """Add items, all of them or none, as one version."""
        items = schemas.ItemBatch.read(request)["items"]
        places = [f"items.{index}." for index in range(len(items))]
        added = Datasets.add(id, items, places=places, by=self.caller)
        return Response(self.dump(added.revisions), status=201 if added.created else 200)

    def destroy_batch(self, request: Request, id: str) -> Response:
        """Delete items, as one version; ids without an item do not count."""
        count = Datasets.remove(id, schemas.ItemIds.read(request)["itemIds"], by=self.caller)
        return Response(self.dump(count))

    def retrieve(self, request: Request, id: str, item: str) -> Response:
        """Read an item as it is now."""
        return with_etag(request, self.dump(find_item(Datasets.find(id, by=self.caller), item)))

    def update(self, request: Request, id: str, item: str) -> Response:
        """Change an item."""
        changes = schemas.ItemUpdate.read(request)
        return Response(self.dump(Datasets.change_item(id, item, changes, by=self.caller)))

    def destroy(self, request: Request, id: str, item: str) -> Response:
        """Delete an item; earlier versions still have it."""
        Nothing.read(request)
        if not Datasets.remove(id, [item], by=self.caller):
            raise NotFound
        return Response(self.dump("The item is deleted."))

    def purge(self, request: Request, id: str, item: str) -> Response:
        """Remove the content of an item from all versions permanently."""
        Nothing.read(request)
        Datasets.purge(id, item, by=self.caller)
        return Response(self.dump("The content of the item is removed."))

    def history(self, request: Request, id: str, item: str) -> Response:
        """List the revisions of an item, newest first."""
        dataset = Datasets.find(id, by=self.caller)
        revisions = Revision.objects.filter(dataset=dataset, item=parse_uuid(item)).select_related("item")
        if not revisions:
            raise NotFound
        return Response(self.dump(revisions))

    def as_of(self, request: Request, id: str, item: str, version: str) -> Response:
        """Read an item as of a version of the dataset."""
        dataset = Datasets.find(id, by=self.caller)
        if not is_key(version) or int(version) > dataset.version:
            raise NotFound
        revision = Revision.objects.of_version(dataset, int(version)).filter(item=parse_uuid(item)).first()
        if revision is None:
            raise NotFound
        return with_etag(request, self.dump(revision))


_FORMAT: Final = parameters.query("format", "`jsonl` when absent.", enum=tuple(FORMATS))
_SENT_AT_ONCE: Final = 64 * 1024


class UnsupportedRoute(VersioningError):
    """An operation of the peer that the editor does not support."""

    code = "not_implemented"

    def __init__(self) -> None:
        super().__init__(Message("The editor does not support this."))


errors.STATUS |= {ItemTooLarge: 413, UnsupportedRoute: 501}


class DatasetFileViewSet(EditorViewSet):
    """The items of a dataset as a file."""

    job = "Evaluate"
    subject = "dataset file"
    content_negotiation_class = AnyAccept
    query = {
        "upload": (_FORMAT, parameters.query("dryRun", "`true` stores nothing.", enum=["true", "false"])),
        "export": (_FORMAT, parameters.query("version", "As of this version of the dataset.", type=_NUMBER)),
    }
    takes = {"upload": "application/octet-stream"}
    answers = {"export": [form.media_type.partition(";")[0] for form in FORMATS.values()]}
    responses = {"upload": schemas.ImportAnswer}
    paths = {"id": _DATASET}

    def upload(self, request: Request, id: str) -> Response:
        """Add the new items of a file: all of them or none."""
        media_type = request.content_type.partition(";")[0].strip().lower()
        if media_type.startswith("multipart/"):  # a form that contains the file
            raise UnsupportedMediaType(media_type)
        body: bytes = request._request.body  # noqa: SLF001  as it was sent, with any content type
        if len(body) > settings.EDITOR_MAX_BODY:
            raise BodyTooLarge
        # Callers may name an encoding, such as `text/csv; charset=windows-1252`.
        charset = parse_header_parameters(request.content_type)[1].get("charset")
        query = request.query_params
        self.is_dry_run = query.get("dryRun") == "true"
        result = Datasets.import_items(
            id,
            body,
            format=query.get("format", "jsonl"),
            encodings=[charset] if charset else [],
            dry_run=self.is_dry_run,
            by=self.caller,
        )
        return Response(self.dump(result))

    def export(self, request: Request, id: str) -> HttpResponseBase:
        """Stream the items as a file."""
        query = request.query_params
        name = query.get("format", "jsonl")
        return export_response(id, name, version=number_in(query, "version", None), by=self.caller)


def export_response(dataset_id: str, name: str, *, version: int | None, by: Any) -> StreamingHttpResponse:
    """Return the answer with a file of the items, in the format of this name."""
    dataset = Datasets.find(dataset_id, by=by)
    parts = Datasets.export_items(dataset_id, format=name, version=version, by=by)
    form = FORMATS[name]
    return file_answer(parts, f"{dataset.name}.{form.suffix}", form.media_type)


def file_answer(parts: Iterator[str], file_name: str, media_type: str) -> StreamingHttpResponse:
    """Return the answer that streams a file."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file_name, safe='')}"}
    return StreamingHttpResponse(_join_parts(parts), content_type=media_type, headers=headers)


def _join_parts(parts: Iterator[str]) -> Iterator[str]:
    """Yield the same text in longer parts, because a server sends a long one as fast as a short one."""
    pending: list[str] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _SENT_AT_ONCE:
            yield "".join(pending)
            pending, size = [], 0
    yield "".join(pending)


class ModelWorkViewSet(EditorViewSet):
    """Operations on datasets by a model, which the editor does not support."""

    job = "Evaluate"
    subject = "dataset"
    errors = {"generate_items": (501,), "cluster_failures": (501,)}
    paths = {"id": _DATASET}

    def generate_items(self, _request: Request, id: str) -> Response:
        """Refuse: no items are generated here."""
        Datasets.find(id, by=self.caller, right=Right.SAVE)
        raise UnsupportedRoute

    def cluster_failures(self, _request: Request) -> Response:
        """Refuse: no failures are grouped here."""
        raise UnsupportedRoute
