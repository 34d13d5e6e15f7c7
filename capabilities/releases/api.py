"""Releases over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import Count
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.releases import items
from capabilities.releases.editing import etag_of
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import State
from capabilities.releases.rules import ReleaseChanged
from capabilities.releases.schemas import (
    CheckAnswer,
    ReleaseAnswer,
    ReleaseCreate,
    ReleasePage,
    ReleasePublish,
    ReleaseUpdate,
    ReleaseView,
    RevertAnswer,
)
from capabilities.releases.verbs import Releases
from versioning.api import addresses, errors, parameters
from versioning.api.base import EditorViewSet, expected_etags, with_etag
from versioning.api.parameters import Page
from versioning.api.resources import read_options
from versioning.api.schemas import Json, Nothing, Success, content_etag
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.models.search import ByteLength, together

ORDERS: Final = {"createdAt": "created_at"}
LENGTH: Final = ByteLength("description") + together(ReleaseItem.objects.all(), "release", Count("pk") * 500)
"""Approximate; an item is a few ids and words."""

errors.STATUS[ReleaseChanged] = 412


class ReleaseViewSet(EditorViewSet):
    """Releases of the workspaces whose drafts the caller may read."""

    job = "Release"
    subject = "release"
    actions = {"publish": Action.PUBLISH}
    created = frozenset({"create", "revert"})
    guarded = frozenset({"update", "destroy", "publish"})
    errors = {
        "create": (404,),
        "update": (409,),
        "destroy": (409,),
        "publish": (409,),
        "revert": (409,),
    }
    query = {
        "list": (
            *parameters.paging(20, ORDERS),
            parameters.WORKSPACE,
            parameters.query("state", "Only in this state.", enum=State.values),
        ),
    }
    requests = {
        "create": ReleaseCreate,
        "update": ReleaseUpdate,
        "destroy": Nothing,
        "publish": ReleasePublish,
        "revert": Nothing,
    }
    paths = {"id": (parameters.UUID, "The id of the release.")}
    responses = {
        "list": ReleasePage,
        "create": ReleaseAnswer,
        "retrieve": ReleaseAnswer,
        "update": ReleaseAnswer,
        "destroy": Success,
        "check": CheckAnswer,
        "publish": ReleaseAnswer,
        "revert": RevertAnswer,
    }

    def list(self, request: Request) -> Response:
        """List the releases, newest first."""
        given = request.query_params
        found = self._releases.list(
            workspace=given.get("workspaceId"), state=given.get("state"), by=self.caller
        )
        page = Page.read(given, size=20, fields=ORDERS, then="pk")
        return self.page_of(page, found, _views, weight=LENGTH)

    def create(self, request: Request) -> Response:
        """Create a draft release."""
        given = _cleared(ReleaseCreate.read(request))
        workspace = given.pop("workspaceId")
        made = self._releases.create(workspace, **given, by=self.caller)
        return self._answer(request, made, status=201, headers={"Location": _address(made)})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a release, and what is currently live for its items."""
        return self._answer(request, self._releases.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change a draft release."""
        changes = _cleared(ReleaseUpdate.read(request))
        changed = self._releases.change(id, **changes, by=self.caller, expect=expected_etags(request))
        return self._answer(request, changed)

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a draft release."""
        Nothing.read(request)
        self._releases.delete(id, by=self.caller, expect=expected_etags(request))
        return Response(self.dump(f"The release {id} is deleted."))

    def check(self, request: Request, id: str) -> Response:
        """Check what prevents a release from being published now."""
        return Response(self.dump(self._releases.check(id, by=self.caller)))

    def publish(self, request: Request, id: str) -> Response:
        """Publish all of a release, or nothing."""
        options = read_options(ReleasePublish.read(request))
        published = self._releases.publish(id, by=self.caller, expect=expected_etags(request), **options)
        return self._answer(request, published)

    def revert(self, request: Request, id: str) -> Response:
        """Create a draft release that goes back to the versions that were live before."""
        Nothing.read(request)
        made = self._releases.revert(id, by=self.caller)
        headers = {"Location": _address(made.release)}
        return self._answer(request, made.release, made.conflicts, status=201, headers=headers)

    @property
    def _releases(self) -> Releases:
        return Releases.current()

    def _answer(
        self, request: Request, release: Release, conflicts: Sequence[items.ItemNow] = (), **response: Any
    ) -> Response:
        [view] = _views([release], conflicts)
        body = self.dump(view)
        # `If-Match` uses the part before the hyphen, so saving a draft of an item in the meantime does not
        # prevent changes of the release; for `If-None-Match` the whole tag counts.
        return with_etag(request, body, etag=f"{etag_of(release)}-{content_etag(body)}", **response)


def _views(releases: Sequence[Release], conflicts: Sequence[items.ItemNow] = ()) -> list[ReleaseView]:
    """Return the views of releases; the number of queries does not depend on the number of releases."""
    rows = ReleaseItem.objects.filter(release__in=[release.pk for release in releases])
    found: dict[Any, list[items.ItemNow]] = {release.pk: [] for release in releases}
    for one in items.now(get_editor(), rows.select_related("release").order_by("place")):
        found[one.item.release_id].append(one)
    return [
        ReleaseView(release=release, items=found[release.pk], conflicts=conflicts) for release in releases
    ]


def _cleared(body: Json) -> Json:
    """Return a body with an empty text in place of a null description."""
    return {**body, "description": body["description"] or ""} if "description" in body else body


def _address(release: Release) -> str:
    return addresses.location(f"releases/{release.pk}")
