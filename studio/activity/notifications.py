"""The bell: events that concern the person, and how many of them are new."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from studio import additions
from studio.activity.lines import lines_of
from studio.models import Preferences
from studio.permissions import caller_of
from studio.preferences.stored import preferences_of
from studio.views import StudioPage
from studio.workspaces.names import names_of_several
from versioning.conf import get_editor
from versioning.editor import notifications
from versioning.models import Event, storage

MOST: Final = 9
"""The largest number that the bell shows."""
SHOWN: Final = 50


def unread(request: HttpRequest) -> int:
    """Return how many events are new to the person, at most one more than the bell shows; one query."""
    seen = preferences_of(request).seen_position
    return notifications.unread(caller_of(request), get_editor().code, after=seen, limit=MOST + 1)


def latest_news(request: HttpRequest, limit: int) -> list[Event]:
    """Return the latest events that concern the person, newest first."""
    return notifications.latest(caller_of(request), get_editor().code, limit)


class NotificationsPage(StudioPage):
    """What is for the person to do, and the latest events that concern them.

    Opening the page marks these as seen.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them, newest first; new ones are marked."""
        self.listen({})
        seen = preferences_of(request).seen_position
        lines = lines_of(latest_news(request, SHOWN), self.caller)
        is_seen = request.method == "GET" and "X-Live" not in request.headers
        if self.position != seen and is_seen:
            with storage.optional():
                Preferences.objects.change(request.user.pk, seen_position=self.position)
            preferences_of(request).seen_position = self.position
        return self.page(
            "studio/activity/notifications.html",
            title=_("Notifications"),
            groups=additions.for_you(self.caller),
            workspace_names=names_of_several(self.caller),
            lines=lines,
            seen=seen,
        )
