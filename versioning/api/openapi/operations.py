"""Turn the declarations of a view into operations of the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.text import capfirst
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from editor_client.shared import ids
from pydantic import BaseModel

from versioning.api.openapi import components  # noqa: F401  registers its extensions
from versioning.api.schemas.common import Nothing, error_answer
from versioning.domain.access import Action

_ERRORS = {
    400: "The request is invalid; `issues` names every problem.",
    401: "No credentials, or credentials that do not hold.",
    403: "Readable, but the action is not allowed.",
    404: "Missing, or not readable.",
    405: "This method is not known here.",
    406: "Only JSON is served.",
    408: "The body took too long to arrive.",
    409: "What is stored stands in the way: `code` says what.",
    410: "Events after this position were pruned, since `oldest`; or the log ends before it, at `newest`.",
    412: "`If-Match` does not hold.",
    413: "The body is too large.",
    422: "The agent cannot run: no model, or a provider that is unknown or lacks its credentials.",
    424: "With `strict`: a version cannot be resolved. With a lock: what it names cannot; `names` says what.",
    501: "The editor does not do this.",
    502: "The provider of the model failed.",
    415: "The body is not JSON.",
    429: "Too many requests; `Retry-After` says when to go on.",
    503: "The database does not answer, the disk is full, or there are too many streams or runs; "
    "`Retry-After` says when to go on.",
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
        """Return what a key has to be allowed for an action; None for nothing."""
        ...

    @classmethod
    def query_parameters(cls, action: str) -> tuple[OpenApiParameter, ...]:
        """Return the query parameters of an action."""
        ...


def path_parameter(view: DeclaringView, name: str) -> PathParameter:
    """Return what a view says about a part of its addresses.

    Raises `ImproperlyConfigured` if it says nothing: the document could not be made.
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
        """The name of the view's method."""
        return self.editor_view.action

    @property
    def editor_view(self) -> DeclaringView:
        """The view to describe."""
        return cast("DeclaringView", self.view)

    def get_operation_id(self) -> str:
        """Return the id of the operation, such as `restore_stored_agent`."""
        name = _OPERATIONS.get(self.action, f"{self.action}_{{}}")
        return name.format(self.editor_view.subject.lower().replace(" ", "_"))

    def get_extensions(self) -> dict[str, Any]:
        """Return what a key has to be allowed for this operation."""
        needed = self.editor_view.action_of(self.action, self.method)
        return {} if needed is None else {"x-key-action": needed.value}

    def get_tags(self) -> list[str]:
        """Return the tag, by which operations are grouped by what they are for."""
        return [self.editor_view.job or capfirst(f"{self.editor_view.subject}s")]

    def _is_list_view(self, serializer: Any = None) -> bool:
        # A page is an object with a list; the library would describe it as a list of pages.
        return False

    def get_override_parameters(self) -> list[Any]:
        """Return the query parameters, the id, and the relevant headers."""
        view = self.editor_view
        found = [*view.query_parameters(self.action), *view.header_parameters.get(self.action, ())]
        for name in re.findall(r"\{(\w+)\}", self.path):
            schema, description = path_parameter(view, name)
            description = description.format(view.subject)
            found.append(
                OpenApiParameter(name, schema, OpenApiParameter.PATH, required=True, description=description)
            )
        if self.method == "POST":
            found.append(
                OpenApiParameter(
                    "Idempotency-Key",
                    {"type": "string", "pattern": "^[!-~]{1,255}$"},
                    OpenApiParameter.HEADER,
                    description="The same request with the same key gets the same answer, and does nothing.",
                )
            )
        if self.action in self.editor_view.guarded:
            found.append(
                OpenApiParameter(
                    "If-Match", str, OpenApiParameter.HEADER, description="The record's `ETag` must be this."
                )
            )
        return found

    def get_request_serializer(self) -> Any:
        """Return the schema of the request body; None if there is none."""
        return self.editor_view.requests.get(self.action)

    def _get_request_body(self, direction: str = "request") -> Any:
        """Return the description of the body; the library describes none of a DELETE."""
        taken = self.editor_view.takes.get(self.action)
        if taken is not None:
            return {"content": {taken: {"schema": {"type": "string"}}}, "required": True}
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
    """Describes the API key."""

    target_class = "versioning.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API key, `ek_…`."}


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the session of the studio."""

    target_class = "versioning.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the scheme."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "Signed in to the studio.",
        }
