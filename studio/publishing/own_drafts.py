"""The person's own drafts that wait to be published, among what is for them to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from studio.extensions import Extension
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.kinds import KINDS, KINDS_BY_SLUG
from studio.resources.summaries import Summary
from studio.versions import message_of
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.editor.catalog import Waiting, Waits, Whose


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the drafts whose newest version the person saved, newest first."""
    if caller.username is None or caller.scope(Right.SAVE) == frozenset():
        return
    waiting = Waiting([kind.catalog(caller) for kind in KINDS], Whose.MINE, get_editor().cache)
    shown = waiting[0:SHOWN]
    yield TaskGroup(
        key="drafts",
        urgency=Urgency.STARTED,
        title=_("Your drafts"),
        tasks=[_task(one) for one in shown],
        count=len(shown) if len(shown) < SHOWN else len(waiting),
        address=f"{reverse('studio:waiting')}?{urlencode({'whose': Whose.MINE.value})}",
    )


def _task(one: Waits) -> Task:
    kind = KINDS_BY_SLUG[one.catalog.collection.kind.slug]
    summary, version = Summary.of(one.entry), one.entry.version
    return Task(
        name=summary.name,
        address=kind.address("change", summary.resource_id),
        icon=kind.icon,
        chip=(summary.state.word, summary.state.chip),
        said=message_of(version) if version else "",
        about=_("saved by you"),
        at=version.created_at if version else None,
        workspace_id=summary.workspace_id,
        action=_("See what would change"),
        action_address=kind.address("compare", summary.resource_id),
    )


STUDIO: Final = Extension(for_you=for_you)
