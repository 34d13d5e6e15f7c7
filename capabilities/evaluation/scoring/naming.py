"""What names a scorer besides agents: other parts of evaluation say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from versioning.domain.access import Caller
from versioning.domain.registering import require_callable


class Dependent(NamedTuple):
    """What names a scorer."""

    id: str
    name: str
    kind: str


Naming = Callable[[str, Caller], Iterable[Dependent]]
"""Returns what names the scorer of this id, as far as the caller may read it."""
_registered: Final[list[Naming]] = []


def register(naming: Naming) -> None:
    """Add a function that is asked for what names a scorer."""
    require_callable(naming, by="capabilities.evaluation.scoring.naming.register()")
    _registered.append(naming)


def naming(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield what names a scorer besides agents."""
    for one in _registered:
        yield from one(scorer_id, by)
