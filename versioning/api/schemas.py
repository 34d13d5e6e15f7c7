"""Schemas: one class for each JSON object of the API, which validates or serialises and documents it.

Those of one view are in its module. `versioning.api.openapi` describes the same classes to client generators.
Names are snake_case here and camelCase in JSON.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args, get_origin

from django.conf import settings
from django.utils.http import parse_etags
from editor_client.shared import canonical
from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from rest_framework.exceptions import APIException
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from typing_extensions import TypeAliasType

from versioning.domain.config import (
    UNCHANGED,
    JsonObject,
    ResourceId,
    Shape,
    raise_for_issues,
)
from versioning.domain.errors import Invalid
from versioning.domain.kinds import KINDS, KINDS_BY_SLUG

ANYTHING: Final = "*/*"


class CompactJSONRenderer(JSONRenderer):
    """JSON without white space and without escaped text; refuses NaN."""

    compact = True
    ensure_ascii = False
    strict = True


class HeaderNegotiation(DefaultContentNegotiation):
    """Chooses by the `Accept` header only; no query parameter selects another format."""

    settings = SimpleNamespace(URL_FORMAT_OVERRIDE=None)  # type: ignore[assignment]  # all that it reads

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer and its media type; a request that accepts anything gets the first."""
        if format_suffix is None and request.META.get("HTTP_ACCEPT", ANYTHING) == ANYTHING:
            first = next(iter(renderers))
            return first, first.media_type
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen


class BodyTooLarge(APIException):
    """The body is larger than `EDITOR_MAX_BODY`.

    `BodyLimitMiddleware`, if installed, answers before the view is called.
    """

    status_code = 413
    default_code = "payload_too_large"

    def __init__(self) -> None:
        super().__init__(f"The body must not be larger than {settings.EDITOR_MAX_BODY} bytes.")


class ExactJSONParser(BaseParser):
    """Parses JSON without loss or guesses; see `editor_client.shared.canonical.parse`."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value of the body.

        Raises `Invalid` naming `body`, and `BodyTooLarge` after `EDITOR_MAX_BODY` bytes, without reading
        further.
        """
        body = stream.read(settings.EDITOR_MAX_BODY + 1)
        if len(body) > settings.EDITOR_MAX_BODY:
            raise BodyTooLarge
        return canonical.parse(body)


Json = dict[str, Any]
Function = Callable[[Any], Any]


class RequestSchema(Shape):
    """The body of a request."""

    @classmethod
    def read(cls, request: Request) -> Json:
        """Return the members of the body as they were sent; raises `Invalid` with every error."""
        body = read_body(request)
        raise_for_issues(cls, body)
        return body

    @classmethod
    def read_arguments(cls, request: Request) -> Json:
        """Return the members by the names of the fields, for a verb; raises as `read` does."""
        body = cls.read(request)
        aliases = {name: str(field.alias) for name, field in cls.model_fields.items()}
        return {name: body[alias] for name, alias in aliases.items() if alias in body}


def read_body(request: Request) -> Json:
    """Return the body, which must be a JSON object; a missing body counts as an empty object."""
    body = request.data
    if not isinstance(body, dict):
        raise Invalid.field("body", "must be a JSON object")
    return body


class Source:
    """The source of a response field, like `source` in DRF: an attribute (`a.b`) or a function.

    Without it, the field is read from the attribute with its name.
    """

    def __init__(self, source: str | Function) -> None:
        self.get: Function = attrgetter(source) if isinstance(source, str) else source


class SerializedBy:
    """Declares the function that turns a value of a type into JSON."""

    def __init__(self, serialize: Function) -> None:
        self.serialize = serialize


def utc(moment: datetime.datetime) -> str:
    """Return ISO 8601 in UTC with milliseconds and `Z`."""
    return f"{moment.astimezone(datetime.UTC).isoformat(timespec='milliseconds')[:-6]}Z"


Time = Annotated[str, SerializedBy(utc), Field(json_schema_extra={"format": "date-time"})]
TimeOrNull = Annotated[str | None, SerializedBy(utc), Field(json_schema_extra={"format": "date-time"})]
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
UuidOrNull = Annotated[str | None, Field(json_schema_extra={"format": "uuid"})]


ERROR_MEMBERS: Final[list[type[ResponseSchema]]] = []
"""The members that applications add to the schema of errors; all of them have defaults."""


def register_error_members(members: object) -> None:
    """Add members to the schema of errors; raises `TypeError` for other classes."""
    if not (isinstance(members, type) and issubclass(members, ResponseSchema)):
        raise TypeError(f"error_members takes subclasses of ResponseSchema, not {members!r} is none")
    ERROR_MEMBERS.append(members)


class ResponseSchema(Shape):
    """A response. A field with a default may be missing but is never null."""

    snapshot_source: ClassVar[str | None] = None
    """The attribute with the configuration whose fields are added to those of the schema itself."""

    @classmethod
    def dump(cls, source: Any) -> Json:
        """Return the JSON object for any object with the attributes; nothing is validated.

        Every uncached answer is built here, so this only creates dictionaries.
        """
        members, snapshot = _plan(cls)
        dumped: Json = {}
        for name, get, serialize, is_optional in members:
            value = get(source)
            if value is not None:
                dumped[name] = value if serialize is None else serialize(value)
            elif not is_optional:
                dumped[name] = None
        if snapshot is not None:
            dumped |= snapshot(source)
        return dumped

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the fields; snapshot fields can be null only in an edit, where that clears them."""
        described = handler(schema)
        members = handler.resolve_ref_schema(described)
        required = members.get("required", [])
        for name, member in members["properties"].items():
            if name not in required:
                members["properties"][name] = _without_null(member)
        return described


class _Member(NamedTuple):
    name: str
    get: Function
    serialize: Function | None
    is_optional: bool


@cache
def _plan(schema: type[ResponseSchema]) -> tuple[list[_Member], Function | None]:
    """Return the prepared steps with which `dump` reads a class: its members, and its snapshot."""
    snapshot_fields = {
        name
        for base in schema.__mro__
        if issubclass(base, Shape) and not issubclass(base, ResponseSchema)
        for name in base.model_fields
    }
    members = []
    for name, field in schema.model_fields.items():
        if name not in snapshot_fields:
            sources = [marker.get for marker in field.metadata if isinstance(marker, Source)]
            get = sources[0] if sources else attrgetter(name)
            serializers = [marker.serialize for marker in field.metadata if isinstance(marker, SerializedBy)]
            serialize = serializers[0] if serializers else _find_serializer(field.annotation)
            members.append(_Member(str(field.alias), get, serialize, not field.is_required()))
    return members, attrgetter(schema.snapshot_source) if schema.snapshot_source else None


def _find_serializer(annotation: Any) -> Function | None:
    if isinstance(annotation, type) and issubclass(annotation, ResponseSchema):
        return annotation.dump
    inner = [dump for dump in map(_find_serializer, get_args(annotation)) if dump is not None]
    if not inner:
        return None
    [serialize] = inner
    if get_origin(annotation) is list:
        return lambda values: [serialize(value) for value in values]
    if get_origin(annotation) is dict:
        return lambda values: {
            key: None if content is None else serialize(content) for key, content in values.items()
        }
    return serialize


def _without_null(member: JsonSchemaValue) -> JsonSchemaValue:
    match member:
        case {"type": [kind, "null"]}:
            return {**member, "type": kind}
        case {"anyOf": [only, {"type": "null"}], **more}:
            return {**only, **more}
    return member


def limits(field: Any) -> Any:
    """Return what documents the limit of a model's text field, such as `Release.title`, in a schema."""
    return Field(json_schema_extra={"maxLength": field.field.max_length})


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
        Field(description="The placeholders without a value in the context; with `unresolved_placeholder`."),
        Source(lambda notice: list(notice.placeholders) or None),
    ] = []
    position: Annotated[
        int,
        Field(description="The offset in characters; with `invisible_characters`."),
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
    names: Annotated[list[str], Field(description="The resources in a lock that cannot be resolved.")] = []
    problems: list[ProblemAnswer] = []
    per_page: Annotated[int, Field(description="The number of items that fit into a page.")] = 0
    limit: Annotated[int, Field(description="The number of events that fit into a page.")] = 0
    action: Annotated[Action | None, Field(description="The permission that the key lacks.")] = None
    oldest: Annotated[int, Field(description="The position after which the log is complete.")] = 0
    newest: Annotated[int, Field(description="The position at which the log ends.")] = 0
    epoch: Annotated[str, Field(description="The current epoch of the log.")] = ""
    request_id: Annotated[str, Field(description="With 500 and above: the id of the request in the log.")] = (
        ""
    )
    detail: Annotated[
        Literal["yours"] | None, Field(description="`yours`: the caller itself has too many streams open.")
    ] = None


@cache
def error_answer() -> type[ResponseSchema]:
    """Return the schema of errors, with the members that applications declare (`EditorApp.error_members`).

    It is made on first use, when all applications have declared theirs.
    """
    bases: tuple[type[ResponseSchema], ...] = (*ERROR_MEMBERS, _ErrorAnswer)
    return create_model("ErrorAnswer", __base__=bases, __doc__=_ErrorAnswer.__doc__)


def _or_null(attribute: str) -> Callable[[Any], Any]:
    """Return a function that reads a text of a row, with null for an empty one."""
    get = attrgetter(attribute)
    return lambda event: get(event) or None


class ResourceReference(ResponseSchema):
    """A reference to a resource."""

    kind: Annotated[
        str,
        Source("resource_kind"),
        Field(json_schema_extra={"enum": [kind.slug for kind in KINDS]}),
    ]
    id: Annotated[str, Source("resource_id")]


class Actor(ResponseSchema):
    """Who made a change, and how; without a name if it was the application itself."""

    id: Annotated[str | None, Source(_or_null("actor"))]
    via: Literal["studio", "api", "python", "schedule", "command", "file"]
    key_prefix: Annotated[str | None, Source(_or_null("key_prefix"))]


class EventAnswer(ResponseSchema):
    """A change. Members that do not apply are null."""

    position: int
    id: Annotated[str, Source(lambda event: str(event.uuid)), Field(json_schema_extra={"format": "uuid"})]
    type: str
    created_at: Time
    workspace_id: Annotated[str | None, Source(_or_null("workspace_id"))]
    resource: Annotated[ResourceReference | None, Source(lambda event: event if event.resource_id else None)]
    version_id: Annotated[str | None, Source(_or_null("version_id"))]
    version_number: int | None
    previous_version_id: Annotated[str | None, Source(_or_null("previous_version_id"))]
    label: Annotated[str | None, Source(_or_null("label"))]
    actor: Annotated[Actor, Source(lambda event: event)]
    detail: JsonObject


class EventPage(ResponseSchema):
    """Events, and the start of the next page."""

    events: list[EventAnswer]
    next: int
    has_more: bool
    epoch: str


_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
"""The encoder, which `CompactJSONRenderer` would create for each answer."""


def render_json(data: Any, media_type: str) -> tuple[bytes, str]:
    """Return the content of an answer in the negotiated media type, and its entity tag, without quotes."""
    text = _COMPACT.encode(data)
    if media_type == CompactJSONRenderer.media_type:
        content = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()
    else:  # with an indentation
        content = CompactJSONRenderer().render(data, media_type)
    return content, _digest(text)


def content_etag(data: Any) -> str:
    """Return an entity tag that is the same for equal answers."""
    return _digest(_COMPACT.encode(data))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_known(if_none_match: str, etag: str) -> bool:
    """Return whether `If-None-Match` names the entity tag of an answer, which has no quotes here."""
    etags = etags_in(if_none_match) if if_none_match else ()
    return f'"{etag}"' in etags or etags == ["*"]


def etags_in(header: str) -> list[str]:
    """Return the quoted entity tags of `If-Match` or `If-None-Match`."""
    # Weak tags count as strong: a proxy that compresses an answer weakens its tag.
    return [etag.removeprefix("W/") for etag in parse_etags(header)]
