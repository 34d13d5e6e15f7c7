"""The addresses of the API in its own answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import get_script_prefix


def root() -> str:
    """Return where the API is on this host: the path below which the project is served, and the prefix."""
    return f"{get_script_prefix()}{settings.EDITOR_API_PREFIX}"


def location(path: str) -> str:
    """Return the address of a path below the root of the API, such as `webhooks/1`, for `Location`."""
    return f"{root()}/{path}"


def has_encoded_end(environ: Mapping[str, Any], word: str) -> bool:
    """Return whether a path ends with the word after an encoded slash, so that it is the end of an id.

    False where the server does not pass on the path as it was sent.
    """
    sent = str(environ.get("REQUEST_URI") or environ.get("RAW_URI") or "").partition("?")[0]
    return sent.lower().endswith(f"%2f{word}")
