"""Tags: words by which people group resources, the member `tags` of the metadata. Pure.

Metadata belongs to its authors: other values in the list are stored, but are not tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared.errors import Invalid, Message

MEMBER: Final = "tags"
MAX_LENGTH: Final = 64
MAX_TAGS: Final = 50
"""How many tags of a resource count."""


def problem(text: str) -> str | None:
    """Return what keeps a text from being a tag, as the end of a sentence about it; None for a tag."""
    if not text.strip():
        return Message("must not be empty")
    if text != text.strip() or not text.isprintable() or "," in text:
        return Message("must have no commas, no invisible characters, and no white space at its ends")
    if len(text) > MAX_LENGTH:
        return Message("must not be longer than {limit} characters", limit=MAX_LENGTH)
    return None


def listed_in(text: str) -> list[str]:
    """Return the words of a text that lists them with commas, each once; tags or not."""
    words = (word.strip() for word in text.split(","))
    return list(dict.fromkeys(word for word in words if word))


def asked_for(text: str) -> list[str]:
    """Return the tags that a list is to be narrowed to, from the value of the parameter `tag`.

    Raises `Invalid` if it names none.
    """
    names = listed_in(text)
    if not names:
        raise Invalid.field("tag", "must name a tag")
    return names


def tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the tags in the metadata of a resource, each once, in their order."""
    listed = metadata.get(MEMBER)
    if not isinstance(listed, list):
        return []
    found = (one for one in listed if isinstance(one, str) and problem(one) is None)
    return list(dict.fromkeys(found))[:MAX_TAGS]
