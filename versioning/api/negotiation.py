"""The format of responses: compact JSON, whatever a project uses for its own API."""

from __future__ import annotations

from types import SimpleNamespace

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer


class CompactJSONRenderer(JSONRenderer):
    """JSON without white space and without escaped text; refuses NaN."""

    compact = True
    ensure_ascii = False
    strict = True


class HeaderNegotiation(DefaultContentNegotiation):
    """Chooses by the `Accept` header only: no query parameter asks for another format."""

    settings = SimpleNamespace(URL_FORMAT_OVERRIDE=None)  # type: ignore[assignment]  # all that it reads
