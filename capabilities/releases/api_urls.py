"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.releases.api import ReleaseViewSet

_RELEASE: Final = "releases/(?P<id>[^/]+)"
_RELEASES: Final[dict[str, dict[str, Any]]] = {
    "releases": {"get": "list", "post": "create"},
    f"{_RELEASE}/check": {"get": "check"},
    f"{_RELEASE}/publish": {"post": "publish"},
    f"{_RELEASE}/revert": {"post": "revert"},
    _RELEASE: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", ReleaseViewSet.as_view(verbs)) for route, verbs in _RELEASES.items()
]
