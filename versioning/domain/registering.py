"""Checks objects when applications register them, because a later failure would break a request. Pure."""

from __future__ import annotations


def require_callable(value: object, *, by: str) -> None:
    """Raise `TypeError` if the object is not callable; `by` is the attribute that declares it."""
    if not callable(value):
        raise TypeError(f"{by} takes a function, and {value!r} cannot be called")


def require_instance(value: object, *kinds: type, by: str) -> None:
    """Raise `TypeError` unless the object is an instance of one of these."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{by} takes an object of {names}, and {value!r} is none")
