"""Releases over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from django.db.models import Count
from django.urls import URLPattern, re_path
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.releases import items
from capabilities.releases.items import ItemNow
from capabilities.releases.models import MAX_ITEMS, Release, ReleaseItem
from capabilities.releases.models import Action as ReleasedAction
from capabilities.releases.models import ReleaseState as State
from capabilities.releases.rules import Problem, ReleaseChanged
from capabilities.releases.verbs import Releases, release_etag
from versioning.api import addresses, errors, parameters
from versioning.api.base import EditorViewSet, expected_etags, with_etag
from versioning.api.parameters import Paging
from versioning.api.resources import PublishOptions, read_options
from versioning.api.schemas import (
    Json,
    Nothing,
    PageOf,
    ProblemAnswer,
    RequestSchema,
    ResourceKind,
    ResponseSchema,
    SerializedBy,
    Source,
    Success,
    Time,
    TimeOrNull,
    Uuid,
    content_etag,
    limits,
)
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED, NotBlank
from versioning.models.search import ByteLength, together

ACTIONS, STATES = tuple(ReleasedAction.values), tuple(State.values)
ReleaseAction = TypeAliasType("ReleaseAction", Literal[ACTIONS])  # type: ignore[valid-type]
ReleaseState = TypeAliasType("ReleaseState", Literal[STATES])  # type: ignore[valid-type]

_TITLE = Annotated[NotBlank, limits(Release.title)]
_DESCRIPTION = Annotated[str, limits(Release.description)]


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release with the current state of its items."""

    release: Release
    items: list[ItemNow]
    conflicts: Sequence[ItemNow] = ()
    """The items that the reverted release no longer has live."""


class Reference(RequestSchema):
    """A resource."""

    kind: ResourceKind
    id: NotBlank


class NewReleaseItem(RequestSchema):
    """A resource to publish in this version, by default the latest one, or to unpublish."""

    resource: Reference
    action: ReleaseAction = "publish"
    version_id: Uuid | None = None


_ITEMS = Annotated[list[NewReleaseItem], Field(json_schema_extra={"maxItems": MAX_ITEMS})]


class ReleaseCreate(RequestSchema):
    """A new draft release."""

    workspace_id: NotBlank
    title: _TITLE
    description: _DESCRIPTION | None = None
    items: _ITEMS = Field(default=[])


class ReleaseUpdate(RequestSchema):
    """A change of a draft release; an absent member is unchanged, and `items` replaces all of them."""

    title: _TITLE = UNCHANGED
    description: _DESCRIPTION | None = None
    items: _ITEMS = Field(default=[])


class ReleasePublish(PublishOptions):
    """The body of publishing a release."""


class ReleasedResource(ResponseSchema):
    """A reference to a resource."""

    kind: ResourceKind
    id: Annotated[str, Source("resource_id")]


def _name(user: Any) -> str | None:
    return None if user is None else user.get_username()


def _id(value: Any) -> str | None:
    return None if value is None else str(value)


class ReleaseItemAnswer(ResponseSchema):
    """A resource and its action. `newer` means that a version was saved after the one to publish."""

    resource: Annotated[ReleasedResource, Source(lambda item: item)]
    action: Annotated[ReleaseAction, Source("item.action")]
    version_id: Annotated[Uuid | None, Source(lambda item: _id(item.item.version_id))]
    version_number: Annotated[int | None, Source("item.version_number")]
    active_before: Annotated[
        Uuid | None,
        Field(
            description=("The version that was live before the release; for a draft, the currently live one.")
        ),
    ]
    newer: bool


class ReleaseAnswer(ResponseSchema):
    """Resources that are published together."""

    id: Annotated[Uuid, Source(lambda view: str(view.release.pk))]
    workspace_id: Annotated[str, Source("release.workspace_id")]
    title: Annotated[str, Source("release.title")]
    description: Annotated[str, Source("release.description")]
    state: Annotated[ReleaseState, Source("release.state")]
    items: list[ReleaseItemAnswer]
    created_by: Annotated[str | None, Source(lambda view: _name(view.release.created_by))]
    created_at: Annotated[Time, Source("release.created_at")]
    published_by: Annotated[str | None, Source(lambda view: _name(view.release.published_by))]
    published_at: Annotated[TimeOrNull, Source("release.published_at")]
    reverts: Annotated[Uuid | None, Source(lambda view: _id(view.release.reverts_id))]


class ReleasePage(PageOf):
    """Releases, newest first."""

    releases: Annotated[list[ReleaseAnswer], Source("items")]


class ReleaseConflict(ResponseSchema):
    """A resource that cannot be reverted, because another version is now live."""

    resource: Annotated[ReleasedResource, Source(lambda item: item)]
    version_id: Annotated[Uuid | None, Source(lambda item: _id(item.item.version_id))]
    active_version_id: Annotated[Uuid | None, Source(lambda item: _id(item.active_version_id))]


class RevertAnswer(ReleaseAnswer):
    """A draft that reverts a release, and the omitted items."""

    conflicts: list[ReleaseConflict]


def _problems(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [problem.as_json for problem in problems]


class CheckAnswer(ResponseSchema):
    """Whether a release could be published now."""

    ok: bool
    problems: Annotated[list[ProblemAnswer], SerializedBy(_problems)]
    warnings: Annotated[list[ProblemAnswer], SerializedBy(_problems)]


PAGING: Final = Paging(20)
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
            *PAGING.parameters,
            parameters.WORKSPACE,
            parameters.query("state", "Only in this state.", enum=STATES),
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
        filters = request.query_params
        releases = self._releases.list(
            workspace=filters.get("workspaceId"), state=filters.get("state"), by=self.caller
        )
        page = PAGING.read(filters)
        return self.page_of(page, releases, _views, weight=LENGTH)

    def create(self, request: Request) -> Response:
        """Create a draft release."""
        fields = _read_fields(ReleaseCreate, request)
        release = self._releases.create(fields.pop("workspaceId"), **fields, by=self.caller)
        return self._answer_created(request, release)

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a release, with the currently live versions of its items."""
        return self._answer(request, self._releases.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change a draft release."""
        changes = _read_fields(ReleaseUpdate, request)
        release = self._releases.change(id, **changes, by=self.caller, expect=expected_etags(request))
        return self._answer(request, release)

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a draft release."""
        Nothing.read(request)
        self._releases.delete(id, by=self.caller, expect=expected_etags(request))
        return Response(self.dump(f"The release {id} is deleted."))

    def check(self, request: Request, id: str) -> Response:
        """Return the reasons that prevent the release from being published now."""
        return Response(self.dump(self._releases.check(id, by=self.caller)))

    def publish(self, request: Request, id: str) -> Response:
        """Publish all of a release, or nothing."""
        options = read_options(ReleasePublish.read(request))
        published = self._releases.publish(id, by=self.caller, expect=expected_etags(request), **options)
        return self._answer(request, published)

    def revert(self, request: Request, id: str) -> Response:
        """Create a draft release that goes back to the versions that were live before."""
        Nothing.read(request)
        reverting = self._releases.revert(id, by=self.caller)
        return self._answer_created(request, reverting.release, reverting.conflicts)

    @property
    def _releases(self) -> Releases:
        return Releases.current()

    def _answer_created(
        self, request: Request, release: Release, conflicts: Sequence[items.ItemNow] = ()
    ) -> Response:
        headers = {"Location": addresses.location(f"releases/{release.pk}")}
        return self._answer(request, release, conflicts, status=201, headers=headers)

    def _answer(
        self, request: Request, release: Release, conflicts: Sequence[items.ItemNow] = (), **response: Any
    ) -> Response:
        [view] = _views([release], conflicts)
        body = self.dump(view)
        # `If-Match` uses the part before the hyphen, so saving a draft of an item in the meantime does not
        # prevent changes of the release; for `If-None-Match` the whole tag counts.
        return with_etag(request, body, etag=f"{release_etag(release)}-{content_etag(body)}", **response)


def _views(releases: Sequence[Release], conflicts: Sequence[items.ItemNow] = ()) -> list[ReleaseView]:
    """Return the views of releases; the number of queries does not depend on the number of releases."""
    rows = ReleaseItem.objects.filter(release__in=[release.pk for release in releases])
    views = {release.pk: ReleaseView(release=release, items=[], conflicts=conflicts) for release in releases}
    for item in items.now(get_editor(), rows.select_related("release").order_by("place")):
        views[item.item.release_id].items.append(item)
    return list(views.values())


def _read_fields(schema: type[RequestSchema], request: Request) -> Json:
    """Return the members of the body, with an empty text instead of a null description."""
    body = dict(schema.read(request))
    return {**body, "description": body["description"] or ""} if "description" in body else body


_RELEASE: Final = "releases/(?P<id>[^/]+)"
_RELEASES: Final[dict[str, dict[str, Any]]] = {
    "releases": {"get": "list", "post": "create"},
    f"{_RELEASE}/check": {"get": "check"},
    f"{_RELEASE}/publish": {"post": "publish"},
    f"{_RELEASE}/revert": {"post": "revert"},
    _RELEASE: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", ReleaseViewSet.as_view(verbs)) for route, verbs in _RELEASES.items()
]
