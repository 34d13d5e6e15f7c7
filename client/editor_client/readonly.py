"""JSON values that nobody can change, because many readers share what is cached."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("an answer is read-only, because others read it too; change a copy of it")


class ReadOnlyDict(dict[str, Any]):
    """An object as the server gave it; `copy.deepcopy` gives a plain one to change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: thawed(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list as the server gave it; `copy.deepcopy` gives a plain one to change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [thawed(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def frozen(value: Any) -> Any:
    """Return an equal JSON value that cannot be changed, at any level."""
    if isinstance(value, dict):
        return ReadOnlyDict((key, frozen(member)) for key, member in value.items())
    if isinstance(value, list):
        return ReadOnlyList(map(frozen, value))
    return value


def thawed(value: Any) -> Any:
    """Return an equal JSON value that the caller may change."""
    if isinstance(value, dict):
        return {key: thawed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [thawed(member) for member in value]
    return value
