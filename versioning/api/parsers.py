"""Parse request bodies: exact JSON or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from editor_client.shared import canonical
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser


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
