"""Schemas that several others share."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Annotated, Literal

from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from versioning.api.schemas.base import ERROR_MEMBERS, RequestSchema, ResponseSchema, Source, Time
from versioning.domain.config import UNCHANGED, ResourceId
from versioning.domain.kinds import KINDS_BY_SLUG

NotEmpty = Annotated[str, Field(json_schema_extra={"minLength": 1})]
ChangeMessage = Annotated[str, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]
Action = TypeAliasType("Action", Literal["read", "run", "write", "publish", "admin", "directory"])
_SLUGS = tuple(KINDS_BY_SLUG)
ResourceKind = TypeAliasType("ResourceKind", Literal[_SLUGS])  # type: ignore[valid-type]
RecordStatus = TypeAliasType("RecordStatus", Literal["published", "draft"])


class Nothing(RequestSchema):
    """The body of a request that needs no content."""


class ReferencedResource(RequestSchema):
    """A reference to a resource, in a request."""

    kind: ResourceKind
    id: ResourceId


class NoticeAnswer(ResponseSchema):
    """Information for the caller although the request succeeded."""

    code: str
    message: str
    field: str | None = None
    placeholders: Annotated[
        list[str],
        Field(description="The paths that have no value in the context; with `unresolved_placeholder`."),
        Source(lambda notice: list(notice.placeholders) or None),
    ] = []
    position: Annotated[
        int,
        Field(description="How many characters precede the place; with `invisible_characters`."),
    ] = UNCHANGED
    code_point: Annotated[str, Field(description="The first invisible character, such as `U+200B`.")] = (
        UNCHANGED
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the field as nullable, which it is in the answer of a run."""
        return handler(schema)


class Named(ResponseSchema):
    """An agent by id and name."""

    id: Annotated[str, Source(itemgetter(0))]
    name: Annotated[str, Source(itemgetter(1))]


class Success(ResponseSchema):
    """The request succeeded."""

    success: Annotated[bool, Source(lambda _done: True)]
    message: Annotated[str, Source(str)]


class PageOf(ResponseSchema):
    """The position of a page in its list."""

    total: int
    page: int
    per_page: int
    has_more: bool


class IssueAnswer(ResponseSchema):
    """One problem of one field."""

    field: str
    message: str


class CurrentState(ResponseSchema):
    """The current state of a resource, in the answer to a save that was based on an older one."""

    latest_version_id: str
    active_version_id: str | None
    saved_by: str | None
    saved_at: Time
    changed_fields: list[str]


class NamedResource(ResponseSchema):
    """A reference to a resource."""

    kind: ResourceKind
    id: str


class ProblemAnswer(ResponseSchema):
    """A reason why several resources cannot be published together, or a warning."""

    resource: NamedResource | None
    code: str
    message: str


class _ErrorAnswer(ResponseSchema):
    """An error: a sentence for people, a stable code for programs."""

    error: str
    code: str
    issues: list[IssueAnswer] = []
    current: CurrentState | None = None
    dependents: list[Named] = []
    hidden_count: int = 0
    names: Annotated[list[str], Field(description="What a lock names and cannot be resolved.")] = []
    problems: list[ProblemAnswer] = []
    per_page: Annotated[int, Field(description="With how many items a page would not be too long.")] = 0
    limit: Annotated[int, Field(description="The same, of events.")] = 0
    action: Annotated[Action | None, Field(description="What the key would have to be allowed.")] = None
    oldest: Annotated[int, Field(description="The position after which the log is complete.")] = 0
    newest: Annotated[int, Field(description="The position at which the log ends.")] = 0
    epoch: Annotated[str, Field(description="The epoch of the log now.")] = ""
    request_id: Annotated[str, Field(description="With 500 and above: the request in the log.")] = ""
    detail: Annotated[
        Literal["yours"] | None, Field(description="`yours`: the streams that are too many are the caller's.")
    ] = None


@cache
def error_answer() -> type[ResponseSchema]:
    """Return the schema of errors, with the members that applications declare (`EditorApp.error_members`).

    It is made when it is first asked for: all applications have declared theirs by then.
    """
    bases: tuple[type[ResponseSchema], ...] = (*ERROR_MEMBERS, _ErrorAnswer)
    return create_model("ErrorAnswer", __base__=bases, __doc__=_ErrorAnswer.__doc__)
