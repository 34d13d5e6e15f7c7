"""From an answer's JSON to its bytes and its entity tag, the same for new answers and cached ones."""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils.http import parse_etags
from editor_client.shared import canonical

from versioning.api.schemas.base import CompactJSONRenderer


def rendered(data: Any, media_type: str) -> tuple[bytes, str]:
    """Return the content of an answer in the negotiated media type, and its entity tag, without quotes."""
    return CompactJSONRenderer().render(data, media_type), content_etag(data)


def content_etag(data: Any) -> str:
    """Return an entity tag that is the same for equal answers."""
    return hashlib.sha256(canonical.dump(data).encode()).hexdigest()[:32]


def is_known(if_none_match: str, etag: str) -> bool:
    """Return whether `If-None-Match` names the entity tag of an answer, which has no quotes here."""
    known = etags_in(if_none_match)
    return f'"{etag}"' in known or known == ["*"]


def etags_in(header: str) -> list[str]:
    """Return the quoted entity tags of `If-Match` or `If-None-Match`."""
    # Weak tags count as strong: a proxy that compresses an answer weakens its tag.
    return [etag.removeprefix("W/") for etag in parse_etags(header)]
