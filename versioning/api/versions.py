"""The views of stored resources: versions and labels, and what only agents of code have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import parameters
from versioning.api.base import Parameters, with_etag
from versioning.api.paging import Page
from versioning.api.resources import RecordViewSet, options_of
from versioning.api.schemas.base import RequestSchema, body_of
from versioning.api.schemas.common import Nothing
from versioning.api.schemas.stored import ChangeRequestAnswer, Proposal
from versioning.api.schemas.versions import Activate, SetLabel, VersionCreate
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.config import raise_for_issues
from versioning.editor.reading import Difference
from versioning.editor.records import (
    VersionView,
    record_of,
    versions_of,
)
from versioning.models.search import ByteLength
from versioning.serving.resolution import Resolved

VERSION_ORDERS = {"versionNumber": "number", "createdAt": "created_at"}


class Compared(NamedTuple):
    """Two versions and the fields in which they differ."""

    diffs: list[Difference]
    from_version: VersionView
    to_version: VersionView


class ResourceViewSet(RecordViewSet):
    """All operations on a resource; a subclass determines the kind."""

    own_routes: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """The routes that only this kind has: below the id of a resource, its methods with their actions."""
    own_requests: ClassVar[Mapping[str, type[RequestSchema]]] = {}
    own_responses: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """The bodies and answers of these, and of actions that this kind answers differently."""
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
        "versions": (*parameters.paging(20, VERSION_ORDERS), parameters.SOURCE),
        "compare": parameters.COMPARED,
    }

    # Versions

    def versions(self, request: Request, id: str) -> Response:
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

    def add_version(self, request: Request, id: str) -> Response:
        """Save a copy of the published version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.snapshot(id, message=message, by=self.caller, expect=self._expected)
        )

    def version(self, request: Request, id: str, version: str) -> Response:
        """Read one version."""
        self._depends_on(id)
        found = self.collection.version(id, version, by=self.caller)
        return with_etag(request, self.dump(*versions_of(found.resource, [found.version])))

    def compare(self, request: Request, id: str) -> Response:
        """Show the fields in which two versions differ."""
        given = request.query_params
        before, after, diffs = self.collection.compare(id, given["from"], given["to"], by=self.caller)
        versions = versions_of(before.resource, [before.version, after.version])
        return Response(self.dump(Compared(diffs, *versions)))

    def activate(self, request: Request, id: str, version: str) -> Response:
        """Publish exactly this version."""
        options = options_of(Activate.read(request))
        published = self.collection.publish(id, version, by=self.caller, expect=self._expected, **options)
        etag = record_of(self.collection, published, self.caller).etag
        return Response(self.dump(published), headers={"ETag": f'"{etag}"'})

    def restore(self, request: Request, id: str, version: str) -> Response:
        """Save a copy of this version as a new draft."""
        message = VersionCreate.read(request).get("changeMessage")
        return self._made_version(
            self.collection.restore(id, version, message=message, by=self.caller, expect=self._expected)
        )

    def destroy_version(self, request: Request, id: str, version: str) -> Response:
        """Delete a version that is neither published nor labelled nor the only one."""
        Nothing.read(request)
        self.collection.delete_version(id, version, by=self.caller, expect=self._expected)
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
            expect=self._expected,
            **options_of(body),
        )
        [record] = self._records([resource])
        return with_etag(request, self.dump(label), etag=record.etag)

    def remove_label(self, request: Request, id: str, name: str) -> Response:
        """Remove a label."""
        Nothing.read(request)
        self.collection.unlabel(id, name, by=self.caller, expect=self._expected)
        return Response(self.dump(f"The label {name!r} is removed."))

    def _made_version(self, made: Resolved[Any]) -> Response:
        headers = {"Location": f"{self._address(made.resource)}/versions/{made.version.version_id}"}
        [version] = versions_of(made.resource, [made.version])
        return with_etag(self.request, self.dump(version), status=201, headers=headers)


class OverridableViewSet(ResourceViewSet):
    """Resources of a kind that code can define and stored resources can override."""

    own_routes = {"change-request": {"post": "change_request"}}
    own_responses = {"change_request": ChangeRequestAnswer}

    def change_request(self, request: Request, id: str) -> Response:
        """Propose a change to the repository that holds the override; no repository can be configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        # As for an export, unknown fields are ignored.
        fields = body_of(request)
        about = {name: fields[name] for name in ("changeMessage", "inspectOnly") if name in fields}
        raise_for_issues(Proposal, about)
        agents.request_change(id, fields, message=about.get("changeMessage"), by=self.caller)
