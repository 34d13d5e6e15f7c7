"""The OpenAPI document, and a page for reading it.

Both are public, so they are generated once per process and then only sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, include, path, reverse
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.settings import SPECTACULAR_DEFAULTS, patched_settings
from drf_spectacular.views import SpectacularSwaggerView

from versioning import __version__
from versioning.api import errors
from versioning.api.addresses import root
from versioning.api.methods import require_safe
from versioning.api.openapi.examples import add_examples

TAGS = {
    "Run agents": "What applications do: read the published agents and run them.",
    "Edit agents": "Drafts, versions, labels, publishing.",
    "Edit prompt blocks": "Texts that several agents share.",
    "Edit scorers": "What judges the answers of agents.",
    "Review": "Approvals before anything goes live, and comments.",
    "Release": "Publishing together, at a time, or for a share of the requests.",
    "Evaluate": "Datasets, experiments and their results, gates.",
    "Measure": "Usage, cost and feedback.",
    "Follow changes": "The log of changes, as a feed, a stream or webhooks.",
    "Administer": "Workspaces, members, keys and accounts.",
}
"""The jobs by which operations are grouped, in the order of the document."""
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


_described, _texts = MadeOnce(), MadeOnce()


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


def _generated() -> dict[str, Any]:
    # Only the URLs of the API, not those of the project.
    patterns = [path(f"{settings.EDITOR_API_PREFIX}/", include("versioning.api.urls"))]
    with patched_settings(_generator_settings()):
        made: dict[str, Any] = SchemaGenerator(patterns=patterns).get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    add_examples(made)
    return made


def document() -> dict[str, Any]:
    """Return the OpenAPI document of this service; its addresses come after that of the server in it."""
    made: dict[str, Any] = _described.get("document", _generated)
    return {**made, "servers": [{"url": root()}]}


def prepare() -> None:
    """Make the document, which takes a second; call it in the background after the start of a process."""
    _described.get("document", _generated)


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


def _as_json(described: dict[str, Any]) -> bytes:
    return json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()


def _as_yaml(described: dict[str, Any]) -> bytes:
    return bytes(OpenApiYamlRenderer().render(described))  # type: ignore[no-untyped-call]


_RENDER: dict[str, Callable[[dict[str, Any]], bytes]] = {_JSON: _as_json, _YAML: _as_yaml}
