"""What applications register, checked at once: what is found out later breaks a request. Pure."""

from __future__ import annotations


def require_callable(given: object, *, by: str) -> None:
    """Raise `TypeError` for what cannot be called; `by` is what the application has called with it."""
    if not callable(given):
        raise TypeError(f"{by} takes a function, and {given!r} cannot be called")


def require_instance(given: object, *kinds: type, by: str) -> None:
    """Raise `TypeError` for what is none of these."""
    if not isinstance(given, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{by} takes an object of {names}, and {given!r} is none")
