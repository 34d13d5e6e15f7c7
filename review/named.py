"""The resources that a configuration named at some moment, as a row keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from versioning.serving.grants import Named


def written(named: Iterable[Named]) -> str:
    """Return the identities of resources as one text, for a column `named`."""
    return " ".join(sorted(one.identity.hex for one in named))


def together(moments: Iterable[str]) -> str:
    """Return as one text what a configuration named at several moments.

    That lets no namesake in: of what was replaced between two of the moments, nothing is ever named again.
    """
    return " ".join(sorted({one for named in moments for one in named.split()}))


def are_the_same(named: Iterable[Named], then: str) -> bool:
    """Say whether a configuration names nothing now but what it named then, as it was `written` down.

    What was deleted since is not replaced by anything, so it makes no other configuration of it.
    """
    known = frozenset(then.split())
    return all(one.identity.hex in known for one in named)
