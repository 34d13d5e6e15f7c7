"""The rules of a save: edits, differences, ids, metadata, messages; references of a configuration. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from editor_client.shared import canonical, ids
from editor_client.shared.errors import Invalid, Message
from editor_client.shared.text_keys import caseless

Config = dict[str, Any]

MAX_MESSAGE: Final = 500
MAX_METADATA: Final = 32 * 1024
INITIAL_MESSAGE: Final = "Initial version"
EDIT_MESSAGE: Final = "Auto-saved after edit"

_ABSENT: Final = object()
"""Stands for a field that a configuration lacks."""


def merge_changes(current: Config, changes: Mapping[str, Any], clearable: Collection[str]) -> Config:
    """Return the configuration with the changes applied; null removes a clearable field."""
    fields = {**current, **changes}
    return {name: value for name, value in fields.items() if value is not None or name not in clearable}


def changed_fields(names: Iterable[str], before: Config, after: Config) -> list[str]:
    """Return those of the fields in which two configurations differ."""
    changed = []
    for name in names:
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if old is not new and (old is _ABSENT or new is _ABSENT or not canonical.same(old, new)):
            changed.append(name)
    return changed


def id_of_new(requested_id: str | None, fields: Mapping[str, Any]) -> str:
    """Return the id of a new resource: the given one, otherwise one derived from the name."""
    return ids.slug(str(fields.get("name", ""))) if requested_id is None else requested_id


def check_id(resource_id: str, *, given: str | None, own_words: Collection[str] = ()) -> None:
    """Raise `Invalid` for an invalid id; `given` is None if it was derived from the name.

    `own_words` are reserved by the kind of the resource alone.
    """
    problem = ids.problem(resource_id, ids.RESERVED_FOR_NEW.union(own_words))
    if given is None and not resource_id:
        problem = Message("is required: the name has no letter a-z or digit to make one from")
    elif given is None and len(ids.encode(resource_id)) > ids.MAX_BYTES:
        problem = Message("cannot be generated, because the name is too long: enter a shorter id")
    if problem is not None:
        raise Invalid.field("id", problem)


def merged_metadata(current: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the metadata after an edit: None clears all of it, and a member set to None is removed."""
    members = {} if changes is None else {**current, **changes}
    metadata = {key: value for key, value in members.items() if value is not None}
    try:
        canonical.check(metadata)
    except ValueError as error:
        raise Invalid.field("metadata", error.args[0]) from None
    if len(canonical.dump(metadata).encode()) > MAX_METADATA:
        message = Message("must not be larger than {limit} KiB", limit=MAX_METADATA // 1024)
        raise Invalid.field("metadata", message)
    ordered: dict[str, Any] = canonical.sorted_by_key(metadata)
    return ordered


def message_or(default: str, change_message: str | None) -> str:
    """Return the trimmed message, or the default if it is empty; raises `Invalid` if it is too long."""
    message = (change_message or "").strip()
    if len(message) > MAX_MESSAGE:
        too_long = Message("must not be longer than {limit} characters", limit=MAX_MESSAGE)
        raise Invalid.field("changeMessage", too_long)
    return message or default


def referenced_agents(config: Config) -> list[tuple[str, str]]:
    """Return (field, id) for every sub-agent, conditional variants included."""
    return keys(config, "agents")


def keys(config: Config, field: str) -> list[tuple[str, str]]:
    """Return (place, key) for every key of a field that is an object, or a list of variants of one."""
    value = config.get(field)
    if not value:
        return []
    if not isinstance(value, list):
        return [(f"{field}.{key}", key) for key in value]
    variants = enumerate(variant["value"] for variant in value)
    return [(f"{field}.{position}.value.{key}", key) for position, value in variants for key in value]


class Searchable(NamedTuple):
    """The texts that a search reads."""

    id: str
    name: str
    description: str
    text: str
    """The content of the text field. A referenced prompt block is represented by its id."""


def searchable(resource_id: str, config: Config, text_field: str) -> Searchable:
    """Return the searched texts of a configuration; `text_field` is that of its kind."""
    text = config.get(text_field, "")
    if isinstance(text, list):
        text = "\n".join(block.get("content", block.get("id", "")) for block in text)
    return Searchable(resource_id, *map(str, (config.get("name", ""), config.get("description", ""), text)))


def searchable_text(resource_id: str, config: Config, text_field: str) -> str:
    """Return the key of the searched texts, which is searched for the key of a text."""
    return caseless("\n".join(searchable(resource_id, config, text_field)))
