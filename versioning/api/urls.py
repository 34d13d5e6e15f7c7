"""Every route of the API.

An id may contain slashes, and a server may pass `%2F` decoded; no id has a segment that is a word of the
routes, so everything before such a word is the id. The order matters: the longer routes come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path, reverse
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt

from versioning import capabilities
from versioning.api import errors, health, openapi
from versioning.api.agents import PreviewViewSet, ServedAgentViewSet
from versioning.api.base import EditorViewSet
from versioning.api.events import EventViewSet
from versioning.api.locks import LockViewSet
from versioning.api.openapi import path_parameter
from versioning.api.parameters import filters_for
from versioning.api.providers import ProviderViewSet
from versioning.api.runs import RunViewSet
from versioning.api.versions import OverridableViewSet, ResourceViewSet, request_schemas, response_schemas
from versioning.domain.kinds import KINDS, ResourceKind
from versioning.models.versioned import find_model

# Any character, even a line feed: an invalid id is answered as missing, not as another id.
ID = "(?P<id>(?s:.+))"
VERSION = "(?P<version>[^/]+)"
LABEL = "(?P<name>(?s:.+))"


def make_view(kind: ResourceKind) -> type[ResourceViewSet]:
    singular, plural = kind.stored_names
    default = OverridableViewSet if kind.in_code else ResourceViewSet
    base: type[ResourceViewSet] = import_string(kind.views) if kind.views else default
    members = {
        "__doc__": f"{plural.capitalize()}.",
        "job": f"Edit {plural.removeprefix('stored ')}",
        "subject": singular,
        "kind": kind,
        "filters": filters_for(kind),
        "requests": {**request_schemas(kind), **base.own_requests},
        "responses": {**response_schemas(kind), **base.own_responses},
    }
    return type(f"{kind.schema_name}ViewSet", (base,), members)


def routes(views: type[ResourceViewSet]) -> list[URLPattern]:
    kind = views.kind
    table: list[tuple[str, Any]] = [
        ("", {"get": "list", "post": "create"}),
        (f"/{ID}/versions/compare", {"get": "compare"}),
        (f"/{ID}/versions/{VERSION}/activate", {"post": "activate"}),
        (f"/{ID}/versions/{VERSION}/restore", {"post": "restore"}),
        (f"/{ID}/versions/{VERSION}", {"get": "version", "delete": "destroy_version"}),
        (f"/{ID}/versions", {"get": "versions", "post": "add_version"}),
        (f"/{ID}/labels/{LABEL}", {"put": "set_label", "delete": "remove_label"}),
        (f"/{ID}/labels", {"get": "labels"}),
        *([(f"/{ID}/dependents", {"get": "dependents"})] if find_model(kind).referred_by else ()),
        (f"/{ID}/export", {"post": "export"}),
        (f"/{ID}/clone", {"post": "clone"}),
        (f"/{ID}/unpublish", {"post": "unpublish"}),
        (f"/{ID}/favorite", {"put": "favorite", "delete": "unfavorite"}),
        *((f"/{ID}/{route}", verbs) for route, verbs in views.own_routes.items()),
        (f"/{ID}", {"get": "retrieve", "patch": "update", "delete": "destroy"}),
    ]
    return [re_path(rf"^stored/{kind.path}{route}\Z", views.as_view(verbs)) for route, verbs in table]


def added_routes() -> Iterator[URLPattern]:
    """Yield the routes that applications add.

    Raises `ImproperlyConfigured` if a view does not describe a part of its route. It also raises for a hidden
    route: every address below a collection belongs to a resource, whose id may contain a slash.
    """
    collections = tuple(f"{path}/" for path in ("agents", *(f"stored/{kind.path}" for kind in KINDS)))
    for route in capabilities.routes():
        address = str(route.pattern).removeprefix("^")
        if address.startswith(collections):
            raise ImproperlyConfigured(f"The route {address!r} is hidden by the addresses of resources.")
        answer: Any = getattr(route, "callback", None)
        if issubclass(getattr(answer, "cls", object), EditorViewSet):
            for name in route.pattern.regex.groupindex:
                path_parameter(answer.cls(**answer.initkwargs), name)
        yield route


@csrf_exempt
def missing(request: HttpRequest, **outer: Any) -> HttpResponse:
    """Answer 404 for an unknown address below the API's root.

    Below a collection every address counts as an id, even one with a slash.
    """
    match = request.resolver_match
    root = reverse(f"{match.namespace if match else app_name}:schema", kwargs=outer).removesuffix("schema")
    rest = request.path.removeprefix(root)
    if rest.startswith(_collections()) and rest not in _collections():
        return errors.not_found(request)
    return errors.no_such_address(capabilities.left_out(rest))


@cache
def _collections() -> tuple[str, ...]:
    """Return the prefixes of all addresses that contain an id."""
    patterns = (str(route.pattern).removeprefix("^") for route in urlpatterns)
    return tuple({pattern.partition("(?P<")[0] for pattern in patterns if "/(?P<" in pattern})


missing.allowed_methods = ()  # type: ignore[attr-defined]

app_name = "versioning"

urlpatterns = [
    re_path(r"^stored/agents/preview-instructions\Z", PreviewViewSet.as_view({"post": "preview"})),
    *(route for views in map(make_view, KINDS) for route in routes(views)),
    re_path(r"^agents\Z", ServedAgentViewSet.as_view({"get": "list"})),
    re_path(rf"^agents/{ID}/generate\Z", RunViewSet.as_view({"post": "generate"})),
    re_path(rf"^agents/{ID}/stream\Z", RunViewSet.as_view({"post": "stream"})),
    re_path(rf"^agents/{ID}/parts\Z", ServedAgentViewSet.as_view({"get": "parts"})),
    re_path(rf"^agents/{ID}\Z", ServedAgentViewSet.as_view({"get": "retrieve"})),
    re_path(r"^events\Z", EventViewSet.as_view({"get": "list"})),
    re_path(r"^locks\Z", LockViewSet.as_view({"post": "create"})),
    re_path(r"^providers\Z", ProviderViewSet.as_view({"get": "list"})),
    *added_routes(),
    path("schema", openapi.schema, name="schema"),
    path("docs", openapi.docs, name="docs"),
    path("healthz", health.alive),
    path("readyz", health.ready),
    # Without this, a project's own page would answer for missing addresses here.
    re_path("", missing),
]
