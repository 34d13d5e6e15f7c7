"""The base of all API views: declared parameters, requests and responses; entity tags."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import Any, ClassVar, cast
from urllib.parse import unquote_plus, unquote_to_bytes

from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from editor_client.shared import canonical, ids
from pydantic import BaseModel
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.schemas.inspectors import ViewInspector
from rest_framework.viewsets import ViewSet

from versioning.api import addresses, errors, idempotency, parameters
from versioning.api.authentication import (
    RATE_LIMIT,
    ApiKeyAuthentication,
    CallerThrottle,
    PersonAuthentication,
    confirm,
)
from versioning.api.cached_answers import (
    Make,
    Template,
    depends_on,
    evaluate_in_context,
    leave_template,
)
from versioning.api.middleware import set_private
from versioning.api.openapi import EditorSchema, PathParameter
from versioning.api.parameters import Page, PageTooLarge, View, fitting
from versioning.api.schemas import (
    CompactJSONRenderer,
    ExactJSONParser,
    HeaderNegotiation,
    Json,
    RequestSchema,
    ResponseSchema,
    content_etag,
    etags_in,
    is_known,
)
from versioning.domain.access import Action, Caller, Via
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.models import caller_for, replica
from versioning.serving import replica_reads
from versioning.serving.followed_keys import RIGHTS_HEADER, rights_name
from versioning.serving.followed_log import Dependency

Parameters = tuple[OpenApiParameter, ...]


def finish_response(request: Request, answer: Response) -> Response:
    """Add the headers of every answer: private caching, and the rate limit.

    Answers to reads also name the rights of the key; clients cache by them.
    """
    set_private(answer)
    caller = getattr(request, "_auth", None)  # `request.auth` would authenticate a refused request again
    if request.method in SAFE_METHODS and isinstance(caller, Caller) and (name := rights_name(caller)):
        answer[RIGHTS_HEADER] = name
    for name, value in request.META.get(RATE_LIMIT, {}).items():
        answer[name] = value
    return answer


class EditorViewSet(ViewSet):
    """A view that declares query parameters, requests and responses for each action.

    The declarations validate requests and serialise responses, and appear in the OpenAPI document.
    """

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    # All set here: a project's REST_FRAMEWORK setting is for its own API.
    authentication_classes = [ApiKeyAuthentication, PersonAuthentication]
    permission_classes = [IsAuthenticated]
    throttle_classes = [CallerThrottle]
    parser_classes = [ExactJSONParser]
    renderer_classes = [CompactJSONRenderer]
    content_negotiation_class: type[BaseContentNegotiation] = HeaderNegotiation
    metadata_class = None
    versioning_class = None
    schema: ViewInspector | None = EditorSchema()

    subject: ClassVar[str]
    job: ClassVar[str] = ""
    """The group of the operations in the OpenAPI document; by default the subject."""
    actions: ClassVar[Mapping[str, Action | None]] = {}
    """The permission that an API key needs, by action; by default `read` for a GET and `write` for other
    methods. None: no permission.
    """
    query: ClassVar[Mapping[str, Parameters]] = {}
    header_parameters: ClassVar[Mapping[str, Parameters]] = {}
    """The headers that an action reads in addition to the common ones."""
    requests: ClassVar[Mapping[str, type[RequestSchema]]] = {}
    responses: ClassVar[Mapping[str, type[BaseModel]]] = {}
    takes: ClassVar[Mapping[str, str]] = {}
    """The actions whose request is a file, each with the media type that is documented."""
    answers: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The actions that do not answer with JSON, each with the media types of its answers."""
    created: ClassVar[frozenset[str]] = frozenset()
    """The actions that answer 201."""
    unmade: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """The answer with 200 of those that may create nothing, by action."""
    accepted: ClassVar[frozenset[str]] = frozenset()
    """The actions that answer 202 because their work continues in the background."""
    guarded: ClassVar[frozenset[str]] = frozenset()
    """The actions that check `If-Match`."""
    errors: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """The errors of single actions in addition to the common ones."""
    paths: ClassVar[Mapping[str, PathParameter]] = {}
    """The parts of the URLs that have an unusual meaning."""
    is_dry_run = False
    """Set by a handler that stores nothing this time; no `Idempotency-Key` keeps its answer."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the method, then authenticate, then check the limits of the key and the query parameters."""
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request, *args, **kwargs)
        super().initial(request, *args, **kwargs)
        if any("\x00" in part for part in kwargs.values() if isinstance(part, str)):
            raise NotFound  # no stored text contains one
        needed = self.action_of(self.action, request.method or "")
        if needed is not None:
            self.caller.require_action(needed)
        if needed is Action.ADMIN and isinstance(request.successful_authenticator, PersonAuthentication):
            confirm(request._request)  # noqa: SLF001  what Django's sessions know
        is_read = needed is Action.READ and request.method == "GET" and self.caller.key_prefix is not None
        if is_read and replica.is_configured():  # the rights of the caller have been read by now
            handler = self.get  # type: ignore[has-type]
            self.get = lambda *args, **kwargs: replica_reads.read(partial(handler, *args, **kwargs))
        raw = request.META.get("QUERY_STRING", "")
        check_query(request.query_params, self.query_parameters(self.action), raw=raw)
        if parameters.CONTEXT not in self.query.get(self.action, ()):
            parameters.context(request.query_params)  # must be valid although nothing depends on it
        if request.method == "POST":
            idempotency.begin(request, self.caller, needed)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate; the user of a test's `force_authenticate()` is the caller."""
        super().perform_authentication(request)
        if request.auth is None and isinstance(request.user, get_user_model()):
            request.auth = caller_for(request.user, Via.API)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request; a repeated POST with an `Idempotency-Key` gets the first answer."""
        if request.method != "POST":
            return super().dispatch(request, *args, **kwargs)
        try:
            answer = super().dispatch(request, *args, **kwargs)
        except idempotency.Repeated as repeated:
            first: Any = idempotency.again(repeated.answer)
            answer = self.finalize_response(self.request, first, *args, **kwargs)
        except BaseException:
            idempotency.end(self.request, HttpResponse(status=500))
            raise
        if idempotency.has_begun(self.request):
            if isinstance(answer, Response):
                answer.render()
            made_nothing = self.is_dry_run or (
                self.action in self.created and answer.status_code == HTTPStatus.OK
            )
            idempotency.end(self.request, answer, is_kept=not made_nothing)
        return answer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Return this API's exception handler, not that of the project's own API."""
        return errors.exception_handler

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Return the answer with its content negotiated; only the caller may cache it."""
        return finish_response(request, super().finalize_response(request, response, *args, **kwargs))

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Return 405 for the method, or 404 if the id in the address is impossible."""
        if ids.problem(kwargs.get("id", "any")):
            raise NotFound
        return super().http_method_not_allowed(request, *args, **kwargs)

    @classmethod
    def action_of(cls, action: str, method: str) -> Action | None:
        """Return the permission that a key needs for an action; None if it needs none."""
        usual = Action.READ if method.upper() in SAFE_METHODS else Action.WRITE
        return cls.actions.get(action, usual)

    @classmethod
    def query_parameters(cls, action: str) -> Parameters:
        """Return the query parameters of an action; all of them accept `requestContext`."""
        own = cls.query.get(action, ())
        return own if parameters.CONTEXT in own else (*own, parameters.UNUSED_CONTEXT)

    @property
    def caller(self) -> Caller:
        caller: Caller = self.request.auth  # type: ignore[assignment]
        return caller

    def dump(self, source: Any) -> Json:
        """Return the body of the response, serialised by the schema of the action."""
        schema = cast("type[ResponseSchema]", self.responses[self.action])
        return schema.dump(source)

    def respond_created(self, source: Any, address: str) -> Response:
        """Return the 201 answer about a new object, with its address relative to the API's root."""
        location = addresses.location(address)
        return Response(self.dump(source), status=201, headers={"Location": location})

    def about(self, resource_id: str, make: Make) -> Response:
        """Return the answer about a resource; `make` can answer the same request for other resources."""
        data = make(resource_id, self.caller, self.depends_on)
        leave_template(self.request._request, Template(resource_id, make, self.request.accepted_media_type))  # noqa: SLF001
        return with_etag(self.request, data)

    def in_context(self, resource_id: str, make: Make) -> Response | None:
        """Return the answer about a resource in the request's context, evaluated from what `make` returns.

        Returns None, and raises, as `evaluate_in_context` does.
        """
        request = self.request._request  # noqa: SLF001  what the middleware sees
        template = Template(resource_id, make, self.request.accepted_media_type, is_in_parts=True)
        parts = partial(make, resource_id, self.caller, self.depends_on)
        answer = evaluate_in_context(request, parts, template)
        return None if answer is None else with_etag(self.request, answer)

    def page_of(self, page: Page, rows: QuerySet[Any], view: View = list, **more: Any) -> Response:
        """Return the answer with a page of a list, built as in `Page.of`; raises `PageTooLarge`."""
        listing = page.of(rows, view, **more)
        return self.limit_page(Response(self.dump(listing)), is_cut=listing.is_cut)

    def limit_page(
        self,
        answer: Response,
        parameter: str = "perPage",
        *,
        is_cut: bool = False,
        together: Callable[[Json], object] = id,
    ) -> Response:
        """Return the answer with a page of a list, serialised to bytes.

        Raises `PageTooLarge`, naming the parameter for fewer items, if the items are too large or the page
        was cut. Consecutive items with the same value of `together` are never split.
        """
        if answer.data is None:  # 304
            return answer
        renderer = self.request.accepted_renderer
        answer.accepted_renderer, answer.accepted_media_type = renderer, self.request.accepted_media_type
        answer.renderer_context = self.get_renderer_context()  # type: ignore[attr-defined]
        answer.render()
        [items] = [member for member in answer.data.values() if isinstance(member, list)]
        if is_cut or len(answer.content) > parameters.MAX_BYTES:
            parts = [list(part) for _, part in groupby(items, together)]
            sizes = [sum(len(renderer.render(item)) + len(",") for item in part) for part in parts]
            fits = fitting(sizes, len(answer.content) - sum(sizes))
            if is_cut or fits < len(parts):
                raise PageTooLarge(parameter, sum(map(len, parts[:fits])))
        return answer

    def depends_on(self, *dependencies: Dependency, is_personal: bool = False) -> None:
        """Declare the dependencies of the answer before reading them; see `versioning.api.cached_answers`."""
        request = self.request._request  # noqa: SLF001  what the middleware sees
        depends_on(request, self.caller, *dependencies, is_personal=is_personal)


def with_etag(request: Request, data: Any, *, etag: str | None = None, **response: Any) -> Response:
    """Return an answer with its `ETag`, or 304 to a read if the caller already has it."""
    etag = etag or content_etag(data)
    if request.method in SAFE_METHODS and is_known(request.headers.get("If-None-Match", ""), etag):
        return Response(status=304, headers={"ETag": f'"{etag}"'})
    answer = Response(data, **response)
    answer["ETag"] = f'"{etag}"'
    return answer


def expected_etags(request: Request) -> frozenset[str] | None:
    """Return the entity tags in `If-Match`; None if there is no such header."""
    header = request.headers.get("If-Match")
    if header is None:
        return None
    return frozenset(etag.strip('"').partition("-")[0] for etag in etags_in(header))


def check_query(query: QueryDict, declared: Parameters, *, raw: str = "") -> None:
    """Raise `Invalid` for parameters that are unknown, repeated, empty, or have a wrong value.

    Neither Django REST framework nor django-filter refuses unknown ones. `raw` is the query as it was sent,
    because Django silently replaces invalid UTF-8 in it.
    """
    by_name = {parameter.name: parameter for parameter in declared}
    issues = [
        Issue(unquote_plus(pair.partition("=")[0]), "is not UTF-8")
        for pair in raw.split("&")
        if not canonical.is_utf8(unquote_to_bytes(pair))
    ]
    for name, values in query.lists():
        if name not in by_name:
            issues.append(Issue(name, "is not a parameter of this address"))
        elif len(values) > 1 and not parameters.is_repeated(by_name[name]):
            issues.append(Issue(name, "is given more than once"))
        elif error := next(filter(None, (_error(by_name[name], str(value)) for value in values)), None):
            issues.append(Issue(name, error))
    missing = [name for name, parameter in by_name.items() if parameter.required and name not in query]
    issues += [Issue(name, "is required") for name in missing]
    if issues:
        raise Invalid(issues)


def _error(parameter: OpenApiParameter, value: str) -> str | None:
    if parameter.enum and value not in parameter.enum:
        return "must be one of " + ", ".join(repr(allowed) for allowed in parameter.enum)
    schema = cast("Mapping[str, Any]", parameter.type)
    schema = schema.get("items", schema)
    if not value and schema.get("minLength", 1):
        return "must not be empty"
    if len(value) > schema.get("maxLength", math.inf):
        return f"must not be longer than {schema['maxLength']} characters"
    return "contains a NUL character" if "\x00" in value else None
