"""Schemas that several others hold."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Literal

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time
from versioning.editor.inputs import MAX_MESSAGE

NotEmpty = Annotated[str, Field(json_schema_extra={"minLength": 1})]
ChangeMessage = Annotated[str, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]
RecordStatus = TypeAliasType("RecordStatus", Literal["published", "draft"])


class Nothing(RequestSchema):
    """The body of a verb that needs none."""


class NoticeAnswer(ResponseSchema):
    """Something worth knowing although the request succeeded."""

    code: str
    message: str
    field: str | None = None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the field as one that can be null: in the answer of a run it is."""
        return handler(schema)


class Named(ResponseSchema):
    """An agent by id and name."""

    id: Annotated[str, Source(itemgetter(0))]
    name: Annotated[str, Source(itemgetter(1))]


class Success(ResponseSchema):
    """It is done."""

    success: Annotated[bool, Source(lambda _done: True)]
    message: Annotated[str, Source(str)]


class PageOf(ResponseSchema):
    """Where in a list an answer stands."""

    total: int
    page: int
    per_page: int
    has_more: bool


class IssueAnswer(ResponseSchema):
    """One problem of one field."""

    field: str
    message: str


class CurrentState(ResponseSchema):
    """What a resource looks like now, in the answer to a save from a stale base."""

    latest_version_id: str
    active_version_id: str | None
    saved_by: str | None
    saved_at: Time
    changed_fields: list[str]


class ErrorAnswer(ResponseSchema):
    """What went wrong: a sentence for people, a stable code for programs."""

    error: str
    code: str
    issues: list[IssueAnswer] = []
    current: CurrentState | None = None
    dependents: list[Named] = []
    hidden_count: int = 0
