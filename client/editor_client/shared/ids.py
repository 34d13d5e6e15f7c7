"""Ids of resources and names of labels: their rules, and the file name of an id."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from urllib.parse import quote

from editor_client.shared.errors import Message

MAX_BYTES = 200

# Words that follow an id in a route; as a segment of an id they would make a URL ambiguous.
RESERVED_SEGMENTS = frozenset(
    {
        "versions",
        "dependents",
        "export",
        "labels",
        "preview-instructions",
        "unpublish",
        "schedule",
        "clone",
        "generate",
        "stream",
        "favorite",
        "change-request",
    }
)

RESERVED_FOR_NEW = frozenset({"parts", "render"})
"""Words that became reserved later; stored ids with them keep working."""

RESERVED_FOR_SCORERS = frozenset({"try", "agreement"})
"""Words that follow only the ids of scorers."""

_PRINTABLE = (
    r"[^\u0000-\u001f\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff]"
)
_NO_SEGMENT = "|".join([r"\.{0,2}", *sorted(RESERVED_SEGMENTS)])
PATTERN = rf"^(?!\s)(?!(?:.*/)?(?:{_NO_SEGMENT})(?:/|$)){_PRINTABLE}*\S$"
"""The part of the rules for ids that a regular expression can represent; `problem` checks all of them."""

_SIMPLE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MAX_BYTES - 1}}}")
"""Ids of one segment that only a reserved word can make invalid, as nearly all are."""

# Letters and marks without a visible form, although `str.isprintable` accepts them.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
RESERVED_LABELS = frozenset({"latest", "production", "draft", "published"})
LABEL_PATTERN = rf"^(?!(?:[0-9]+|{'|'.join(sorted(RESERVED_LABELS))})$){_LABEL.pattern}$"
"""The names that `label_problem` accepts, as a regular expression."""


def encode(resource_id: str) -> str:
    """Return the id encoded as by JavaScript's `encodeURIComponent`; each id has exactly one encoding."""
    return quote(resource_id, safe="!'()*~")


def problem(resource_id: str, own_words: Collection[str] = ()) -> str | None:
    """Return why the text cannot be an id, or None if it can; `own_words` are reserved only by its kind."""
    reserved = RESERVED_SEGMENTS.union(own_words) if own_words else RESERVED_SEGMENTS
    if _SIMPLE.fullmatch(resource_id) and resource_id not in reserved:
        return None
    if not resource_id.isprintable() or _INVISIBLE.search(resource_id):
        return Message("holds a control character or one that cannot be seen")
    if not 1 <= len(encode(resource_id)) <= MAX_BYTES:
        return Message("must have 1 to {limit} bytes once percent-encoded", limit=MAX_BYTES)
    if resource_id != resource_id.strip():
        return Message("must not begin or end with white space")
    if not unicodedata.is_normalized("NFC", resource_id):
        return Message("must be in Unicode's normal form C")
    for segment in resource_id.split("/"):
        if segment in {"", ".", ".."}:
            return Message("must not have an empty segment, '.' or '..' between its slashes")
        if segment in reserved:
            return Message("must not have the reserved word {word!r} as a segment", word=segment)
    return None


def slug(name: str) -> str:
    """Return the id for a name: lower case, with `-` for other characters than `a-z0-9`; may be empty.

    Composed and decomposed names have the same one.
    """
    return re.sub(r"[^a-z0-9]+", "-", unicodedata.normalize("NFC", name).lower()).strip("-")


def label_problem(name: str) -> str | None:
    """Return why the text cannot name a label, or None if it can."""
    if not _LABEL.fullmatch(name):
        return Message(
            "must be 1 to 64 characters of a-z 0-9 . _ -, beginning and ending with a letter or a digit"
        )
    if name.isdigit():
        return Message("must not be all digits")
    if name in RESERVED_LABELS:
        return Message("{name!r} is reserved", name=name)
    return None
