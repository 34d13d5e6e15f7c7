"""The base of the views of stored agents and prompt blocks: their records and favorites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from editor_client.shared import ids
from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import BaseModel, Field, create_model
from pydantic.alias_generators import to_snake
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, Parameters, expected_etags, with_etag
from versioning.api.parameters import Paging, ResourceFilter
from versioning.api.schemas import (
    ChangeMessage,
    Json,
    Named,
    Nothing,
    NoticeAnswer,
    RecordStatus,
    RequestSchema,
    ResponseSchema,
    Source,
    Time,
    read_body,
)
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank, ResourceId, Visibility
from versioning.domain.kinds import ResourceKind
from versioning.domain.selectors import Status
from versioning.editor import Collection, gate
from versioning.editor.records import (
    SHOWN_TEXT,
    ConfigFile,
    RecordView,
    make_record,
    make_records,
    with_shown_text,
)
from versioning.models import Favorited, VersionedResource
from versioning.models.search import ByteLength
from versioning.serving.followed_log import Dependency
from versioning.serving.resolution import Resolved

RECORD_PAGING = Paging(100, fields=("createdAt", "updatedAt"), columns={"updatedAt": "seen_at"}, then="id")


if TYPE_CHECKING:

    class PublishOptions(RequestSchema):
        """The body of a request that can make a version live."""

    class TakeDownOptions(RequestSchema):
        """The body of a request that can leave a resource without a live version."""

else:
    if not apps.ready:
        raise ImproperlyConfigured("The bodies of requests are known when every application is ready.")

    def _body(name: str, doc: str, options: Iterable[gate.Option]) -> type[RequestSchema]:
        members: dict[str, Any] = {to_snake(option.member): (option.schema, UNCHANGED) for option in options}
        return create_model(name, __base__=RequestSchema, __doc__=doc, **members)

    PublishOptions = _body(
        "PublishOptions", "The body of a request that can publish a version.", gate.options().values()
    )
    TakeDownOptions = _body(
        "TakeDownOptions",
        "The body of a request that can unpublish a resource.",
        gate.options(for_take_down=True).values(),
    )


class Saved(PublishOptions):
    """The members of every save in addition to the snapshot fields."""

    change_message: Annotated[
        ChangeMessage | None, Field(description=f"Why; trimmed, up to {MAX_MESSAGE} characters.")
    ] = None
    auto_publish: bool = UNCHANGED
    metadata: Annotated[
        JsonObject | None, Field(description="Merged member by member; null removes one.")
    ] = None


class Created(Saved):
    """The members of a creation in addition to the snapshot fields."""

    id: ResourceId = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class HasVisibility(RequestSchema):
    """Agents can be public."""

    visibility: Visibility = UNCHANGED


class Clone(RequestSchema):
    """The body of clone."""

    new_id: ResourceId
    new_name: NotBlank = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class NotCreated(ResponseSchema):
    """With `dryRun`: the id and the workspace that the resource would have."""

    id: str
    workspace_id: str


class Record(ResponseSchema):
    """A resource: its record, flat, with the fields of the resolved version."""

    snapshot_source: ClassVar[str | None] = "version.config"

    id: Annotated[str, Source("resource.pk")]
    workspace_id: Annotated[str, Source("resource.workspace_id")]
    status: RecordStatus
    active_version_id: Annotated[str | None, Source("resource.active_id")]
    latest_version_id: Annotated[str | None, Field(description="Null for callers without access to drafts.")]
    resolved_version_id: Annotated[str | None, Source("version.version_id")]
    has_draft: Annotated[bool | None, Field(description="Null for callers without access to drafts.")]
    author_id: str | None
    metadata: Annotated[JsonObject, Source("resource.metadata")]
    is_favorited: Annotated[
        bool, Source("favorited.by_caller"), Field(description="Whether it is a favorite of the caller.")
    ]
    favorite_count: Annotated[
        int, Source("favorited.count"), Field(ge=0, description="How many people have marked it.")
    ]
    created_at: Annotated[Time, Source("resource.created_at")]
    updated_at: Annotated[
        Time, Field(description="For callers without access to drafts, the last change that they can see.")
    ]
    warnings: Annotated[list[NoticeAnswer], Field(description="In the answer to a save only.")] = []


class FavoriteAnswer(ResponseSchema):
    """Whether a resource is a favorite of the caller, and how many people have marked it."""

    favorited: Annotated[bool, Source("by_caller")]
    favorite_count: Annotated[int, Source("count"), Field(ge=0)]


class DependentsAnswer(ResponseSchema):
    """The agents that refer to a resource."""

    dependents: Annotated[list[Named], Source("readable")]
    hidden_count: int


class Export(ResponseSchema):
    """A configuration as a file."""

    file_name: str
    content: str
    config: JsonObject


class RecordViewSet(EditorViewSet):
    """The operations on a record; `versioning.api.versions` adds those on versions."""

    kind: ClassVar[ResourceKind]
    filters: ClassVar[type[ResourceFilter]] = ResourceFilter
    created = frozenset({"create", "clone"})
    unmade: ClassVar[Mapping[str, type[BaseModel]]] = {"create": NotCreated}
    actions = {
        **dict.fromkeys(("export", "favorite", "unfavorite"), Action.READ),
        **dict.fromkeys(("unpublish", "destroy"), Action.PUBLISH),
    }
    guarded = frozenset({"update", "destroy", "unpublish"})
    errors = {
        "create": (409,),
        "clone": (409, 404),
        "destroy": (409,),
        # The refusals of the gate's checks.
        **dict.fromkeys(("update", "unpublish"), (409,)),
    }
    query: ClassVar[Mapping[str, Parameters]] = {
        "create": (parameters.DRY_RUN,),
        "retrieve": parameters.SELECTOR,
        "destroy": (parameters.IF_UNUSED, *parameters.take_down_options()),
        "dependents": (parameters.DEPENDENTS_STATUS,),
        "export": parameters.SELECTOR,
        "clone": parameters.SELECTOR,
    }

    @classmethod
    def query_parameters(cls, action: str) -> Parameters:
        """Return the query parameters of an action; a list has the filters of its kind."""
        declared = super().query_parameters(action)
        if action != "list":
            return declared
        return (*RECORD_PAGING.parameters, *cls.filters.parameters(), *declared)

    @property
    def collection(self) -> Collection[Any]:
        return get_editor().collection(self.kind)

    # Records

    def list(self, request: Request) -> Response:
        """List the resources that the caller may read, newest first."""
        filtered = self.filters(
            request.query_params, self.collection.list(by=self.caller), request=self.request
        )
        page = RECORD_PAGING.read(request.query_params)
        self._depends_on(None)
        unstored = [agent for agent in self.collection.list_unstored(by=self.caller) if filtered.holds(agent)]
        return self.page_of(
            page,
            filtered.chosen,
            self._make_records,
            select=with_shown_text,
            unstored=unstored,
            weight=ByteLength(SHOWN_TEXT),
        )

    def create(self, request: Request) -> Response:
        """Create a resource with its first version."""
        config, arguments = split(self.create_schema(request).read(request))
        if request.query_params.get("dryRun") == "true":
            return Response(NotCreated.dump(self.collection.check_new(config, **arguments, by=self.caller)))
        return self._respond_created(self.collection.create(config, **arguments, by=self.caller))

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a record with the fields of the version that the selector names."""
        self._depends_on(id)
        return self._record(
            self.collection.get(id, parameters.selector(request.query_params), by=self.caller)
        )

    def update(self, request: Request, id: str) -> Response:
        """Save an edit, as a draft unless `autoPublish` is true."""
        changes, arguments = split(self.update_schema(id).read(request))
        saved = self.collection.edit(id, changes, **arguments, by=self.caller, expect=self._expected_etags)
        return self._respond(saved)

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a resource with its versions and labels."""
        Nothing.read(request)
        options = parameters.given_options(request.query_params)
        if_unused = request.query_params.get("ifUnused") == "true"
        self.collection.delete(
            id, if_unused=if_unused, by=self.caller, expect=self._expected_etags, **options
        )
        return Response(self.dump(f"The {self.kind.singular} {id!r} is deleted."))

    def dependents(self, request: Request, id: str) -> Response:
        """List the agents that refer to it."""
        status = Status(request.query_params.get("status", Status.PUBLISHED))
        self._depends_on(id, (AGENT.slug, None))
        return Response(self.dump(self.collection.dependents(id, status=status, by=self.caller)))

    def export(self, request: Request, id: str) -> Response:
        """Return the given fields, or a stored version, as deterministic JSON; nothing is stored."""
        selector = parameters.selector(request.query_params)
        config = self.collection.export(id, read_body(request), selector, by=self.caller)
        return Response(self.dump(ConfigFile(resource_id=id, folder=self.kind.path, config=config)))

    def clone(self, request: Request, id: str) -> Response:
        """Create an unpublished resource from the selected version."""
        names = {"newId": "new_id", "newName": "name", "workspaceId": "workspace"}
        arguments = {names[member]: value for member, value in Clone.read(request).items()}
        selector = parameters.selector(request.query_params)
        return self._respond_created(
            self.collection.clone(id, selector=selector, **arguments, by=self.caller)
        )

    def unpublish(self, request: Request, id: str) -> Response:
        """Stop serving any version."""
        options = read_options(TakeDownOptions.read(request))
        return self._record(
            self.collection.unpublish(id, by=self.caller, expect=self._expected_etags, **options)
        )

    # Favorites

    def favorite(self, request: Request, id: str) -> Response:
        """Mark the resource as a favorite of the caller; a key acts as its owner."""
        Nothing.read(request)
        return self._favorite_response(*self.collection.favorite(id, by=self.caller))

    def unfavorite(self, request: Request, id: str) -> Response:
        """Remove the caller's mark."""
        Nothing.read(request)
        return self._favorite_response(*self.collection.unfavorite(id, by=self.caller))

    # Requests and responses

    def create_schema(self, request: Request) -> type[RequestSchema]:
        """Return the schema of the body that creates this resource: for a code-defined agent, an override."""
        agent_id = str(read_body(request).get("id"))
        return self.requests["override_create" if self._overrides(agent_id) else "create"]

    def update_schema(self, resource_id: str) -> type[RequestSchema]:
        """Return the schema of the body that edits this resource: for a code-defined agent, its override."""
        return self.requests["override_update" if self._overrides(resource_id) else "update"]

    def _overrides(self, resource_id: str) -> bool:
        """Return whether code defines an agent with this id that the caller may read."""
        return self.collection.ownership.readable(resource_id, self.caller) is not None

    def _depends_on(self, resource_id: str | None, *more: Dependency) -> None:
        """Declare that the answer depends on a resource, or on all of the kind."""
        # Records contain whether the resource is a favorite of the caller.
        self.depends_on((self.kind.slug, resource_id), *more, is_personal=True)

    @property
    def _expected_etags(self) -> frozenset[str] | None:
        return expected_etags(self.request)

    def _record(self, resolved: Resolved[Any]) -> Response:
        record = make_record(self.collection, resolved, self.caller)
        return with_etag(self.request, self.dump(record), etag=record.etag)

    def _favorite_response(self, resource: VersionedResource, favorited: Favorited) -> Response:
        record = RecordView(
            resource=resource,
            version=resource.active or resource.latest,
            caller=self.caller,
            code=self.collection.code,
            favorited=favorited,
        )
        return with_etag(self.request, self.dump(favorited), etag=record.etag)

    def _make_records(self, rows: Any) -> Any:
        return make_records(self.collection, rows, self.caller)

    def _respond(self, saved: Resolved[Any], *, is_new: bool = False, **response: Any) -> Response:
        record = make_record(self.collection, saved, self.caller, is_new=is_new)
        record.warnings = saved.warnings
        return with_etag(self.request, self.dump(record), etag=record.etag, **response)

    def _respond_created(self, resolved: Resolved[Any]) -> Response:
        headers = {"Location": self._locate(resolved.resource)}
        return self._respond(resolved, is_new=True, status=201, headers=headers)

    def _locate(self, resource: VersionedResource) -> str:
        return addresses.location(f"stored/{self.kind.path}/{ids.encode(resource.pk)}")


def read_options(body: Json) -> dict[str, Any]:
    """Return the options in a valid body, by their argument names in Python."""
    return {
        name: option.from_body(body[option.member])
        for name, option in gate.options().items()
        if option.member in body
    }


_VERB_ARGUMENTS = {
    "id": "id",
    "workspaceId": "workspace",
    "visibility": "visibility",
    "metadata": "metadata",
    "autoPublish": "publish",
    "changeMessage": "message",
}
"""The members of a body that are not snapshot fields, by the verbs' argument names."""


def split(body: Json) -> tuple[Json, Json]:
    """Return the snapshot fields of a request, and its other members as arguments of the verbs."""
    fields, arguments, options = dict(body), dict[str, Any](), read_options(body)
    for member, name in _VERB_ARGUMENTS.items():
        if member in fields:
            arguments[name] = fields.pop(member)
    for option in gate.options().values() if options else ():
        fields.pop(option.member, None)
    return fields, arguments | options
