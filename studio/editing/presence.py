"""Presence on an edit page: people who can save there and have it open."""

from __future__ import annotations

import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.timesince import timesince
from editor_client.shared import ids

from studio.models import Presence
from studio.named import person_name
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.errors import NotFound
from versioning.models import storage

SHOWN: Final = 5
"""The maximum number of people who are named."""
_COUNTED: Final = 100
_MOMENT: Final = datetime.timedelta(minutes=1)


def list_others(page: ResourcePage) -> dict[str, Any]:
    """Return the other people with the edit page open, and for how long; empty for less than a minute."""
    rows = list(Presence.objects.about_others(page.caller.user_id, **_resource(page))[:_COUNTED])
    now = timezone.now()
    people = [
        {
            "name": person_name(row.user),
            "duration": timesince(row.since, now, depth=1) if now - row.since >= _MOMENT else "",
        }
        for row in rows[:SHOWN]
    ]
    return {"named": people, "more": max(len(rows) - SHOWN, 0)}


class PresencePage(ResourcePage):
    """Receives the presence of an open edit page periodically, and its end.

    Returns the other people who are present.
    """

    http_method_names = ["post"]

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Record that the person is present or has left, and return the fragment about the others."""
        if ids.problem(self.resource_id) is not None:
            raise NotFound
        self.require(Right.SAVE)
        with storage.optional():
            if "gone" in request.POST:
                Presence.objects.filter(user_id=self.caller.user_id, **_resource(self)).delete()
                return HttpResponse(status=204)
            Presence.objects.note(self.caller.user_id, **_resource(self))
        return TemplateResponse(request, "studio/editing/present.html", {"present": list_others(self)})


def _resource(page: ResourcePage) -> dict[str, str]:
    return {
        "kind": page.kind.slug,
        "resource_id": page.resource_id,
        "workspace_id": page.workspace_id,
    }
