"""Tags: words for grouping resources, in the member `tags` of the metadata. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared.errors import Invalid, Message

MEMBER: Final = "tags"
MAX_LENGTH: Final = 64
MAX_TAGS: Final = 50
"""The maximum number of tags of a resource; further ones are ignored."""


def problem(text: str) -> str | None:
    """Return why a text is not a valid tag, as the end of a sentence; None for a valid one."""
    if not text.strip():
        return Message("must not be empty")
    if text != text.strip() or not text.isprintable() or "," in text:
        return Message("must not contain commas or invisible characters, or begin or end with white space")
    if len(text) > MAX_LENGTH:
        return Message("must not be longer than {limit} characters", limit=MAX_LENGTH)
    return None


def listed_in(text: str) -> list[str]:
    """Return the words of a comma-separated list, composed and without duplicates; valid tags or not."""
    words = (word.strip() for word in unicodedata.normalize("NFC", text).split(","))
    return list(dict.fromkeys(word for word in words if word))


def asked_for(text: str) -> list[str]:
    """Return the tags to filter by, from the value of the parameter `tag`.

    Raises `Invalid` if it contains none.
    """
    names = listed_in(text)
    if not names:
        raise Invalid.field("tag", "must name a tag")
    return names


def read_tags(metadata: Mapping[str, Any]) -> list[str]:
    """Return the tags in the metadata of a resource, composed and without duplicates, in order."""
    names = metadata.get(MEMBER)
    if not isinstance(names, list):
        return []
    texts = (unicodedata.normalize("NFC", name) for name in names if isinstance(name, str))
    tags = (text for text in texts if problem(text) is None)
    return list(dict.fromkeys(tags))[:MAX_TAGS]
