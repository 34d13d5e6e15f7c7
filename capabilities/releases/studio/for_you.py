"""The person's own releases that are not published yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.releases.automatic import automatic_among
from capabilities.releases.models import Release
from capabilities.releases.models.releases import ReleaseQuerySet, State
from capabilities.releases.studio.links import of_release
from capabilities.releases.studio.wording import state_in_words
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.limits import shortened
from versioning.domain.access import Caller, Right
from versioning.models.querysets import within

SHOW: Final = "show"
"""The parameter of the list of releases that says which ones to show."""
MINE: Final = "mine"
QUERY: Final = urlencode({SHOW: MINE})
"""The query of the list for the person's own drafts."""


def own_drafts(caller: Caller, workspace_id: str | None = None) -> ReleaseQuerySet:
    """Return the open releases that the person made, and may still change, newest first."""
    found = Release.objects.filter(within("workspace_id", caller.scope(Right.SAVE)), state=State.DRAFT)
    found = found.filter(created_by__isnull=False, created_by=caller.user_id)
    return found if workspace_id is None else found.filter(workspace=workspace_id)


def count_for(caller: Caller) -> int:
    """Return how many open releases are the person's own."""
    return own_drafts(caller).count()


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the person's open releases."""
    drafts = own_drafts(caller)
    shown = list(drafts.annotate(count=Count("items"))[:SHOWN])
    scheduled = automatic_among(shown)
    yield TaskGroup(
        key="releases",
        urgency=Urgency.STARTED,
        title=_("Your open releases"),
        tasks=[_task(one, is_scheduled=one.pk in scheduled) for one in shown],
        count=len(shown) if len(shown) < SHOWN else drafts.count(),
        address=f"{reverse('studio:releases')}?{QUERY}",
    )


def _task(release: Release, *, is_scheduled: bool) -> Task:
    count: int = getattr(release, "count", 0)
    state = state_in_words(release, is_scheduled=is_scheduled)
    return Task(
        name=release.title,
        address=of_release(release),
        icon="publish",
        chip=(state.word, state.chip),
        said=shortened(release.description) if release.description else "",
        about=ngettext("%(count)s item, created by you", "%(count)s items, created by you", count)
        % {"count": count},
        at=release.created_at,
        workspace_id=release.workspace_id,
        action=_("Open release"),
    )
