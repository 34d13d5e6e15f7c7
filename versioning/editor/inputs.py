"""Validate and normalise what the saving verbs are given: fields, ids, metadata, messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from editor_client.shared import canonical, ids
from pydantic.alias_generators import to_camel

from versioning.domain.errors import Invalid, Message

Fields = Mapping[str, Any]

MAX_MESSAGE: Final = 500
MAX_METADATA: Final = 32 * 1024
NOTHING: Final[Fields] = MappingProxyType({})


def merged_fields(fields: Fields | None, named: Fields) -> Fields:
    """Return the snapshot fields of a call by their JSON names, whether given as a mapping or as keywords."""
    return {**(fields or {}), **{to_camel(name): value for name, value in named.items()}}


def id_of_new(given: str | None, changes: Fields) -> str:
    """Return the id of a new resource: the given one, otherwise one derived from the name."""
    return ids.slug(str(changes.get("name", ""))) if given is None else given


def check_id(resource_id: str, *, given: str | None) -> None:
    """Raise `Invalid` for an id that no resource can have; `given` is None if the name made it."""
    problem = ids.problem(resource_id)
    if given is None and not resource_id:
        problem = Message("is required: the name has no letter or digit of a-z, 0-9 to make one of")
    if problem is not None:
        raise Invalid.field("id", problem)


def merged_metadata(current: Fields, changes: Fields | None) -> dict[str, Any]:
    """Return the metadata after an edit: None clears all of it, and a member that is None is removed."""
    members = {} if changes is None else {**current, **changes}
    merged = {key: value for key, value in members.items() if value is not None}
    try:
        canonical.check(merged)
    except ValueError as error:
        raise Invalid.field("metadata", error.args[0]) from None
    if len(canonical.dump(merged).encode()) > MAX_METADATA:
        raise Invalid.field(
            "metadata", Message("must not be larger than {limit} KiB", limit=MAX_METADATA // 1024)
        )
    ordered: dict[str, Any] = canonical.sorted_by_key(merged)
    return ordered


def message_or(default: str, given: str | None) -> str:
    """Return the trimmed message, or the default if it is empty; raises `Invalid` if it is too long."""
    message = (given or "").strip()
    if len(message) > MAX_MESSAGE:
        raise Invalid.field(
            "changeMessage", Message("must not be longer than {limit} characters", limit=MAX_MESSAGE)
        )
    return message or default
