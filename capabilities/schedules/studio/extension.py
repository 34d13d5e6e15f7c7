"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.schedules.studio import for_you, links, lists, panels, plan
from studio.extensions import Extension, WorkspaceTab
from studio.navigation import MainPage
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="capabilities.schedules.studio.urls",
    own_urls="capabilities.schedules.studio.own_urls",
    resource_urls="capabilities.schedules.studio.urls.resource_urls",
    pages=[
        MainPage(
            page="calendar",
            title=_("Calendar"),
            place=30,
            sections=["calendar/", "schedules/"],
            waiting=for_you.count_for,
        )
    ],
    tabs=[WorkspaceTab(page="calendar", title=_("Calendar"), right=Right.READ_DRAFTS, place=30)],
    panels=panels.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=panels.WITH_STRIP,
    concerns=plan.concerns,
    buttons=[panels.BUTTON],
    subject_panels=panels.subject_panels,
    list_notes=lists.list_notes,
    for_you=for_you.for_you,
    event_address=links.of_event,
)
