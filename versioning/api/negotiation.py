"""The format of responses: compact JSON, whatever a project uses for its own API."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Final

from rest_framework.negotiation import DefaultContentNegotiation
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
        """Return the renderer and its media type; whoever accepts anything gets the first."""
        if format_suffix is None and request.META.get("HTTP_ACCEPT", ANYTHING) == ANYTHING:
            first = next(iter(renderers))
            return first, first.media_type
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen
