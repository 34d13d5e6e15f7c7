"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.releases.selecting import SELECTOR
from capabilities.releases.studio import for_you, links, panels
from studio.extensions import Extension, OverlayWords, WorkspaceTab
from studio.navigation import MainPage
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="capabilities.releases.studio.urls",
    own_urls="capabilities.releases.studio.own_urls",
    pages=[
        MainPage(
            page="releases",
            title=_("Releases"),
            place=20,
            sections=["releases/"],
            waiting=for_you.count_for,
            waiting_query=for_you.QUERY,
        )
    ],
    tabs=[WorkspaceTab(page="releases", title=_("Releases"), right=Right.READ_DRAFTS, place=20)],
    for_you=for_you.for_you,
    panels=panels.panels,
    panels_need=Right.PUBLISH,
    actions=panels.actions,
    chosen=panels.chosen,
    named_in_events=links.named_in_events,
    overlays={
        SELECTOR.name: OverlayWords(
            column=_("With the release"),
            heading=_("With the release, in this context"),
            preview=_("As if the whole release were published now."),
            trial=_(
                "Answers as if the whole release were published now, with its prompt blocks and sub-agents, "
                "appear beside those of the live version."
            ),
            without=_("Without the release"),
        )
    },
)
