"""From an answer's JSON to its bytes and its entity tag, the same for new answers and cached ones."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from django.utils.http import parse_etags

from versioning.api.schemas.base import CompactJSONRenderer

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
"""What `CompactJSONRenderer` makes for each answer."""


def rendered(data: Any, media_type: str) -> tuple[bytes, str]:
    """Return the content of an answer in the negotiated media type, and its entity tag, without quotes."""
    text = _COMPACT.encode(data)
    if media_type == CompactJSONRenderer.media_type:
        content = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()
    else:  # with an indentation
        content = CompactJSONRenderer().render(data, media_type)
    return content, _digest(text)


def content_etag(data: Any) -> str:
    """Return an entity tag that is the same for equal answers."""
    return _digest(_COMPACT.encode(data))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_known(if_none_match: str, etag: str) -> bool:
    """Return whether `If-None-Match` names the entity tag of an answer, which has no quotes here."""
    known = etags_in(if_none_match) if if_none_match else ()
    return f'"{etag}"' in known or known == ["*"]


def etags_in(header: str) -> list[str]:
    """Return the quoted entity tags of `If-Match` or `If-None-Match`."""
    # Weak tags count as strong: a proxy that compresses an answer weakens its tag.
    return [etag.removeprefix("W/") for etag in parse_etags(header)]
