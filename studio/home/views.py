"""The home page: waiting drafts, recent and starred resources, activity."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import extensions
from studio.activity.views import latest
from studio.home.introduction import introduction_of
from studio.home.sections import WAITING, sections
from studio.kinds import KINDS
from studio.preferences.recent import recently_opened
from studio.views import StudioPage
from versioning.editor.catalog import Waiting

SHOWN: Final = 8


class HomePage(StudioPage):
    """The first page after signing in."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the waiting drafts, and the latest activity."""
        if "q" in request.GET:  # the former address of the search
            return self.go(f"{reverse('studio:search')}?{request.GET.urlencode()}")
        self.listen({})
        caller, works = self.caller, any(kind.admin.has_add_permission(request) for kind in KINDS)
        waiting = Waiting([kind.catalog(caller) for kind in KINDS]) if works else None
        shown = sections(
            waiting.keys(0, WAITING) if waiting else [], recently_opened(self.request), self.position, caller
        )
        return self.page(
            "studio/home/home.html",
            title=_("Home"),
            counts=waiting and {whose.value: count for whose, count in waiting.counts.items()},
            sections=shown,
            lines=latest(self.editor, caller, SHOWN),
            notices=extensions.notices(caller),
            panels=extensions.home_sections(caller),
            introduction=introduction_of(caller),
            works=works,
            may_publish=any(kind.admin.has_publish_permission(request) for kind in KINDS),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )
