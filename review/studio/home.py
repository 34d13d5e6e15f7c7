"""The reviews that wait for a person, on the home page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.template.loader import render_to_string

from review.studio.presenters import lines_of
from review.studio.waiting import waiting_for
from studio.extensions import HomeSection
from studio.workspaces.base import address
from versioning.domain.access import Caller

SHOWN: Final = 5


def sections(caller: Caller) -> Iterator[HomeSection]:
    """Yield the section with the reviews that wait for the person, if there are any."""
    found = waiting_for(caller)
    if not found:
        return
    workspaces = sorted({one.workspace_id for one in found})
    context = {
        "lines": lines_of(found[:SHOWN], caller),
        "count": len(found),
        "workspaces": [(one, f"{address('reviews', one)}?show=waiting") for one in workspaces],
    }
    html = render_to_string("review/home.html", context)
    yield HomeSection(html=html, stylesheets=["studio/home.css", "review/review.css"])
