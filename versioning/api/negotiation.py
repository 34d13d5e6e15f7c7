"""The format of requests and responses: exact, compact JSON, not the formats of a project's own API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from django.conf import settings
from editor_client.shared import canonical
from rest_framework.exceptions import APIException
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

ANYTHING: Final = "*/*"


class CompactJSONRenderer(JSONRenderer):
    """JSON without white space and without escaped text; refuses NaN."""

    compact = True
    ensure_ascii = False
    strict = True


class HeaderNegotiation(DefaultContentNegotiation):
    """Chooses by the `Accept` header only: no query parameter asks for another format."""

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
    """Parses JSON without losing or guessing anything; see `editor_client.shared.canonical.parse`."""

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
