"""Checks objects when applications register them, because a later failure would break a request. Pure."""

from __future__ import annotations


def require_callable(given: object, *, by: str) -> None:
    """Raise `TypeError` if the object is not callable; `by` is the attribute that declares it."""
    if not callable(given):
        raise TypeError(f"{by} takes a function, and {given!r} cannot be called")


def require_instance(given: object, *kinds: type, by: str) -> None:
    """Raise `TypeError` unless the object is an instance of one of these."""
    if not isinstance(given, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{by} takes an object of {names}, and {given!r} is none")
