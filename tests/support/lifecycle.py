"""The states in the lifecycle of a resource `writer`, and how it is read in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import Api, Kind

Record = dict[str, Any]


def record(kind: Kind, api: Api) -> Record:
    """Return the record resolved to the latest version."""
    answer = api.get(kind.url("writer"), status="draft")
    assert answer.status == 200, answer.body
    return dict(answer.body)


def served(kind: Kind, cast: Cast) -> str | None:
    """Return the text that published requests get; None when they get nothing."""
    answer = cast.vera.get(kind.url("writer"))
    assert answer.status in {200, 404}, answer.body
    return str(answer.body[kind.text]) if answer.status == 200 else None


def begin_as_draft(kind: Kind, api: Api) -> None:
    """Nothing is published yet."""
    kind.make(api, text="one")


def begin_as_published(kind: Kind, api: Api) -> None:
    """The only version is published."""
    kind.make(api, text="one", autoPublish=True)


def begin_with_draft_over_published(kind: Kind, api: Api) -> None:
    """Version 1 is published, version 2 a draft."""
    begin_as_published(kind, api)
    kind.save(api, text="draft")


def begin_as_unpublished(kind: Kind, api: Api) -> None:
    """The only version was published once."""
    begin_as_published(kind, api)
    assert api.post(kind.url("writer", "unpublish")).status == 200


def begin_with_old_version_published(kind: Kind, api: Api) -> None:
    """Version 1 is published, version 2 historical, version 3 a draft."""
    begin_with_draft_over_published(kind, api)
    kind.save(api, text="newer draft")


Begin = Callable[[Kind, Api], None]

from_any_start = pytest.mark.parametrize(
    "begin",
    [
        begin_as_draft,
        begin_as_published,
        begin_with_draft_over_published,
        begin_as_unpublished,
        begin_with_old_version_published,
    ],
)
