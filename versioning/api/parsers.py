"""Request bodies: exact JSON or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from editor_client.shared import canonical
from rest_framework.parsers import BaseParser


class ExactJSONParser(BaseParser):
    """JSON of which nothing is lost or guessed; see `editor_client.shared.canonical.parse`."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value of the body; raises `Invalid` naming `body`."""
        return canonical.parse(stream.read())
