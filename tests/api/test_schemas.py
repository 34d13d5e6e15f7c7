"""How a response schema makes JSON of an object: `versioning.api.schemas`."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Annotated, ClassVar

import pytest

from versioning.api.schemas import ResponseSchema, Source, Time
from versioning.domain.config import Shape


class Config(Shape):
    """The fields of a snapshot."""

    text: str | None = None


class Part(ResponseSchema):
    part_name: str


class Whole(ResponseSchema, Config):
    """Everything that a field can be."""

    snapshot_source: ClassVar[str | None] = "row.config"

    own_name: str
    elsewhere: Annotated[int, Source("row.number")]
    computed: Annotated[str, Source(lambda whole: whole.own_name.upper())]
    made_at: Time
    nothing: str | None
    one: Part | None
    parts: list[Part]
    left_out: str = ""


MADE_AT = datetime.datetime(
    2026, 1, 2, 3, 4, 5, 678999, tzinfo=datetime.timezone(datetime.timedelta(hours=2))
)
WHOLE = SimpleNamespace(
    own_name="ada",
    row=SimpleNamespace(number=3, config={"text": "kept as it is"}),
    made_at=MADE_AT,
    nothing=None,
    one=SimpleNamespace(part_name="a"),
    parts=[SimpleNamespace(part_name="b"), SimpleNamespace(part_name="c")],
    left_out=None,
)


def test_a_response_is_built_from_attributes_sources_and_a_snapshot() -> None:
    assert Whole.dump(WHOLE) == {
        "ownName": "ada",
        "elsewhere": 3,
        "computed": "ADA",
        "madeAt": "2026-01-02T01:04:05.678Z",
        "nothing": None,
        "one": {"partName": "a"},
        "parts": [{"partName": "b"}, {"partName": "c"}],
        "text": "kept as it is",
    }


def test_a_member_documented_as_never_null_is_omitted_instead() -> None:
    described = Whole.model_json_schema()
    assert described["properties"]["leftOut"]["type"] == "string"
    assert "leftOut" not in described["required"] and "leftOut" not in Whole.dump(WHOLE)
    assert "nothing" in described["required"]


def test_an_object_without_an_attribute_is_a_bug() -> None:
    with pytest.raises(AttributeError, match="part_name"):
        Part.dump(SimpleNamespace())
