"""The views of stored agents and prompt blocks, shared by both kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from django.conf import settings
from editor_client.shared import ids
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import parameters
from versioning.api.base import EditorViewSet, Parameters, expected_etags, with_etag
from versioning.api.filters import ResourceFilter
from versioning.api.paging import Page
from versioning.api.schemas.base import RequestSchema, body_of
from versioning.api.schemas.common import Nothing
from versioning.api.schemas.publish_options import (
    TakeDownOptions,
    options_of,
    options_of_query,
    take_down_parameters,
)
from versioning.api.schemas.records import Clone, split
from versioning.api.schemas.versions import Activate, SetLabel, VersionCreate
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.kinds import ResourceKind
from versioning.domain.selectors import Status
from versioning.editor import Collection
from versioning.editor.reading import Difference
from versioning.editor.records import (
    SHOWN_TEXT,
    ConfigFile,
    RecordView,
    VersionView,
    record_of,
    records_of,
    versions_of,
    with_shown_text,
)
from versioning.models import Favorited, VersionedResource
from versioning.models.byte_length import ByteLength
from versioning.serving.followed_log import Dependency
from versioning.serving.resolution import Resolved

RECORD_ORDERS = {"createdAt": "created_at", "updatedAt": "seen_at"}
VERSION_ORDERS = {"versionNumber": "number", "createdAt": "created_at"}
LIST_PARAMETERS = parameters.paging(100, RECORD_ORDERS)


class Compared(NamedTuple):
    """Two versions and the fields in which they differ."""

    diffs: list[Difference]
    from_version: VersionView
    to_version: VersionView


class ResourceViewSet(EditorViewSet):
    """All operations on a resource; a subclass determines the kind."""

    kind: ClassVar[ResourceKind]
    filters: ClassVar[type[ResourceFilter]] = ResourceFilter
    own_routes: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """The routes that only this kind has: below the id of a resource, its methods with their actions."""
    own_requests: ClassVar[Mapping[str, type[RequestSchema]]] = {}
    own_responses: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """The bodies and answers of these, and of actions that this kind answers differently."""
    created = frozenset({"create", "clone", "add_version", "restore"})
    actions = {
        **dict.fromkeys(("export", "favorite", "unfavorite"), Action.READ),
        **dict.fromkeys(("activate", "unpublish", "set_label", "remove_label", "destroy"), Action.PUBLISH),
    }
    guarded = frozenset(
        {
            "add_version",
            "update",
            "destroy",
            "unpublish",
            "activate",
            "restore",
            "destroy_version",
            "set_label",
            "remove_label",
        }
    )
    errors = {
        "create": (409,),
        "clone": (409, 404),
        "destroy": (409,),
        # The refusals of the gate's checks.
        **dict.fromkeys(("update", "activate", "unpublish"), (409,)),
    }
    query: ClassVar[Mapping[str, Parameters]] = {
        "retrieve": parameters.SELECTOR,
        "destroy": (parameters.IF_UNUSED, *take_down_parameters()),
        "dependents": (parameters.DEPENDENTS_STATUS,),
        "export": parameters.SELECTOR,
        "clone": parameters.SELECTOR,
        "versions": (*parameters.paging(20, VERSION_ORDERS), parameters.SOURCE),
        "compare": parameters.COMPARED,
    }

    @classmethod
    def query_parameters(cls, action: str) -> Parameters:
        """Return the query parameters of an action; a list has the filters of its kind."""
        declared = super().query_parameters(action)
        return (*LIST_PARAMETERS, *cls.filters.parameters(), *declared) if action == "list" else declared

    @property
    def collection(self) -> Collection[Any]:
        """The editor's verbs for this kind."""
        return get_editor().collection(self.kind)

    # Records

    def list(self, request: Request) -> Response:
        """List the resources that the caller may read, newest first."""
        filtered = self.filters(
            request.query_params, self.collection.list(by=self.caller), request=self.request
        )
        page = Page.read(request.query_params, size=100, fields=RECORD_ORDERS, then="id")
        self._depends_on(None)
        unstored = [found for found in self.collection.unstored(by=self.caller) if filtered.holds(found)]
        rows = with_shown_text(filtered.chosen)
        return self.page_of(page, rows, self._records, unstored=unstored, weight=ByteLength(SHOWN_TEXT))

    def create(self, request: Request) -> Response:
        """Create a resource with its first version."""
        config, arguments = split(self.create_schema(request).read(request))
        return self._made(self.collection.create(config, **arguments, by=self.caller))

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002
        """Read a record with the fields of the version that the selector names."""
        self._depends_on(id)
        return self._record(
            self.collection.get(id, parameters.selector(request.query_params), by=self.caller)
        )

    def update(self, request: Request, id: str) -> Response:  # noqa: A002
        """Save an edit, as a draft unless `autoPublish` is true."""
        changes, arguments = split(self.update_schema(id).read(request))
        saved = self.collection.edit(id, changes, **arguments, by=self.caller, expect=self._expected)
        return self._saved(saved)

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002
        """Delete a resource with its versions and labels."""
        Nothing.read(request)
        options = options_of_query(request.query_params)
        if_unused = request.query_params.get("ifUnused") == "true"
        self.collection.delete(id, if_unused=if_unused, by=self.caller, expect=self._expected, **options)
        return Response(self.dump(f"The {self.kind.singular} {id!r} is deleted."))

    def dependents(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the agents that refer to it."""
        status = Status(request.query_params.get("status", Status.PUBLISHED))
        self._depends_on(id, (AGENT.slug, None))
        return Response(self.dump(self.collection.dependents(id, status=status, by=self.caller)))

    def export(self, request: Request, id: str) -> Response:  # noqa: A002
        """Return the given fields, or a stored version, as deterministic JSON; nothing is stored."""
        selector = parameters.selector(request.query_params)
        config = self.collection.export(id, body_of(request), selector, by=self.caller)
        return Response(self.dump(ConfigFile(resource_id=id, folder=self.kind.path, config=config)))

    def clone(self, request: Request, id: str) -> Response:  # noqa: A002
        """Create an unpublished resource from the selected version."""
        names = {"newId": "new_id", "newName": "name", "workspaceId": "workspace"}
        arguments = {names[member]: value for member, value in Clone.read(request).items()}
        selector = parameters.selector(request.query_params)
        return self._made(self.collection.clone(id, selector=selector, **arguments, by=self.caller))

    def unpublish(self, request: Request, id: str) -> Response:  # noqa: A002
        """Stop serving any version."""
        options = options_of(TakeDownOptions.read(request))
        return self._record(self.collection.unpublish(id, by=self.caller, expect=self._expected, **options))

    # Favorites

    def favorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Mark it as a favorite of the caller; a key acts as its owner."""
        Nothing.read(request)
        return self._favorited(*self.collection.favorite(id, by=self.caller))

    def unfavorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Remove the caller's mark."""
        Nothing.read(request)
        return self._favorited(*self.collection.unfavorite(id, by=self.caller))

    # Versions

    def versions(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the versions, newest first."""
        page = Page.read(request.query_params, size=20, fields=VERSION_ORDERS, then="-number")
        self._depends_on(id)
        history = self.collection.versions(id, by=self.caller)
        source = request.query_params.get("source")
        rows = history.versions.none() if source == "git" else history.versions
        commits = () if source == "database" else history.commits
        if source is None and commits:
            page = page.ordered_by("created_at", "number")  # two separate counts have no common entity tag
        return self.page_of(
            page,
            rows.defer("search_text", "excerpt"),
            lambda items: versions_of(history.resource, items),
            unstored=commits,
            weight=ByteLength("config_json"),
        )

    def add_version(self, request: Request, id: str) -> Response:  # noqa: A002
        """Save a copy of the published version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.snapshot(id, message=message, by=self.caller, expect=self._expected)
        )

    def version(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Read one version."""
        self._depends_on(id)
        found = self.collection.version(id, version, by=self.caller)
        return with_etag(request, self.dump(*versions_of(found.resource, [found.version])))

    def compare(self, request: Request, id: str) -> Response:  # noqa: A002
        """Show the fields in which two versions differ."""
        given = request.query_params
        before, after, diffs = self.collection.compare(id, given["from"], given["to"], by=self.caller)
        versions = versions_of(before.resource, [before.version, after.version])
        return Response(self.dump(Compared(diffs, *versions)))

    def activate(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Publish exactly this version."""
        options = options_of(Activate.read(request))
        published = self.collection.publish(id, version, by=self.caller, expect=self._expected, **options)
        etag = record_of(self.collection, published, self.caller).etag
        return Response(self.dump(published), headers={"ETag": f'"{etag}"'})

    def restore(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Save a copy of this version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.restore(id, version, message=message, by=self.caller, expect=self._expected)
        )

    def destroy_version(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Delete a version that is neither published nor labelled nor the only one."""
        Nothing.read(request)
        self.collection.delete_version(id, version, by=self.caller, expect=self._expected)
        return Response(self.dump("The version is deleted."))

    # Labels

    def labels(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the labels, the computed ones first."""
        self._depends_on(id)
        return Response(self.dump(self.collection.labels(id, by=self.caller)))

    def set_label(self, request: Request, id: str, name: str) -> Response:  # noqa: A002
        """Set a label on a version, or move it there."""
        body = SetLabel.read(request)
        resource, label = self.collection.label(
            id,
            name,
            body["versionId"],
            released=body.get("released"),
            by=self.caller,
            expect=self._expected,
            **options_of(body),
        )
        [record] = self._records([resource])
        return with_etag(request, self.dump(label), etag=record.etag)

    def remove_label(self, request: Request, id: str, name: str) -> Response:  # noqa: A002
        """Remove a label."""
        Nothing.read(request)
        self.collection.unlabel(id, name, by=self.caller, expect=self._expected)
        return Response(self.dump(f"The label {name!r} is removed."))

    # Requests and responses

    def create_schema(self, request: Request) -> type[RequestSchema]:
        """Return the schema of the body that creates this resource."""
        return self.requests["create"]

    def update_schema(self, resource_id: str) -> type[RequestSchema]:
        """Return the schema of the body that edits this resource."""
        return self.requests["update"]

    def _depends_on(self, resource_id: str | None, *others: Dependency) -> None:
        """Declare that the answer depends on a resource, or on all of the kind."""
        # Records contain which resources are favorites of the caller.
        self.depends_on((self.kind.slug, resource_id), *others, is_personal=True)

    @property
    def _expected(self) -> frozenset[str] | None:
        return expected_etags(self.request)

    def _record(self, found: Resolved[Any]) -> Response:
        record = record_of(self.collection, found, self.caller)
        return with_etag(self.request, self.dump(record), etag=record.etag)

    def _favorited(self, resource: VersionedResource, favorited: Favorited) -> Response:
        record = RecordView(
            resource=resource,
            version=resource.active or resource.latest,
            caller=self.caller,
            code=self.collection.code,
            favorited=favorited,
        )
        return with_etag(self.request, self.dump(favorited), etag=record.etag)

    def _records(self, rows: Any) -> Any:
        return records_of(self.collection, rows, self.caller)

    def _saved(self, saved: Resolved[Any], **response: Any) -> Response:
        record = record_of(self.collection, saved, self.caller)
        record.warnings = saved.warnings
        return with_etag(self.request, self.dump(record), etag=record.etag, **response)

    def _made(self, made: Resolved[Any]) -> Response:
        headers = {"Location": self._address(made.resource)}
        return self._saved(made, status=201, headers=headers)

    def _made_version(self, made: Resolved[Any]) -> Response:
        headers = {"Location": f"{self._address(made.resource)}/versions/{made.version.version_id}"}
        [version] = versions_of(made.resource, [made.version])
        return with_etag(self.request, self.dump(version), status=201, headers=headers)

    def _address(self, resource: VersionedResource) -> str:
        return f"/{settings.EDITOR_API_PREFIX}/stored/{self.kind.path}/{ids.encode(resource.pk)}"
