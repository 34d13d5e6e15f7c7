"""The views of stored resources: versions, labels, and the additions for agents in code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_snake
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from versioning.api import parameters, resources, schemas
from versioning.api.base import Parameters, with_etag
from versioning.api.parameters import Paging
from versioning.api.resources import PublishOptions, RecordViewSet, TakeDownOptions, read_options
from versioning.api.schemas import (
    ChangeMessage,
    NotEmpty,
    Nothing,
    NoticeAnswer,
    RequestSchema,
    ResponseSchema,
    Source,
    Success,
    Time,
    read_body,
)
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED, ConfigSchema, Shape, Visibility, raise_for_issues
from versioning.domain.kinds import ResourceKind
from versioning.domain.snapshots import version_title
from versioning.editor.reading import Difference
from versioning.editor.records import VersionView, make_record, make_version_views
from versioning.models.search import ByteLength
from versioning.serving.resolution import Resolved

VersionState = TypeAliasType("VersionState", Literal["published", "draft", "historical"])
VersionSource = TypeAliasType("VersionSource", Literal["database", "git", "file"])


class VersionCreate(RequestSchema):
    """The body of a request that creates a version."""

    change_message: ChangeMessage | None = None


class Activate(PublishOptions):
    """The body of publishing a version."""


class SetLabel(PublishOptions):
    """The body of setting a label."""

    version_id: NotEmpty
    released: Annotated[
        bool,
        Field(
            description=(
                "Whether all readers of published versions can read the version by this label. Unchanged "
                "when absent; false for a new label."
            )
        ),
    ] = UNCHANGED


class VersionRecord(ResponseSchema):
    """A version, with its configuration at top level."""

    snapshot_source: ClassVar[str | None] = "version.config"

    id: Annotated[str, Source("version.version_id")]
    version_number: Annotated[
        int,
        Source("version.number"),
        Field(ge=0, description="0 for an override file that is not committed."),
    ]
    changed_fields: Annotated[list[str], Source("version.changed_fields")]
    change_message: Annotated[str, Source("version.change_message")]
    author_id: str | None
    created_at: Annotated[Time, Source("version.created_at")]
    source: Annotated[VersionSource, Source("version.source")]
    author_name: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    commit: Annotated[str, Source("version.commit"), Field(description="Of versions that Git holds.")] = ""
    read_only: Annotated[bool, Source("version.read_only")]
    bypassed_by: Annotated[
        str | None,
        Source(lambda view: view.version.bypassed_by or None),
        Field(description="The admin who published it without the required approvals."),
    ]
    state: VersionState
    labels: list[str]


class Diff(ResponseSchema):
    """A field in which two versions differ; null if it is not set."""

    field: str
    previous_value: Annotated[Any, Source("previous")]
    current_value: Annotated[Any, Source("current")]


class Comparison(ResponseSchema):
    """The fields in which two versions differ."""

    diffs: list[Diff]


class Activated(Success):
    """A version is published."""

    message: Annotated[str, Source(lambda published: f"{version_title(published.version)} is published.")]
    active_version_id: Annotated[str, Source("version.version_id")]
    warnings: list[NoticeAnswer]


class LabelAnswer(ResponseSchema):
    """A name for a version."""

    name: str
    version_id: str
    version_number: int
    kind: Annotated[
        Literal["computed", "custom"], Source(lambda label: "computed" if label.computed else "custom")
    ]
    released: Annotated[
        bool,
        Field(description="Whether all readers of published versions can read the version by this label."),
    ]
    updated_at: Time
    updated_by: str | None


class LabelList(ResponseSchema):
    """The labels of a resource."""

    labels: Annotated[list[LabelAnswer], Source(list)]


class ToExport(RequestSchema):
    """The fields to write to a file; others are omitted."""

    model_config = ConfigDict(extra="allow")


class Proposal(RequestSchema):
    """The members of a change request besides the proposed fields."""

    change_message: str | None = None
    inspect_only: bool = UNCHANGED


class ChangeRequestAnswer(ResponseSchema):
    """A change proposed to a repository."""

    url: str
    ref: str
    id: str | None


def request_schemas(kind: ResourceKind) -> Mapping[str, type[RequestSchema]]:
    """Return the request bodies of a kind, by action.

    `override_create` and `override_update` are the bodies for code-defined resources, if code can define the
    kind.
    """
    name, a_kind = kind.schema_name, kind.with_article
    schema, visibility = kind.schema, (resources.HasVisibility,) if kind.has_visibility else ()
    exported = f"The fields of {a_kind} to write into a file; others are omitted."
    schemas = {
        "create": _schema(
            f"{name}Create", f"A new {kind.singular}.", schema.whole, resources.Created, *visibility
        ),
        "update": _schema(
            f"{name}Update", f"An edit of {a_kind}.", schema.edit, resources.Saved, *visibility
        ),
        "export": _schema(f"{name}ToExport", exported, _nothing_required(schema), ToExport),
        "clone": resources.Clone,
        "add_version": VersionCreate,
        "activate": Activate,
        "restore": VersionCreate,
        "set_label": SetLabel,
        "unpublish": TakeDownOptions,
    }
    if kind.override_schema is not None:
        fields = _nothing_required(schema)
        proposed = "The body of a change request: the fields to propose, and why."
        created, saved = f"A new override of {a_kind} that code defines.", "An edit of an override."
        schemas |= {
            "override_create": _schema("OverrideCreate", created, fields, resources.Created, *visibility),
            "override_update": _schema("OverrideUpdate", saved, fields, resources.Saved, *visibility),
            "change_request": _schema("ChangeRequest", proposed, Proposal, schema.edit),
        }
    return schemas


def response_schemas(kind: ResourceKind) -> Mapping[str, type[ResponseSchema]]:
    """Return the answers of a kind, by action."""
    name, a_kind, (stored, several) = kind.schema_name, kind.with_article, kind.stored_names
    fields = (kind.override_schema or kind.schema).whole
    record = _schema(
        f"{name}Record",
        f"A {stored}.",
        resources.Record,
        fields,
        **{"visibility": (Visibility, ...)} if kind.has_visibility else {},
    )
    version = _schema(
        f"{name}VersionRecord",
        f"A version of {a_kind}.",
        VersionRecord,
        fields,
        **{to_snake(kind.id_member): (Annotated[str, Source("resource.pk")], ...)},
    )
    compared = {"from_version": (version, ...), "to_version": (version, ...)}
    return {
        **dict.fromkeys(("create", "retrieve", "update", "clone", "unpublish"), record),
        **dict.fromkeys(("add_version", "version", "restore"), version),
        **dict.fromkeys(("destroy", "destroy_version", "remove_label"), schemas.Success),
        "list": _page(f"{name}Page", f"A page of {several}.", kind.wire_plural, record),
        "versions": _page(f"{name}VersionPage", f"A page of versions of {a_kind}.", "versions", version),
        "compare": _schema(f"{name}Comparison", f"Two versions of {a_kind}.", Comparison, **compared),
        "export": _schema(
            f"{name}Export",
            f"{a_kind[0].upper()}{a_kind[1:]}'s configuration as a file.",
            resources.Export,
            **{to_snake(kind.id_member): (Annotated[str, Source("resource_id")], ...)},
        ),
        "dependents": resources.DependentsAnswer,
        "activate": Activated,
        "favorite": resources.FavoriteAnswer,
        "unfavorite": resources.FavoriteAnswer,
        "labels": LabelList,
        "set_label": LabelAnswer,
    }


def _schema(name: str, doc: str, /, *bases: type[Shape], **fields: Any) -> Any:
    return create_model(name, __base__=bases, __doc__=doc, **fields)


def _page(name: str, doc: str, member: str, item: type[ResponseSchema]) -> Any:
    fields = {to_snake(member): (Annotated[list[item], Source("items")], ...)}  # type: ignore[valid-type]
    return _schema(name, doc, schemas.PageOf, **fields)


def _nothing_required(schema: ConfigSchema) -> type[Shape]:
    """Return the fields of an edit: none is required, and null clears one."""
    types = get_type_hints(schema.whole, include_extras=True)
    required = (name for name, field in schema.whole.model_fields.items() if field.is_required())
    optional: Any = {name: (types[name] | None, None) for name in required}
    edit_schema: type[Shape] = _schema("Optional", "The fields; none is required.", schema.edit, **optional)
    return edit_schema


VERSION_PAGING = Paging(
    20, fields=("versionNumber", "createdAt"), columns={"versionNumber": "number"}, then="-number"
)


class Compared(NamedTuple):
    diffs: list[Difference]
    from_version: VersionView
    to_version: VersionView


class ResourceViewSet(RecordViewSet):
    """All operations on a resource; a subclass determines the kind."""

    own_routes: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """The routes of this kind only, below a resource's id: methods and their actions."""
    own_requests: ClassVar[Mapping[str, type[RequestSchema]]] = {}
    own_responses: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """The bodies and answers of these routes, and of actions that this kind overrides."""
    created = RecordViewSet.created | {"add_version", "restore"}
    actions = {
        **RecordViewSet.actions,
        **dict.fromkeys(("activate", "set_label", "remove_label"), Action.PUBLISH),
    }
    guarded = RecordViewSet.guarded | {
        *("add_version", "activate", "restore", "destroy_version"),
        *("set_label", "remove_label"),
    }
    errors = {**RecordViewSet.errors, "activate": (409,)}
    query: ClassVar[Mapping[str, Parameters]] = {
        **RecordViewSet.query,
        "versions": (*VERSION_PAGING.parameters, parameters.SOURCE),
        "compare": parameters.COMPARED,
    }

    # Versions

    def versions(self, request: Request, id: str) -> Response:
        """List the versions, newest first."""
        page = VERSION_PAGING.read(request.query_params)
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
            lambda items: make_version_views(history.resource, items),
            unstored=commits,
            weight=ByteLength("config_json"),
        )

    def add_version(self, request: Request, id: str) -> Response:
        """Save a copy of the published version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.snapshot(id, message=message, by=self.caller, expect=self._expected_etags)
        )

    def version(self, request: Request, id: str, version: str) -> Response:
        """Read one version."""
        self._depends_on(id)
        resolved = self.collection.version(id, version, by=self.caller)
        return with_etag(request, self.dump(*make_version_views(resolved.resource, [resolved.version])))

    def compare(self, request: Request, id: str) -> Response:
        """Show the fields in which two versions differ."""
        query = request.query_params
        before, after, diffs = self.collection.compare(id, query["from"], query["to"], by=self.caller)
        versions = make_version_views(before.resource, [before.version, after.version])
        return Response(self.dump(Compared(diffs, *versions)))

    def activate(self, request: Request, id: str, version: str) -> Response:
        """Publish exactly this version."""
        options = read_options(Activate.read(request))
        published = self.collection.publish(
            id, version, by=self.caller, expect=self._expected_etags, **options
        )
        etag = make_record(self.collection, published, self.caller).etag
        return Response(self.dump(published), headers={"ETag": f'"{etag}"'})

    def restore(self, request: Request, id: str, version: str) -> Response:
        """Save a copy of this version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.restore(id, version, message=message, by=self.caller, expect=self._expected_etags)
        )

    def destroy_version(self, request: Request, id: str, version: str) -> Response:
        """Delete a version that is neither published nor labelled nor the only one."""
        Nothing.read(request)
        self.collection.delete_version(id, version, by=self.caller, expect=self._expected_etags)
        return Response(self.dump("The version is deleted."))

    # Labels

    def labels(self, request: Request, id: str) -> Response:
        """List the labels, the computed ones first."""
        self._depends_on(id)
        return Response(self.dump(self.collection.labels(id, by=self.caller)))

    def set_label(self, request: Request, id: str, name: str) -> Response:
        """Set a label on a version, or move it there."""
        body = SetLabel.read(request)
        resource, label = self.collection.label(
            id,
            name,
            body["versionId"],
            released=body.get("released"),
            by=self.caller,
            expect=self._expected_etags,
            **read_options(body),
        )
        [record] = self._make_records([resource])
        return with_etag(request, self.dump(label), etag=record.etag)

    def remove_label(self, request: Request, id: str, name: str) -> Response:
        """Remove a label."""
        Nothing.read(request)
        self.collection.unlabel(id, name, by=self.caller, expect=self._expected_etags)
        return Response(self.dump(f"The label {name!r} is removed."))

    def _made_version(self, resolved: Resolved[Any]) -> Response:
        headers = {"Location": f"{self._locate(resolved.resource)}/versions/{resolved.version.version_id}"}
        [version] = make_version_views(resolved.resource, [resolved.version])
        return with_etag(self.request, self.dump(version), status=201, headers=headers)


class OverridableViewSet(ResourceViewSet):
    """Resources of a kind that code can define and stored resources can override."""

    own_routes = {"change-request": {"post": "change_request"}}
    own_responses = {"change_request": ChangeRequestAnswer}

    def change_request(self, request: Request, id: str) -> Response:
        """Propose a change to the repository of the override; no repository can be configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        # As for an export, unknown fields are ignored.
        fields = read_body(request)
        about = {name: fields[name] for name in ("changeMessage", "inspectOnly") if name in fields}
        raise_for_issues(Proposal, about)
        agents.request_change(id, fields, message=about.get("changeMessage"), by=self.caller)
