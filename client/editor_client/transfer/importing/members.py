"""The members of an object of a source: each is taken by its name, and whatever no reader takes is a loss.

All formats read objects in this way: a reader states what it knows by taking it. A member that it does not
know, or that has another type than it expects, is named as a loss and kept for `metadata.import`.
"""

from __future__ import annotations

from typing import Any, Final

from editor_client.transfer.importing import credentials
from editor_client.transfer.importing.collection import Collection, shown

UNKNOWN: Final = "unknown_member"


class Members:
    """The members of an object; those of anything else than an object are none, and the value is left."""

    def __init__(self, value: Any, collection: Collection, where: str) -> None:
        self.collection = collection
        self.where = where
        self._left: dict[str, Any] = {}
        if isinstance(value, dict):
            self._left = dict(value)
        elif value is not None:
            self._left = {"": value}

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def names(self) -> list[str]:
        """Return the names of the members that are left."""
        return list(self._left)

    def peek(self, name: str) -> Any:
        """Return a member without taking it; None if there is none."""
        return self._left.get(name)

    def take(self, name: str, default: Any = None) -> Any:
        """Take a member of any type."""
        return self._left.pop(name, default)

    def skip(self, *names: str) -> None:
        """Take members that say nothing about a prompt, such as the time of an answer."""
        for name in names:
            self._left.pop(name, None)

    def text(self, name: str) -> str:
        """Take a text; anything else is left, and an empty text returned."""
        value = self._left.get(name)
        if not isinstance(value, str):
            return ""
        return str(self._left.pop(name))

    def mapping(self, name: str) -> dict[str, Any]:
        """Take an object; anything else is left, and an empty one returned."""
        if not isinstance(self._left.get(name), dict):
            return {}
        value: dict[str, Any] = self._left.pop(name)
        return value

    def members(self, name: str) -> Members:
        """Take the members of an object; anything else is left here."""
        return Members(self.mapping(name), self.collection, f"{self.where}, {name}")

    def listed(self, name: str) -> list[Any]:
        """Take a list; anything else is left, and an empty one returned."""
        if not isinstance(self._left.get(name), list):
            return []
        value: list[Any] = self._left.pop(name)
        return value

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Take the objects in a list; what else is in it is left."""
        listed = self.listed(name)
        found = [entry for entry in listed if isinstance(entry, dict)]
        if others := [entry for entry in listed if not isinstance(entry, dict)]:
            self._left[name] = others
        return found

    def left(self, *, code: str = UNKNOWN, by_name: bool = True) -> dict[str, Any]:
        """Return what was not taken, without credentials, and note each member as a loss.

        `by_name` is whether the names of members tell credentials, as `credentials.without` has it.
        """
        given = {name: value for name, value in self._left.items() if value is not None}
        kept: dict[str, Any] = credentials.without(given, self.collection, self.where, by_name=by_name)
        for name, value in kept.items():
            what = shown(name) if name else f"{shown(value)}, which is not what is expected here,"
            message = f"The editor has no place for {what}: metadata.import has it."
            self.collection.lose(code, self.where, message)
        self._left = {}
        return {name or "value": value for name, value in kept.items()}


def nested(**parts: Any) -> dict[str, Any]:
    """Return those parts of `metadata.import` that are not empty."""
    return {name: part for name, part in parts.items() if part}
