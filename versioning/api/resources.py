"""The routes of stored agents and prompt blocks: one set of views, two kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from editor_client.shared import ids
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import bodies, parameters, wire
from versioning.api.base import EditorViewSet, Parameters, expected_tags, record_tag, tagged
from versioning.api.filters import ResourceFilter
from versioning.api.paging import Page
from versioning.conf import get_editor
from versioning.domain.fields import Shape
from versioning.domain.selectors import Status
from versioning.editor import Collection
from versioning.models import Favorited, VersionedResource
from versioning.serving.resolution import Resolved

RECORD_ORDERS = {"createdAt": "created_at", "updatedAt": "updated_at"}
VERSION_ORDERS = {"versionNumber": "number", "createdAt": "created_at"}


class ResourceViewSet(EditorViewSet):
    """Everything that can be done with a resource; a subclass says with which kind."""

    kind: ClassVar[wire.Kind]
    filters: ClassVar[type[ResourceFilter]]
    created = frozenset({"create", "clone", "add_version", "restore"})
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
    query: ClassVar[Mapping[str, Parameters]] = {
        "retrieve": parameters.SELECTOR,
        "destroy": (parameters.IF_UNUSED,),
        "dependents": (parameters.DEPENDENTS_STATUS,),
        "export": parameters.SELECTOR,
        "clone": parameters.SELECTOR,
        "versions": (*parameters.paging(20, VERSION_ORDERS), parameters.SOURCE),
        "compare": parameters.COMPARED,
    }

    @property
    def collection(self) -> Collection[Any]:
        """The agents, or the prompt blocks, of this installation."""
        collection: Collection[Any] = getattr(get_editor(), self.kind.namespace)
        return collection

    # Records

    def list(self, request: Request) -> Response:
        """List what the caller may read, newest first."""
        filtered = self.filters(
            request.query_params, self.collection.list(by=self.caller), request=self.request
        )
        page = Page.read(request.query_params, size=100, fields=RECORD_ORDERS, then="id")
        rows = filtered.chosen
        self.made_of(self.collection.basis_of_list(rows.order_by(*page.order), page.slice))
        beside = [found for found in self.collection.beside(by=self.caller) if filtered.keeps(found)]
        return Response(page.answer(self.kind.list_key, rows, self._records, beside=beside))

    def create(self, request: Request) -> Response:
        """Make a resource with its first version."""
        config, record = bodies.split(bodies.read(request, self.create_body(request)))
        return self._made(self.collection.create(config, **record, by=self.caller))

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002
        """Read a record with the fields of the version that the selector names."""
        self.made_of(self.collection.basis_of_record(id))
        return self._record(
            self.collection.get(id, parameters.selector(request.query_params), by=self.caller)
        )

    def update(self, request: Request, id: str) -> Response:  # noqa: A002
        """Save an edit, as a draft unless `autoPublish` is true."""
        changes, record = bodies.split(bodies.read(request, self.update_body(id)))
        saved = self.collection.edit(id, changes, **record, by=self.caller, expect=self._expected)
        return self._saved(saved)

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002
        """Delete a resource with its versions and labels."""
        bodies.read(request, bodies.Nothing)
        if_unused = request.query_params.get("ifUnused") == "true"
        self.collection.delete(id, if_unused=if_unused, by=self.caller, expect=self._expected)
        return Response({"success": True, "message": f"The {self.kind.singular} {id!r} is deleted."})

    def dependents(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the agents that refer to it."""
        status = Status(request.query_params.get("status", Status.PUBLISHED))
        self.made_of(self.collection.basis_of_dependents(id))
        return Response(wire.dependents(self.collection.dependents(id, status=status, by=self.caller)))

    def export(self, request: Request, id: str) -> Response:  # noqa: A002
        """Return the given fields, or a stored version, as deterministic JSON; nothing is stored."""
        selector = parameters.selector(request.query_params)
        config = self.collection.export(id, bodies.as_object(request), selector, by=self.caller)
        return Response(wire.export(self.kind, id, config))

    def clone(self, request: Request, id: str) -> Response:  # noqa: A002
        """Make a new, unpublished resource of the version that the selector names."""
        body = bodies.read(request, bodies.Clone)
        names = {"newId": "new_id", "newName": "name", "workspaceId": "workspace"}
        asked = {names[member]: value for member, value in body.items()}
        selector = parameters.selector(request.query_params)
        return self._made(self.collection.clone(id, selector=selector, **asked, by=self.caller))

    def unpublish(self, request: Request, id: str) -> Response:  # noqa: A002
        """Serve no version any more."""
        bodies.read(request, bodies.Nothing)
        return self._record(self.collection.unpublish(id, by=self.caller, expect=self._expected))

    # Versions

    def versions(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the versions, newest first."""
        page = Page.read(request.query_params, size=20, fields=VERSION_ORDERS, then="-number")
        self.made_of(self.collection.basis_of_versions(id, page.order, page.slice))
        history = self.collection.versions(id, by=self.caller)
        source = request.query_params.get("source")
        rows = history.versions.none() if source == "git" else history.versions
        commits = () if source == "database" else history.commits
        if source is None and commits:
            page = page.ordered_by("created_at", "number")  # two counts of their own say nothing together
        return Response(
            page.answer(
                "versions", rows, lambda found: self._versions(history.resource, found), beside=commits
            )
        )

    def add_version(self, request: Request, id: str) -> Response:  # noqa: A002
        """Save a copy of what is published as a new draft."""
        body = bodies.read(request, bodies.VersionCreate)
        return self._made_version(
            self.collection.snapshot(
                id, message=body.get("changeMessage"), by=self.caller, expect=self._expected
            )
        )

    def version(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Read one version."""
        found = self.collection.version(id, version, by=self.caller)
        return tagged(request, self._versions(found.resource, [found.version])[0])

    def compare(self, request: Request, id: str) -> Response:  # noqa: A002
        """Show the fields in which two versions differ."""
        given = request.query_params
        before, after, differences = self.collection.compare(id, given["from"], given["to"], by=self.caller)
        versions = self._versions(before.resource, [before.version, after.version])
        found = [wire.difference(difference) for difference in differences]
        return Response({"diffs": found, "fromVersion": versions[0], "toVersion": versions[1]})

    def activate(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Publish exactly this version."""
        bodies.read(request, bodies.Nothing)
        published = self.collection.publish(id, version, by=self.caller, expect=self._expected)
        data = wire.activated(published)
        return Response(data, headers={"ETag": f'"{self._tag(published.resource)}"'})

    def restore(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Save a copy of this version as a new draft."""
        body = bodies.read(request, bodies.VersionCreate)
        message = body.get("changeMessage")
        return self._made_version(
            self.collection.restore(id, version, message=message, by=self.caller, expect=self._expected)
        )

    def destroy_version(self, request: Request, id: str, version: str) -> Response:  # noqa: A002
        """Delete a version that is neither published nor labelled nor the only one."""
        bodies.read(request, bodies.Nothing)
        self.collection.delete_version(id, version, by=self.caller, expect=self._expected)
        return Response({"success": True, "message": "The version is deleted."})

    # Labels

    def labels(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the labels, the computed ones first."""
        return Response(
            {"labels": [wire.label(found) for found in self.collection.labels(id, by=self.caller)]}
        )

    def set_label(self, request: Request, id: str, name: str) -> Response:  # noqa: A002
        """Set a label on a version, or move it there."""
        body = bodies.read(request, bodies.SetLabel)
        resource, label = self.collection.label(
            id,
            name,
            body["versionId"],
            released=body.get("released"),
            by=self.caller,
            expect=self._expected,
        )
        return tagged(request, wire.label(label), tag=self._tag(resource))

    def remove_label(self, request: Request, id: str, name: str) -> Response:  # noqa: A002
        """Remove a label."""
        bodies.read(request, bodies.Nothing)
        self.collection.unlabel(id, name, by=self.caller, expect=self._expected)
        return Response({"success": True, "message": f"The label {name!r} is removed."})

    # Answers

    def create_body(self, request: Request) -> type[Shape]:
        """Return the shape of the body that makes this resource."""
        return self.bodies["create"]

    def update_body(self, resource_id: str) -> type[Shape]:
        """Return the shape of the body that edits this resource."""
        return self.bodies["update"]

    @property
    def _expected(self) -> frozenset[str] | None:
        return expected_tags(self.request)

    def _favorited(self, resource: VersionedResource) -> Favorited | None:
        return self.collection.favorites_about([resource.pk], by=self.caller).get(resource.pk)

    def _tag(self, resource: VersionedResource) -> str:
        return record_tag(resource, self.caller, self.collection.code, self._favorited(resource))

    def _record(self, found: Resolved[Any]) -> Response:
        favorited = self._favorited(found.resource)
        data = wire.record(found.resource, found.version, self.caller, self.collection.code, favorited)
        tag = record_tag(found.resource, self.caller, self.collection.code, favorited)
        return tagged(self.request, data, tag=tag)

    def _records(self, rows: Any) -> Any:
        favorites = self.collection.favorites_about([row.pk for row in rows], by=self.caller)
        return [
            wire.record(
                row, row.active or row.latest, self.caller, self.collection.code, favorites.get(row.pk)
            )
            for row in rows
        ]

    def _saved(self, saved: Resolved[Any], **response: Any) -> Response:
        favorited = self._favorited(saved.resource)
        data = wire.saved(saved, self.caller, self.collection.code, favorited)
        tag = record_tag(saved.resource, self.caller, self.collection.code, favorited)
        return tagged(self.request, data, tag=tag, **response)

    def _versions(self, resource: VersionedResource | None, rows: Any) -> Any:
        if resource is None:
            return []
        labels: dict[str, list[str]] = {row.version_id: [] for row in rows}
        own = [row.version_id for row in rows if not row.read_only]
        for label in resource.labels.filter(version_id__in=own):
            labels[str(label.version_id)].append(label.name)
        return [wire.version(self.kind, resource, row, labels[row.version_id]) for row in rows]

    def _made(self, made: Resolved[Any]) -> Response:
        headers = {"Location": self._address(made.resource)}
        return self._saved(made, status=201, headers=headers)

    def _made_version(self, made: Resolved[Any]) -> Response:
        headers = {"Location": f"{self._address(made.resource)}/versions/{made.version.version_id}"}
        data = self._versions(made.resource, [made.version])[0]
        return tagged(self.request, data, status=201, headers=headers)

    def _address(self, resource: VersionedResource) -> str:
        return f"/{settings.EDITOR_API_PREFIX}/stored/{self.kind.segment}/{ids.encode(resource.pk)}"
