"""The form of responses: compact JSON, whatever a project chooses for its own API."""

from __future__ import annotations

from types import SimpleNamespace

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer


class CompactJSONRenderer(JSONRenderer):
    """JSON without white space, its text not escaped, and no NaN in it."""

    compact = True
    ensure_ascii = False
    strict = True


class HeaderNegotiation(DefaultContentNegotiation):
    """Chooses by the header `Accept` alone: no query parameter asks for another format."""

    settings = SimpleNamespace(URL_FORMAT_OVERRIDE=None)  # type: ignore[assignment]  # all that it reads
