"""The home page: tasks, waiting drafts, recent and starred resources, activity."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions
from studio.activity.lines import lines_of
from studio.activity.live import latest_news
from studio.activity.views import latest
from studio.home.sections import WAITING, sections
from studio.kinds import KINDS
from studio.preferences import preferences_of, recently_opened
from studio.views import StudioPage
from studio.workspaces.names import names_of_several, role_name
from versioning.domain.access import Caller
from versioning.editor.catalog import Waiting, Whose

WORKSPACES: Final = 6
"""The number of workspaces that the introduction names."""


def introduce(caller: Caller) -> dict[str, Any] | None:
    """Return the introduction's text about the caller; None for a person without a role."""
    if caller.everywhere is not None:
        return {"role_name": role_name(caller.everywhere), "role": caller.everywhere}
    if not caller.roles:
        return None
    roles = sorted(caller.roles.items(), key=lambda one: (-one[1].rank, one[0]))
    return {
        "role": roles[0][1],
        "role_name": role_name(roles[0][1]),
        "by_workspace": [(workspace, role_name(role)) for workspace, role in roles[:WORKSPACES]],
        "more": max(len(roles) - WORKSPACES, 0),
        "differs": len(set(caller.roles.values())) > 1,
    }


SHOWN: Final = 8
NEWS: Final = 5
"""The number of events that concern the person on the page; the notifications have all."""


class HomePage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        if "q" in request.GET:  # the former address of the search
            return self.go(f"{reverse('studio:search')}?{request.GET.urlencode()}")
        self.listen({})
        caller, works = self.caller, any(kind.admin.has_add_permission(request) for kind in KINDS)
        catalogs = [kind.catalog(caller) for kind in KINDS]
        waiting = Waiting(catalogs, Whose.OTHERS, self.editor.cache) if works else None
        news = latest_news(request, NEWS)
        lines = lines_of([*news, *latest(self.editor, caller, SHOWN)], caller)
        groups = additions.for_you(caller)
        shown = sections(
            waiting.keys(0, WAITING) if waiting is not None else [],
            recently_opened(self.request),
            self.position,
            caller,
        )
        return self.page(
            "studio/home/home.html",
            title=_("Home"),
            counts={whose.value: n for whose, n in waiting.counts.items()} if waiting is not None else {},
            groups=groups,
            workspace_names=names_of_several(caller),
            news=lines[: len(news)],
            news_seen=preferences_of(request).seen_position,
            sections=shown.without({task.address for group in groups for task in group.tasks}),
            lines=lines[len(news) :],
            notices=additions.added(lambda one: one.notices(caller, None)),
            introduction=introduce(caller),
            works=works,
            may_publish=any(kind.admin.has_publish_permission(request) for kind in KINDS),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )
