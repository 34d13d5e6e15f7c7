"""The home page's section with the schedules of the next seven days, and the person's recent failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from releases.models import Release
from schedules.models import SHOWN_FOR, State
from schedules.studio.calendar import WEEK
from schedules.studio.links import of_again, of_calendar
from schedules.studio.problems import judged, reasons_against
from schedules.studio.wording import chip_of, in_short, why
from schedules.studio.zones import when_element
from schedules.verbs import Schedules
from studio.extensions import HomeSection
from studio.named import names_of
from versioning.domain.access import Caller, Right

SHOWN: Final = 5


def sections(caller: Caller) -> Iterator[HomeSection]:
    """Yield the section for workspaces whose drafts the person may read, if there is anything to show.

    Failed or missed schedules are shown to their authors for some days.
    """
    now = timezone.now()
    soon = Q(state=State.SCHEDULED, run_at__lt=now + WEEK)
    own = Q(author=caller.user_id) if caller.user_id is not None else Q(pk=None)
    failed = own & Q(state__in=(State.FAILED, State.MISSED), executed_at__gte=now - SHOWN_FOR)
    readable = Schedules.current().list(by=caller).filter(soon | failed)
    found = list(readable.order_by("run_at", "pk")[: SHOWN + 1])
    if not found:
        return
    shown = judged(found[:SHOWN])
    names = names_of([(one.kind, one.resource_id) for one in shown if one.kind], caller)
    releases = [one.release_id for one in shown if one.release_id]
    titles = dict(Release.objects.filter(pk__in=releases).values_list("pk", "title")) if releases else {}
    lines = [
        {
            "name": names.get((one.kind, one.resource_id), one.resource_id)
            if one.release_id is None
            else titles.get(one.release_id, ""),
            "what": in_short(one),
            "when": when_element(one),
            "who": one.author_name,
            "address": of_calendar(one.workspace_id),
            "chip": None if one.state == State.SCHEDULED and not one.problems else chip_of(one),
            "why": [one for one in (why(one), *reasons_against(one)) if one],
            "again": of_again(one) if caller.may(Right.PUBLISH, one.workspace_id) else "",
        }
        for one in shown
    ]
    workspaces = sorted({one.workspace_id for one in found})
    context = {
        "lines": lines,
        "calendars": [(one, of_calendar(one)) for one in workspaces],
        "more": len(found) > SHOWN,
    }
    html = render_to_string("schedules/home.html", context)
    yield HomeSection(html=html, stylesheets=["studio/home.css", "schedules/schedules.css"])
