"""The choice: which version the published selector means for a request.

By default it is the active version. A Django application can register a chooser in `AppConfig.ready()`.
Everything that serves published versions asks it: a published read, the plan of a run with all its
sub-agents, the list of agents, and the prompt blocks shown in any of them. Records, exports and comparisons
show what is stored and never ask a chooser; an explicit selector is never overruled.

Nobody asks for rights after the choice: a chosen version is shown to whoever may read what is published.
So a chooser names only what has passed the gate (`versioning.editor.gate`), such as a version with a
released label. While anybody chooses, resolved agents are not cached, and clients cannot evaluate them by
themselves (`versioning.serving.parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from versioning.domain.registering import require_callable
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


class Chooser(Protocol):
    """A function of an application that chooses versions."""

    def __call__(
        self, resources: Sequence[VersionedResource], context: Mapping[str, Any]
    ) -> Mapping[str, Snapshot]:
        """Return, by id, the versions that a request with this context gets instead of the active ones.

        `resources` are published and of one kind, all that the request needs at once, so that a chooser can
        read what it needs in one query. A resource that is not in the result is served as it is.
        """


_choosers: list[Chooser] = []


def register(chooser: Chooser) -> None:
    """Add a chooser; if two choose for the same resource, the one registered first wins."""
    require_callable(chooser, by="choice.register()")
    _choosers.append(chooser)


def unregister(chooser: Chooser) -> None:
    """Stop asking this chooser; raises `ValueError` for one that is not registered."""
    _choosers.remove(chooser)


def has_choosers() -> bool:
    """Say whether anybody chooses: then what is served depends on more than the pointers."""
    return bool(_choosers)


def chosen(resources: Sequence[VersionedResource], context: Mapping[str, Any]) -> dict[str, Snapshot]:
    """Return, by id, the versions that a request gets instead of the active ones."""
    published = [one for one in resources if one.active_id is not None] if _choosers else []
    found: dict[str, Snapshot] = {}
    for chooser in reversed(_choosers if published else []):
        found |= chooser(published, context)
    return found
