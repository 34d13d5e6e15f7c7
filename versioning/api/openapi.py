"""The OpenAPI document, generated once per process from the views and schemas, and the page to read it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any, ClassVar, Final, Protocol, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, include, path, reverse
from django.utils.cache import get_conditional_response
from django.utils.text import capfirst
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.settings import SPECTACULAR_DEFAULTS, patched_settings
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from drf_spectacular.views import SpectacularSwaggerView
from editor_client.shared import ids
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema, ModelSchema, NullableSchema, WithDefaultSchema

from versioning import __version__
from versioning.api import errors
from versioning.api.addresses import require_safe, root
from versioning.api.schemas import Nothing, error_answer
from versioning.domain.access import Action

_ADDRESS = "#/components/schemas/{model}"


class PlainJsonSchema(GenerateJsonSchema):
    """Generates JSON Schema in the form that client generators understand best."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Omit the default: it only marks an optional member, which generators would require."""
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        """Write `"type": ["string", "null"]` instead of a union with null."""
        inner = self.generate_inner(schema["schema"])
        if isinstance(inner.get("type"), str) and not inner.keys() & {"enum", "const"}:
            return {**inner, "type": [inner["type"], "null"]}
        return self.get_union_of_schemas([inner, {"type": "null"}])

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Describe the keys separately if all values have one type."""
        described = {
            "type": "object",
            "additionalProperties": self.generate_inner(schema["values_schema"]) or True,
        }
        keys = self.generate_inner(schema["keys_schema"])
        limits = {name: value for name, value in keys.items() if name != "type"}
        return {**described, "propertyNames": limits} if limits else described

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Omit the title, which would repeat the name."""
        described = super().model_schema(schema)
        described.pop("title", None)
        return described

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Omit the titles of members, which would repeat their names."""
        return False


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Describes the classes of `versioning.api.schemas` to drf-spectacular."""

    target_class = BaseModel
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        """Return the name of the component: the name of the class."""
        set_override(self.target, "suppress_collision_warning", True)  # noqa: FBT003  here it is an error
        name = str(self.target.__name__)
        _check(auto_schema, name, _describe_shape(self.target)[name])
        return name

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonSchemaValue:
        """Return the schema of the class, and register the schemas that it refers to."""
        components = _describe_shape(self.target)
        for name, schema in components.items():
            _check(auto_schema, name, schema)
            auto_schema.registry.register_on_missing(_component(name, schema))
        return components[self.target.__name__]


@cache
def _describe_shape(shape: type[BaseModel]) -> dict[str, JsonSchemaValue]:
    """Return the schemas of a class and of all classes it refers to, by name."""
    schema = shape.model_json_schema(
        ref_template=_ADDRESS, schema_generator=PlainJsonSchema, mode="validation"
    )
    return {**schema.pop("$defs", {}), shape.__name__: schema}


def _check(auto_schema: AutoSchema, name: str, schema: JsonSchemaValue) -> None:
    """Raise `ImproperlyConfigured` if two schemas have the same name."""
    component = _component(name, schema)
    registered = auto_schema.registry[component].schema if component in auto_schema.registry else None
    if "__" in name or (registered is not None and registered != schema):
        raise ImproperlyConfigured(f"Two schemas of the API are named {name}: rename one.")


def _component(name: str, schema: JsonSchemaValue) -> ResolvedComponent:
    return ResolvedComponent(  # type: ignore[no-untyped-call]
        name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
    )


_ERRORS = {
    400: "The request is invalid; `issues` names every problem.",
    401: "No credentials, or invalid ones.",
    403: "Readable, but the action is not allowed.",
    404: "Missing, or not readable.",
    405: "Unknown method.",
    406: "Only JSON is served.",
    408: "The body took too long to arrive.",
    409: "The stored state conflicts with the request; `code` identifies the conflict.",
    410: "Events after this position were pruned, since `oldest`; or the log ends before it, at `newest`.",
    412: "`If-Match` does not match.",
    413: "The body is too large.",
    422: "The agent cannot run: no model, or a provider that is unknown or lacks its credentials.",
    424: "With `strict`: a version cannot be resolved. With a lock: its versions in `names` cannot.",
    501: "The editor does not support this.",
    502: "The provider of the model failed.",
    415: "The body is not JSON.",
    429: "Too many requests; try again after `Retry-After` seconds.",
    503: (
        "The database does not answer, the disk is full, or there are too many streams or runs; try again "
        "after `Retry-After` seconds."
    ),
}
_FOR_ALL = (400, 401, 403, 405, 406, 408, 413, 415, 429, 503)
_TAGGED_READS = {"retrieve", "parts", "version"}
_OPERATIONS = {
    "list": "list_{}s",
    "retrieve": "get_{}",
    "parts": "get_{}_parts",
    "destroy": "delete_{}",
    "dependents": "list_{}_dependents",
    "versions": "list_{}_versions",
    "add_version": "create_{}_version",
    "version": "get_{}_version",
    "compare": "compare_{}_versions",
    "activate": "activate_{}_version",
    "restore": "restore_{}_version",
    "destroy_version": "delete_{}_version",
    "labels": "list_{}_labels",
    "set_label": "set_{}_label",
    "remove_label": "delete_{}_label",
    "preview": "preview_{}s",
    "rotate": "rotate_{}_secret",
    "deliveries": "list_{}_deliveries",
    "replay": "replay_{}_delivery",
}
"""The operation ids of actions whose own name is not descriptive."""

_ID = {"type": "string", "minLength": 1, "maxLength": ids.MAX_BYTES, "pattern": ids.PATTERN}
PathParameter = tuple[dict[str, Any], str]
"""The JSON Schema and the description of a part of an address."""
_PATH_PARAMETERS: dict[str, PathParameter] = {
    "id": (_ID, "The id of the {}, percent-encoded."),
    "version": ({"type": "string", "pattern": "^(?!compare$)[^/]+$"}, "The id of the version."),
    "name": ({"type": "string", "maxLength": 64, "pattern": ids.LABEL_PATTERN}, "The name of the label."),
}
_RUNS = {"generate", "stream"}


class DeclaringView(Protocol):
    """The declarations of a view; see `versioning.api.base.EditorViewSet`."""

    action: str
    subject: ClassVar[str]
    job: ClassVar[str]
    requests: ClassVar[Mapping[str, type[BaseModel]]]
    responses: ClassVar[Mapping[str, type[BaseModel]]]
    takes: ClassVar[Mapping[str, str]]
    answers: ClassVar[Mapping[str, Sequence[str]]]
    accepted: ClassVar[frozenset[str]]
    created: ClassVar[frozenset[str]]
    unmade: ClassVar[Mapping[str, type[BaseModel]]]
    guarded: ClassVar[frozenset[str]]
    header_parameters: ClassVar[Mapping[str, tuple[OpenApiParameter, ...]]]
    paths: ClassVar[Mapping[str, PathParameter]]
    errors: ClassVar[Mapping[str, tuple[int, ...]]]

    @classmethod
    def action_of(cls, action: str, method: str) -> Action | None:
        """Return the permission that a key needs for an action; None if it needs none."""
        ...

    @classmethod
    def query_parameters(cls, action: str) -> tuple[OpenApiParameter, ...]: ...


def path_parameter(view: DeclaringView, name: str) -> PathParameter:
    """Return the view's description of a part of its addresses.

    Raises `ImproperlyConfigured` if there is none, because the document needs it.
    """
    try:
        return {**_PATH_PARAMETERS, **view.paths}[name]
    except KeyError:
        raise ImproperlyConfigured(
            f"{type(view).__qualname__} does not describe the part <{name}> of its address: add it to the "
            f'view\'s paths, as paths = {{"{name}": ({{"type": "string"}}, "The id of the …")}}'
        ) from None


class EditorSchema(AutoSchema):
    """Reads the declarations of `EditorViewSet`."""

    @property
    def action(self) -> str:
        return self.editor_view.action

    @property
    def editor_view(self) -> DeclaringView:
        return cast("DeclaringView", self.view)

    def get_operation_id(self) -> str:
        """Return the id of the operation, such as `restore_stored_agent`."""
        name = _OPERATIONS.get(self.action, f"{self.action}_{{}}")
        return name.format(self.editor_view.subject.lower().replace(" ", "_"))

    def get_extensions(self) -> dict[str, Any]:
        """Return the permission that a key needs for this operation."""
        needed = self.editor_view.action_of(self.action, self.method)
        return {} if needed is None else {"x-key-action": needed.value}

    def get_tags(self) -> list[str]:
        """Return the tag: the group of the operation."""
        return [self.editor_view.job or capfirst(f"{self.editor_view.subject}s")]

    def _is_list_view(self, serializer: Any = None) -> bool:
        # A page is an object with a list; the library would describe it as a list of pages.
        return False

    def get_override_parameters(self) -> list[Any]:
        """Return the query parameters, the id, and the relevant headers."""
        view = self.editor_view
        parameters = [*view.query_parameters(self.action), *view.header_parameters.get(self.action, ())]
        for name in re.findall(r"\{(\w+)\}", self.path):
            schema, description = path_parameter(view, name)
            description = description.format(view.subject)
            parameters.append(
                OpenApiParameter(name, schema, OpenApiParameter.PATH, required=True, description=description)
            )
        if self.method == "POST":
            parameters.append(
                OpenApiParameter(
                    "Idempotency-Key",
                    {"type": "string", "pattern": "^[!-~]{1,255}$"},
                    OpenApiParameter.HEADER,
                    description=(
                        "A repeated request with the same key gets the first answer and does nothing."
                    ),
                )
            )
        if self.action in self.editor_view.guarded:
            parameters.append(
                OpenApiParameter(
                    "If-Match", str, OpenApiParameter.HEADER, description="The record's `ETag` must be this."
                )
            )
        return parameters

    def get_request_serializer(self) -> Any:
        """Return the schema of the request body; None if there is none."""
        return self.editor_view.requests.get(self.action)

    def _get_request_body(self, direction: str = "request") -> Any:
        """Return the description of the body; the library describes none of a DELETE."""
        media_type = self.editor_view.takes.get(self.action)
        if media_type is not None:
            return {"content": {media_type: {"schema": {"type": "string"}}}, "required": True}
        shape = self.get_request_serializer()
        if self.method != "DELETE" or shape in {None, Nothing}:
            return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        schema, _ = self._get_request_for_media_type(shape, direction)  # type: ignore[no-untyped-call]
        return {"content": {"application/json": {"schema": schema}}, "required": True}

    def get_response_serializers(self) -> Any:
        """Return the schemas of the success and of every error."""
        view = self.editor_view
        success = 201 if self.action in view.created else 202 if self.action in view.accepted else 200
        if self.action in self.editor_view.answers:
            media_types = self.editor_view.answers[self.action]
            return {(200, media_type): str for media_type in media_types} | self._error_responses()
        answer = self.editor_view.responses.get(self.action)
        if answer is None:
            return self._error_responses()
        described: dict[Any, Any] = {success: OpenApiResponse(answer, str(answer.__doc__).strip())}
        if unmade := self.editor_view.unmade.get(self.action):
            described[200] = OpenApiResponse(unmade, str(unmade.__doc__).strip())
        if self.action in _TAGGED_READS or self.editor_view.subject == "event":
            described[304] = OpenApiResponse(description="Not changed.")
        return described | self._error_responses()

    def _error_responses(self) -> dict[Any, Any]:
        errors = sorted({*_FOR_ALL, *self._own_errors()})
        return {status: OpenApiResponse(error_answer(), _ERRORS[status]) for status in errors}

    def _own_errors(self) -> set[int]:
        errors = set(self.editor_view.errors.get(self.action, ()))
        if "{" in self.path:
            errors.add(404)
        if self.action in self.editor_view.guarded:
            errors.add(412)
        if self.method == "POST":  # `Idempotency-Key`
            errors |= {409, 422}
        if self.editor_view.subject == "event":
            errors.add(410)
        if self.action in _RUNS and self.editor_view.subject == "agent":
            errors |= {422, 424, 502}
        return errors


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "versioning.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key, `ek_…`."}


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "versioning.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "Signed in to the studio.",
        }


EXAMPLES: Final = "examples.json"


def add_examples(document: dict[str, Any]) -> None:
    """Add the recorded examples by operation id: `request`, and `answers` by status, all of them JSON."""
    examples = json.loads((files(__package__) / EXAMPLES).read_text(encoding="utf-8"))
    for methods in document.get("paths", {}).values():
        for operation in methods.values():
            example = examples.get(operation["operationId"], {})
            if "request" in example:
                operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
            for status, answer in example.get("answers", {}).items():
                operation["responses"][status]["content"]["application/json"]["example"] = answer


TAGS = {
    "Run agents": "For applications: read published agents and run them.",
    "Edit agents": "Drafts, versions, labels, publishing.",
    "Edit prompt blocks": "Texts that several agents share.",
    "Edit scorers": "Scorers judge the answers of agents.",
    "Review": "Approvals before anything goes live, and comments.",
    "Release": "Publish together, at a set time, or for a share of the requests.",
    "Evaluate": "Datasets, experiments and their results, gates.",
    "Measure": "Usage, cost and feedback.",
    "Follow changes": "The log of changes, as a feed, a stream or webhooks.",
    "Administer": "Workspaces, members, keys and accounts.",
}
"""The groups of operations, in the order of the document."""
_JSON, _YAML = "json", "yaml"
_TYPES = {
    "application/vnd.oai.openapi+json": _JSON,
    "application/json": _JSON,
    "application/vnd.oai.openapi": _YAML,
    "application/yaml": _YAML,
}


class MadeOnce:
    """Values by key, each made by the first thread that needs it while others wait."""

    def __init__(self) -> None:
        self._contents: dict[Hashable, Any] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the value, calling `make` the first time."""
        if key not in self._contents:
            with self._lock:
                if key not in self._contents:
                    self._contents[key] = make()
        return self._contents[key]


_documents, _texts = MadeOnce(), MadeOnce()


def _generator_settings() -> dict[str, Any]:
    """Return the settings of the generator: its defaults and ours, independent of the project's."""
    own = {
        "TITLE": "The editor",
        "DESCRIPTION": "Versioned agents and prompt blocks: draft, publish, select, restore.",
        "VERSION": __version__,
        "OAS_VERSION": "3.1.0",
        "COMPONENT_SPLIT_PATCH": False,
        "POSTPROCESSING_HOOKS": [],
        "SCHEMA_PATH_PREFIX": f"/{settings.EDITOR_API_PREFIX}",
        "SCHEMA_PATH_PREFIX_TRIM": True,
        "TAGS": [{"name": name, "description": text} for name, text in TAGS.items()],
        "SWAGGER_UI_DIST": "SIDECAR",
        "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    }
    fixed = {name for name in SPECTACULAR_DEFAULTS if name.startswith("SERVE_")} | {"DEFAULT_GENERATOR_CLASS"}
    return {name: value for name, value in SPECTACULAR_DEFAULTS.items() if name not in fixed} | own


def _generate_document() -> dict[str, Any]:
    # Only the URLs of the API, not those of the project.
    patterns = [path(f"{settings.EDITOR_API_PREFIX}/", include("versioning.api.urls"))]
    with patched_settings(_generator_settings()):
        schema: dict[str, Any] = SchemaGenerator(patterns=patterns).get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    add_examples(schema)
    return schema


def document() -> dict[str, Any]:
    """Return the OpenAPI document of this service; its addresses come after that of the server in it."""
    schema: dict[str, Any] = _documents.get("document", _generate_document)
    return {**schema, "servers": [{"url": root()}]}


def prepare() -> None:
    """Make the document, which takes a second; call it in the background after the start of a process."""
    _documents.get("document", _generate_document)


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """Answer with the document as JSON or YAML, or 304 if the client has it already."""
    media_type = request.get_preferred_type(list(_TYPES))
    if media_type is None:
        return errors.error_response(406, "not_acceptable", "The document is JSON or YAML.")
    form = _TYPES[media_type]
    content, etag = _texts.get((form, root()), lambda: _with_etag(_RENDER[form](document())))
    return _answer(request, content, etag, f"{media_type}; charset=utf-8", filename=f"schema.{form}")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Answer with the page that shows the document, or 304 if the client has it already."""
    content, etag = _texts.get(("docs", get_script_prefix()), lambda: _with_etag(_page()))
    answer = _answer(request, content, etag, "text/html; charset=utf-8")
    answer["Content-Security-Policy"] = _texts.get(("policy", get_script_prefix()), lambda: _policy(content))
    return answer


def _answer(
    request: HttpRequest, content: bytes, etag: str, content_type: str, *, filename: str | None = None
) -> HttpResponse:
    # Clients may cache it but must revalidate it, because an upgrade changes it.
    headers = {"ETag": etag, "Cache-Control": "public, no-cache", "Vary": "Accept"}
    if filename is not None:
        headers["Content-Disposition"] = f'inline; filename="{filename}"'
    response = HttpResponse(content, content_type=content_type, headers=headers)
    return get_conditional_response(request, etag=etag, response=response) or response


def _with_etag(content: bytes) -> tuple[bytes, str]:
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _page() -> bytes:
    view = SpectacularSwaggerView.as_view(
        url=reverse("versioning:schema"),
        authentication_classes=(),
        permission_classes=(),
        throttle_classes=(),
        title="The editor",
    )
    # An empty request, because the public document must not depend on the first caller.
    request = HttpRequest()
    request.method = "GET"
    with patched_settings(_generator_settings()):
        return bytes(view(request).render().content)


def _policy(page: bytes) -> str:
    """Return the Content-Security-Policy of the page: files of this server, and the page's own script."""
    inline = {
        tag: "".join(
            f" 'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
            for text in re.findall(rb"<%s>(.*?)</%s>" % (tag, tag), page, re.DOTALL)
        )
        for tag in (b"script", b"style")
    }
    return (
        f"default-src 'none'; script-src 'self'{inline[b'script']}; style-src 'self'{inline[b'style']}; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


_RENDER: dict[str, Callable[[dict[str, Any]], bytes]] = {
    _JSON: lambda described: json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode(),
    _YAML: lambda described: bytes(OpenApiYamlRenderer().render(described)),  # type: ignore[no-untyped-call]
}
