"""SCIM 2.0 over HTTP: users, and the features of the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.http import Http404
from django.urls import reverse
from rest_framework.exceptions import APIException
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, set_rollback

from capabilities.accounts.directory import accounts
from capabilities.accounts.directory.scim import (
    LIST,
    MAX_RESULTS,
    USER,
    ScimError,
    Search,
    filter_of,
    invalid,
    read_patch,
    user_of,
)
from capabilities.accounts.models import DirectoryAccount
from studio.named import display_name
from versioning.api.authentication import ApiKeyAuthentication, CallerThrottle
from versioning.api.base import finish_response
from versioning.api.errors import exception_handler as api_errors
from versioning.api.schemas import ExactJSONParser, utc
from versioning.domain.access import Action, Caller, Role
from versioning.domain.errors import Forbidden, VersioningError

MEDIA_TYPE: Final = "application/scim+json"
SCHEMA: Final = "urn:ietf:params:scim:schemas:core:2.0"


class ScimRenderer(JSONRenderer):
    """JSON of SCIM's media type."""

    media_type = MEDIA_TYPE
    charset = None


class ScimParser(ExactJSONParser):
    """The JSON of the API, under SCIM's media type."""

    media_type = MEDIA_TYPE


class OneFormat(BaseContentNegotiation):
    """Answers in SCIM's media type, without regard to `Accept`."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser for the body; None for another media type."""
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """Return the only renderer."""
        return renderers[0], renderers[0].media_type


class DirectoryView(APIView):
    """The base of the views: only keys with the action `directory`, whose owner is a superuser."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [IsAuthenticated]
    throttle_classes = [CallerThrottle]
    parser_classes = [ScimParser, ExactJSONParser]
    renderer_classes = [ScimRenderer]
    content_negotiation_class = OneFormat
    schema = None
    versioning_class = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, and check that the key is for the directory."""
        super().initial(request, *args, **kwargs)
        self.caller.require_action(Action.DIRECTORY)
        if any("\x00" in part for part in kwargs.values()):  # PostgreSQL cannot search for it
            raise invalid("The address contains a NUL character.")
        if self.caller.everywhere is not Role.ADMIN:
            raise Forbidden("The owner of the key must be a superuser.")

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Return the answer with the headers of all answers."""
        return finish_response(request, super().finalize_response(request, response, *args, **kwargs))

    @property
    def caller(self) -> Caller:
        """The caller of the key."""
        caller: Caller = self.request.auth  # type: ignore[assignment]
        return caller

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Return the handler that answers in SCIM's form."""
        return _answer_error

    def address(self, path: str) -> str:
        """Return the absolute address of a path below SCIM's root."""
        return self.request.build_absolute_uri(f"{reverse('scim:root')}{path}")

    def user(self, user: Any, directory_account: DirectoryAccount | None) -> dict[str, Any]:
        """Return an account in SCIM's form."""
        mail = getattr(user, get_user_model().get_email_field_name(), "")
        names = {"givenName": getattr(user, "first_name", ""), "familyName": getattr(user, "last_name", "")}
        resource: dict[str, Any] = {
            "schemas": [USER],
            "id": str(user.pk),
            "userName": user.get_username(),
            "active": user.is_active,
            "meta": {"resourceType": "User", "location": self.address(f"Users/{user.pk}")},
        }
        if name := {key: value for key, value in names.items() if value}:
            resource |= {"displayName": display_name(user), "name": name}
        if mail:
            record = directory_account or DirectoryAccount(user=user)
            resource["emails"] = [
                {"value": mail, "type": record.mail_type, "primary": record.mail_is_primary}
            ]
        if directory_account is not None:
            resource["meta"] |= {
                "created": utc(directory_account.created_at),
                "lastModified": utc(directory_account.changed_at),
            }
            if directory_account.external_id:
                resource["externalId"] = directory_account.external_id
        return resource

    def one(self, user: Any, **response: Any) -> Response:
        """Return the answer with the attributes of one account that the query asks for."""
        body = self.user(user, accounts.find_directory_account(user))
        headers = {"Location": body["meta"]["location"]}
        return Response(Search.of_query(self.request.query_params).select(body), **response, headers=headers)

    def search(self, search: Search) -> Response:
        """Return the answer to a search."""
        users = (
            accounts.list_people(*filter_of(search.filter))
            if search.filter is not None
            else accounts.list_people()
        )
        page = list(users[search.start - 1 : search.start - 1 + search.count])
        directory_accounts = DirectoryAccount.objects.in_bulk([user.pk for user in page])
        resources = [search.select(self.user(user, directory_accounts.get(user.pk))) for user in page]
        return self.list_response(resources, users.count(), search.start)

    def list_response(
        self, resources: list[dict[str, Any]], total: int | None = None, start: int = 1
    ) -> Response:
        """Return the answer with a list."""
        return Response(
            {
                "schemas": [LIST],
                "totalResults": len(resources) if total is None else total,
                "startIndex": start,
                "itemsPerPage": len(resources),
                "Resources": resources,
            }
        )


class UsersView(DirectoryView):
    """All accounts of people."""

    def get(self, request: Request) -> Response:
        """List them, or those that a filter names."""
        return self.search(Search.of_query(request.query_params))

    def post(self, request: Request) -> Response:
        """Create an account without a password, or revive a deleted one."""
        user = accounts.create(user_of(request.data, is_new=True), self.caller)
        return self.one(user, status=201)


class SearchView(DirectoryView):
    """The list, requested by a body, because queries may end up in logs."""

    def post(self, request: Request) -> Response:
        """List all accounts of people, or those that a filter names."""
        return self.search(Search.of_body(request.data))


class UserView(DirectoryView):
    """One account."""

    def get(self, request: Request, user_id: str) -> Response:
        """Read it."""
        return self.one(accounts.find(user_id))

    def put(self, request: Request, user_id: str) -> Response:
        """Replace its attributes."""
        return self.one(accounts.change(user_id, user_of(request.data, is_new=False), self.caller))

    def patch(self, request: Request, user_id: str) -> Response:
        """Change some of its attributes."""
        return self.one(accounts.change(user_id, read_patch(request.data), self.caller))

    def delete(self, request: Request, user_id: str) -> Response:
        """Deactivate it permanently."""
        accounts.delete(user_id, self.caller)
        return Response(status=204)


class ServiceProviderConfigView(DirectoryView):
    """The features of the service."""

    def get(self, request: Request) -> Response:
        """Read it."""
        no = {"supported": False}
        return Response(
            {
                "schemas": [f"{SCHEMA.removesuffix(':core:2.0')}:core:2.0:ServiceProviderConfig"],
                "patch": {"supported": True},
                "bulk": {**no, "maxOperations": 0, "maxPayloadSize": 0},
                "filter": {"supported": True, "maxResults": MAX_RESULTS},
                "changePassword": no,
                "sort": no,
                "etag": no,
                "authenticationSchemes": [
                    {
                        "type": "oauthbearertoken",
                        "name": "API key",
                        "description": "An API key with the action directory, which a superuser makes.",
                        "primary": True,
                    }
                ],
                "meta": {
                    "resourceType": "ServiceProviderConfig",
                    "location": self.address("ServiceProviderConfig"),
                },
            }
        )


class ResourceTypesView(DirectoryView):
    """The only type: users."""

    def get(self, request: Request, name: str | None = None) -> Response:
        """List the types, or read one."""
        user = {
            "schemas": [f"{SCHEMA}:ResourceType"],
            "id": "User",
            "name": "User",
            "endpoint": "/Users",
            "schema": USER,
            "meta": {"resourceType": "ResourceType", "location": self.address("ResourceTypes/User")},
        }
        return self.list_response([user]) if name is None else _only(name, "User", user)


class SchemasView(DirectoryView):
    """The supported part of the schema of users."""

    def get(self, request: Request, name: str | None = None) -> Response:
        """List the schemas, or read one."""
        of_name = [_attribute("givenName"), _attribute("familyName")]
        of_mail = [_attribute("value"), _attribute("type"), _attribute("primary", kind="boolean")]
        user = {
            "schemas": [f"{SCHEMA}:Schema"],
            "id": USER,
            "name": "User",
            "attributes": [
                {**_attribute("userName", "immutable"), "required": True, "uniqueness": "server"},
                _attribute("displayName"),
                {**_attribute("name", kind="complex"), "subAttributes": of_name},
                {**_attribute("emails", kind="complex"), "multiValued": True, "subAttributes": of_mail},
                {**_attribute("active", kind="boolean"), "required": True},
            ],
            "meta": {"resourceType": "Schema", "location": self.address(f"Schemas/{USER}")},
        }
        return self.list_response([user]) if name is None else _only(name, USER, user)


class MissingView(DirectoryView):
    """Everything else."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404, after authenticating."""
        super().initial(request, *args, **kwargs)
        raise ScimError(404, "There is nothing here.")


def _attribute(name: str, mutability: str = "readWrite", kind: str = "string") -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "required": False,
        "caseExact": False,
        "mutability": mutability,
        "returned": "default",
        "uniqueness": "none",
    }


def _only(name: str, expected: str, resource: dict[str, Any]) -> Response:
    if name != expected:
        raise ScimError(404, "There is nothing here.")
    return Response(resource)


def _answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to an error in SCIM's form; None for a bug."""
    set_rollback()
    if isinstance(error, ScimError):
        return Response(error.body, status=error.status)
    response = api_errors(error, context)
    if response is None:
        return None
    detail = error.message if isinstance(error, VersioningError) else None
    if detail is None and isinstance(error, APIException | Http404):
        detail = str(getattr(error, "detail", error))
    refusal = ScimError(response.status_code, detail or str(response.data.get("error")))
    if response.status_code == 400:
        refusal = invalid(refusal.detail, "invalidSyntax")
    headers = {name: value for name, value in response.headers.items() if name.lower() != "content-type"}
    return Response(refusal.body, status=response.status_code, headers=headers)
