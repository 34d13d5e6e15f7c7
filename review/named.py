"""The resources that a configuration named at some moment, as stored in a row."""

from __future__ import annotations

from collections.abc import Iterable

from versioning.serving.grants import Named


def written(named: Iterable[Named]) -> str:
    """Return the identities of resources as one text, for a column `named`."""
    return " ".join(sorted(one.identity.hex for one in named))


def together(moments: Iterable[str]) -> str:
    """Return as one text what a configuration named at several moments.

    This admits no replacement with the same id: a replaced resource is never named again.
    """
    return " ".join(sorted({one for named in moments for one in named.split()}))


def are_the_same(named: Iterable[Named], then: str) -> bool:
    """Return whether a configuration names only what it named when it was `written`.

    A resource that was deleted since does not count as replaced.
    """
    known = frozenset(then.split())
    return all(one.identity.hex in known for one in named)
