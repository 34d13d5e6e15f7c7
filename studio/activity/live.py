"""Notifying open pages of changes by others: they poll every two seconds while visible.

Streams are unsuitable for pages: a browser opens at most six connections to a host, and every tab would hold
one.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from editor_client.shared import ids

from studio import additions
from studio.activity.lines import lines_of
from studio.activity.views import END
from studio.models import Preferences
from studio.permissions import caller_of
from studio.preferences import preferences_of
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.views import StudioPage
from studio.workspaces.names import names_of_several
from versioning.conf import get_editor
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.kinds import KINDS
from versioning.editor import notifications
from versioning.models import Event, VersionedResource, events, storage

MOST: Final = 9
"""The largest number that the bell shows."""
SHOWN: Final = 50


def unread(request: HttpRequest) -> int:
    """Return the number of events new to the person, at most one more than the bell shows; one query."""
    seen_position = preferences_of(request).seen_position
    return notifications.unread(caller_of(request), get_editor().code, after=seen_position, limit=MOST + 1)


def latest_news(request: HttpRequest, limit: int) -> list[Event]:
    return notifications.latest(caller_of(request), get_editor().code, limit)


class NotificationsPage(StudioPage):
    """The person's tasks, and the latest events that concern them.

    Opening the page marks these as seen.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them, newest first; new ones are marked."""
        self.listen({})
        seen_position = preferences_of(request).seen_position
        lines = lines_of(latest_news(request, SHOWN), self.caller)
        is_seen = request.method == "GET" and "X-Live" not in request.headers
        if self.position != seen_position and is_seen:
            with storage.optional():
                Preferences.objects.change(request.user.pk, seen_position=self.position)
            preferences_of(request).seen_position = self.position
        return self.page(
            "studio/activity/notifications.html",
            title=_("Notifications"),
            groups=additions.tasks(self.caller),
            workspace_names=names_of_several(self.caller),
            lines=lines,
            seen=seen_position,
        )


TOLD: Final = 5
"""The number of newest events that an edit page shows individually."""


SCOPE: Final = ("resource_kind", "resource_id", "workspace_id")
"""The scopes of a page, as arguments of `editor.event.page`."""


class SinceForm(forms.Form):
    after = forms.IntegerField(min_value=0, max_value=END)
    resource_kind = forms.ChoiceField(required=False, choices=[(kind.slug, kind.slug) for kind in KINDS])
    resource_id = forms.CharField(required=False, strip=False)
    workspace_id = forms.CharField(required=False, strip=False)
    base = forms.CharField(required=False)

    def read(self) -> dict[str, Any]:
        """Return the given values by name; raises `Invalid`."""
        if not self.is_valid():
            raise Invalid([Issue(field=name, message=str(errors[0])) for name, errors in self.errors.items()])
        return {name: value for name, value in self.cleaned_data.items() if value}


class LivePage(StudioPage):
    """Returns whether a scope has events after a position, and the next position."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer in JSON: `{"changed": true, "next": 8123, "unread": 2}`; `unread` is for the bell."""
        params = SinceForm(request.GET).read()
        after: int = params.get("after", 0)
        scope = {str(name): params[name] for name in SCOPE if name in params}
        now = events.position()  # later events are returned by the next request
        # A position beyond the end belongs to another log: an earlier state of the database was restored.
        changed = now < after
        if now > after:
            newer = Q(position__gt=after)
            page = self.editor.event.page(before=END, limit=1, where=newer, by=self.caller, **scope)
            changed = bool(page.events)
        news = {"unread": unread(request)} if now != after else {}
        return JsonResponse({"changed": changed, "next": now, **news})


class SincePage(ResourcePage):
    """The part of an open edit page about changes of the resource made elsewhere, by any person."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the events after a position, newest first; typed text is not affected."""
        if ids.problem(self.resource_id) is not None:
            raise NotFound
        params = SinceForm(request.GET).read()
        after = params.get("after", 0)
        if after > events.position():  # a position of a log that no longer exists: everything may be new
            after = 0
        page = self.editor.event.page(
            before=END,
            limit=TOLD,
            where=Q(position__gt=after),
            resource_kind=self.kind.slug,
            resource_id=self.resource_id,
            by=self.caller,
        )
        context = {
            "lines": lines_of(page.events, self.caller, of_one=True, as_you=True),
            "has_more": page.has_more,
            "kind": self.kind,
            "has_changed": any(event.resource_kind == event.type.partition(".")[0] for event in page.events),
            **self._links(params.get("base", "")),
        }
        return TemplateResponse(request, "studio/activity/since.html", context)

    def _links(self, base: str) -> dict[str, Any]:
        """Return the links for continuing; none if the resource was deleted or is no longer readable."""
        try:
            versioned_resource = self.resource
        except NotFound:
            return {"is_gone": True}
        may_save = self.may(Right.SAVE)
        latest = versioned_resource.current if versioned_resource and may_save else None
        obstacle = obstacle_to(versioned_resource, latest, self.caller) if versioned_resource else None
        return {
            "may_save": may_save,
            "may_publish": self.may(Right.PUBLISH),
            "obstacle": obstacle,
            "publish_address": self.address("publish"),
            "panels": self.panels("since", latest, (), self.blocks_in_the_way(obstacle)),
            "edit_address": self.address("change"),
            "activity_address": self.address("activity"),
            "comparison": self._comparison(versioned_resource, base) if versioned_resource else "",
        }

    def _comparison(self, resource: VersionedResource, base: str) -> str:
        now = resource.current.version_id
        if base in {"", now} or not self.may(Right.READ_DRAFTS):
            return ""
        try:
            self.collection.version(self.resource_id, base, by=self.caller)
        except NotFound:
            return ""
        return f"{self.address('compare')}?{urlencode({'from': base, 'to': now})}"
