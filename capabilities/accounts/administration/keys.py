"""API keys and service accounts over HTTP."""

from __future__ import annotations

import datetime
from typing import Final

from editor_client.shared import ids
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.accounts.administration.schemas import (
    KeyAnswer,
    KeyCreate,
    KeyCreated,
    KeyPage,
    KeyRevoked,
    ServiceAccountAnswer,
    ServiceAccountCreate,
    ServiceAccountPage,
)
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging
from versioning.api.schemas import Nothing, Success, content_etag
from versioning.conf import get_editor
from versioning.domain.access import Action, Role
from versioning.domain.errors import Invalid
from versioning.domain.times import parse_moment
from versioning.models.accounts import username_lookup

KEY_PAGING: Final = Paging(100, then="-pk")
SERVICE_ACCOUNT_PAGING: Final = Paging(
    100, fields=("username",), columns={"username": username_lookup("user")}, direction="ASC", then="id"
)


class KeyViewSet(EditorViewSet):
    """The caller's API keys, and those of the workspaces that the caller administers."""

    job = "Administer"
    subject = "key"
    actions = dict.fromkeys(("create", "destroy"), Action.ADMIN)
    created = frozenset({"create"})
    errors = {"create": (404,)}
    query = {"list": (*KEY_PAGING.parameters, parameters.WORKSPACE)}
    requests = {"create": KeyCreate, "destroy": Nothing}
    responses = {"list": KeyPage, "create": KeyCreated, "destroy": KeyRevoked}
    paths = {"prefix": ({"type": "string"}, "The first eleven characters of the key.")}

    def list(self, request: Request) -> Response:
        """List the keys, newest first, revoked ones included."""
        given = request.query_params
        found = get_editor().key.list_keys(by=self.caller)
        if "workspaceId" in given:
            found = found.filter(workspace=given["workspaceId"])
        page = KEY_PAGING.read(given)
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Create a key of the caller or of a service account; only this answer shows it."""
        arguments = KeyCreate.read_arguments(request)
        if arguments.get("role") is not None:
            arguments["role"] = Role(arguments["role"])
        if arguments.get("actions") is not None:
            arguments["actions"] = [Action(action) for action in arguments["actions"]]
        if arguments.get("expires_at") is not None:
            arguments["expires_at"] = _moment(arguments["expires_at"])
        key, text = get_editor().key.issue(**arguments, by=self.caller)
        body = KeyAnswer.dump(key)
        location = addresses.location(f"keys/{ids.encode(key.prefix)}")
        headers = {"Location": location, "Cache-Control": "private, no-store"}  # no cache may store the key
        return with_etag(request, {**body, "key": text}, etag=content_etag(body), status=201, headers=headers)

    def destroy(self, request: Request, prefix: str) -> Response:
        """Revoke a key: it stops working with the next request, and its schedules fail."""
        Nothing.read(request)
        return Response(self.dump(get_editor().key.revoke(prefix, by=self.caller)))


class ServiceAccountViewSet(EditorViewSet):
    """Accounts for programs, in the workspaces that the caller administers."""

    job = "Administer"
    subject = "service account"
    actions = dict.fromkeys(("create", "destroy"), Action.ADMIN)
    created = frozenset({"create"})
    errors = {"create": (404, 409), "destroy": (409,)}
    query = {"list": (*SERVICE_ACCOUNT_PAGING.parameters, parameters.WORKSPACE)}
    requests = {"create": ServiceAccountCreate, "destroy": Nothing}
    responses = {"list": ServiceAccountPage, "create": ServiceAccountAnswer, "destroy": Success}
    paths = {"username": ({"type": "string"}, "The username of the account.")}

    def list(self, request: Request) -> Response:
        """List the service accounts, by username."""
        given = request.query_params
        found = get_editor().workspace.service_accounts(by=self.caller)
        if "workspaceId" in given:
            found = found.filter(workspace=given["workspaceId"])
        page = SERVICE_ACCOUNT_PAGING.read(given)
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Create a service account; make its keys with `POST /keys`."""
        given = ServiceAccountCreate.read(request)
        made = get_editor().workspace.create_service_account(
            given["workspaceId"], given["username"], Role(given["role"]), by=self.caller
        )
        location = addresses.location(f"service-accounts/{ids.encode(given['username'])}")
        return with_etag(request, self.dump(made), status=201, headers={"Location": location})

    def destroy(self, request: Request, username: str) -> Response:
        """Deactivate a service account permanently, with its keys; its versions keep its name."""
        Nothing.read(request)
        get_editor().workspace.delete_service_account(username, by=self.caller)
        return Response(self.dump(f"The service account {username} is deleted."))


def _moment(text: str) -> datetime.datetime:
    """Return a time; raises `Invalid` for an invalid one or one without an offset."""
    moment = parse_moment(text)
    if moment is None:
        raise Invalid.field("expiresAt", "must be a time such as 2030-01-31T12:00:00Z")
    return moment
