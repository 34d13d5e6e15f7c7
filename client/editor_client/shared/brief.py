"""Values whose text form is short, for error messages about them. Pure.

A message would contain the whole wrong value, and thousands of messages can be in memory at once; so a value
shows only its beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared.clipping import clipped

_SHOWN: Final = 60  # characters of a value that a message shows


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= _SHOWN else f"{clipped(self, _SHOWN)!r}…"


class _List(list[Any]):
    def __repr__(self) -> str:
        return f"a list of {len(self)}"


class _Object(dict[str, Any]):
    def __repr__(self) -> str:
        return f"an object of {len(self)}"


def brief(value: Any) -> Any:
    """Return an equal value whose text form is short; anything that is not JSON is returned unchanged."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, Mapping):
        return _Object((brief(name), brief(member)) for name, member in value.items())
    if isinstance(value, list | tuple):
        return _List(map(brief, value))
    return value
