"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from schedules.studio import home, links, panels
from studio.extensions import Extension, WorkspaceTab
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="schedules.studio.urls",
    resource_urls="schedules.studio.urls.resource_urls",
    tabs=[WorkspaceTab(page="calendar", title=_("Calendar"), right=Right.READ_DRAFTS)],
    panels=panels.panels,
    subject_panels=panels.subject_panels,
    home=home.sections,
    event_address=links.of_event,
)
