"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.accounts.administration import api, keys
from versioning.api.base import EditorViewSet

_WORKSPACE: Final = "workspaces/(?P<id>[^/]+)"
_USERNAME: Final = "(?P<username>[^/]+)"
_ROUTES: Final[tuple[tuple[str, type[EditorViewSet], dict[str, Any]], ...]] = (
    ("me", api.MeViewSet, {"get": "retrieve"}),
    ("keys", keys.KeyViewSet, {"get": "list", "post": "create"}),
    ("keys/(?P<prefix>[^/]+)", keys.KeyViewSet, {"delete": "destroy"}),
    ("service-accounts", keys.ServiceAccountViewSet, {"get": "list", "post": "create"}),
    (f"service-accounts/{_USERNAME}", keys.ServiceAccountViewSet, {"delete": "destroy"}),
    (f"people/{_USERNAME}/erase", api.PersonViewSet, {"post": "erase"}),
    ("workspaces", api.WorkspaceViewSet, {"get": "list", "post": "create"}),
    (_WORKSPACE, api.WorkspaceViewSet, {"get": "retrieve", "patch": "update", "delete": "destroy"}),
    (f"{_WORKSPACE}/members", api.MemberViewSet, {"get": "list"}),
    (f"{_WORKSPACE}/members/{_USERNAME}", api.MemberViewSet, {"put": "update", "delete": "destroy"}),
    (f"{_WORKSPACE}/invitations", api.InvitationViewSet, {"get": "list", "post": "create"}),
    (f"{_WORKSPACE}/invitations/(?P<invitation>[^/]+)", api.InvitationViewSet, {"delete": "destroy"}),
)

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", views.as_view(verbs)) for route, views, verbs in _ROUTES
]
