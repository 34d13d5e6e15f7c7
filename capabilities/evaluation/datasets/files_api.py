"""Datasets as files over HTTP, and what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.datasets import schemas
from capabilities.evaluation.datasets.formats.known import FORMATS
from capabilities.evaluation.datasets.verbs import Datasets
from versioning.api import errors, parameters
from versioning.api.base import EditorViewSet
from versioning.api.parameters import number_in
from versioning.api.runs import AnyAccept
from versioning.api.schemas import BodyTooLarge
from versioning.domain.access import Right
from versioning.domain.errors import Message, VersioningError

_ID: Final = (parameters.UUID, "The id of the dataset.")
_FORMAT: Final = parameters.query("format", "`jsonl` when absent.", enum=tuple(FORMATS))
_SENT_AT_ONCE: Final = 64 * 1024
_VERSION: Final = {"type": "integer", "minimum": 0, "maximum": parameters.MAX_PAGE}


class NotThere(VersioningError):
    """The peer has this, and the editor does not."""

    code = "not_implemented"

    def __init__(self) -> None:
        super().__init__(Message("The editor does not do this."))


errors.STATUS[NotThere] = 501


class DatasetFileViewSet(EditorViewSet):
    """The items of a dataset as a file."""

    job = "Evaluate"
    subject = "dataset file"
    content_negotiation_class = AnyAccept
    query = {
        "upload": (
            _FORMAT,
            parameters.query("dryRun", "`true` stores nothing.", enum=["true", "false"]),
        ),
        "export": (_FORMAT, parameters.query("version", "As of this version of the dataset.", type=_VERSION)),
    }
    takes = {"upload": "application/octet-stream"}
    answers = {"export": [one.media_type.partition(";")[0] for one in FORMATS.values()]}
    responses = {"upload": schemas.ImportAnswer}
    paths = {"id": _ID}

    def upload(self, request: Request, id: str) -> Response:
        """Add the items of a file that are not there yet, all of them or none."""
        given = request.query_params
        self.is_dry_run = given.get("dryRun") == "true"
        done = Datasets.import_items(
            id,
            _file_of(request),
            format=given.get("format", "jsonl"),
            encodings=_encodings_of(request),
            dry_run=self.is_dry_run,
            by=self.caller,
        )
        return Response(self.dump(done))

    def export(self, request: Request, id: str) -> HttpResponseBase:
        """Send the items as a file."""
        given = request.query_params
        name = given.get("format", "jsonl")
        return exported(id, name, version=number_in(given, "version", None), by=self.caller)


def exported(dataset_id: str, name: str, *, version: int | None, by: Any) -> StreamingHttpResponse:
    """Return the answer with a file of the items, in the format of this name."""
    dataset = Datasets.find(dataset_id, by=by)
    parts = Datasets.export_items(dataset_id, format=name, version=version, by=by)
    form = FORMATS[name]
    return file_answer(parts, f"{dataset.name}.{form.suffix}", form.media_type)


def file_answer(parts: Iterator[str], file_name: str, media_type: str) -> StreamingHttpResponse:
    """Return the answer with a file, sent little by little."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file_name, safe='')}"}
    return StreamingHttpResponse(_joined(parts), content_type=media_type, headers=headers)


def _joined(parts: Iterator[str]) -> Iterator[str]:
    """Yield the same text in longer parts: a server sends a long one in the time of a short one."""
    held: list[str] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _SENT_AT_ONCE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _file_of(request: Request) -> bytes:
    """Return the body; raises `BodyTooLarge`, and `UnsupportedMediaType` for a form with the file in it."""
    media_type = request.content_type.partition(";")[0].strip().lower()
    if media_type.startswith("multipart/"):
        raise UnsupportedMediaType(media_type)
    body: bytes = request._request.body  # noqa: SLF001  as it was sent, with any content type
    if len(body) > settings.EDITOR_MAX_BODY:
        raise BodyTooLarge
    return body


def _encodings_of(request: Request) -> list[str]:
    """Return the encoding that the caller names, such as `text/csv; charset=windows-1252`, if any."""
    _, parameters_of_type = parse_header_parameters(request.content_type)
    return [parameters_of_type["charset"]] if parameters_of_type.get("charset") else []


class ModelWorkViewSet(EditorViewSet):
    """What a model would do with datasets."""

    job = "Evaluate"
    subject = "dataset"
    errors = {"generate_items": (501,), "cluster_failures": (501,)}
    paths = {"id": _ID}

    def generate_items(self, _request: Request, id: str) -> Response:
        """Refuse: no items are generated here."""
        Datasets.find(id, by=self.caller, right=Right.SAVE)
        raise NotThere

    def cluster_failures(self, _request: Request) -> Response:
        """Refuse: no failures are grouped here."""
        raise NotThere
