"""From domain errors to HTTP: the one place that knows status codes of failures."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from psycopg.errors import QueryCanceled
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from versioning.api.schemas.base import utc
from versioning.domain import errors
from versioning.runtime import errors as runtime
from versioning.sources.files import OverrideChanged, OverrideNotWritten, OverrideUnreadable

logger = logging.getLogger(__name__)

STATUS: dict[type[errors.VersioningError], int] = {
    errors.Invalid: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.NoInstructions: 422,
    errors.IdTaken: 409,
    errors.InUse: 409,
    errors.CursorExpired: 410,
    errors.EditConflict: 412,
    OverrideNotWritten: 503,
    OverrideChanged: 503,
    OverrideUnreadable: 503,
    runtime.NoModel: 422,
    runtime.ProviderUnavailable: 422,
    runtime.DelegationStopped: 422,
    runtime.VersionUnresolved: 424,
    runtime.ProviderFailed: 502,
    runtime.ToolFailed: 502,
}

RETRY_SOON = {"Retry-After": "1"}

# What the framework raises by itself, in the words of the domain.
_FRAMEWORK_CODES: dict[type[exceptions.APIException], str] = {
    exceptions.NotAuthenticated: "unauthorized",
    exceptions.AuthenticationFailed: "unauthorized",
    exceptions.PermissionDenied: "forbidden",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}


def handle(fault: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to an exception of a view; None for one that is a bug."""
    set_rollback()
    if isinstance(fault, errors.VersioningError):
        response = Response(body(fault), status=STATUS[type(fault)])
        if isinstance(fault, errors.Unauthorized):
            response["WWW-Authenticate"] = context["view"].get_authenticate_header(context["request"])
        return response
    if isinstance(fault, Http404):
        return handle(errors.NotFound(), context)
    if isinstance(fault, PermissionDenied):
        return handle(errors.Forbidden(str(fault) or "You may not do this."), context)
    if isinstance(fault, OperationalError | InterfaceError):
        logger.error("the database does not answer", exc_info=fault)
        return Response(_database_fault(fault), status=503, headers=RETRY_SOON)
    return _framework_answer(fault) if isinstance(fault, exceptions.APIException) else None


def body(fault: errors.VersioningError) -> dict[str, Any]:
    """Return the wire form of a domain error."""
    details = fault.details()
    if isinstance(fault, errors.EditConflict):
        details["current"] = {**fault.current, "savedAt": utc(fault.current["savedAt"])}
    return {"error": fault.message, "code": fault.code, **details}


def _framework_answer(fault: exceptions.APIException) -> Response:
    headers = {}
    if isinstance(fault, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = fault.auth_header  # type: ignore[union-attr]
    if isinstance(fault, exceptions.Throttled):
        headers["Retry-After"] = str(math.ceil(getattr(fault, "wait", None) or 1))
    code = _FRAMEWORK_CODES.get(type(fault), str(fault.default_code))
    return Response({"error": str(fault.detail), "code": code}, status=fault.status_code, headers=headers)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer what Django itself refuses, such as an unknown host name."""
    return plain(400, "bad_request", "The request is not one that this server answers.")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer a refusal outside the API."""
    return plain(403, "forbidden", "You may not do this.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer for an address that does not exist."""
    return JsonResponse(body(errors.NotFound()), status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a bug: the log has the details under the request's id."""
    return plain(500, "server_error", "Something went wrong on the server; its log says what.")


def method_not_allowed(request: HttpRequest, known: Iterable[str]) -> HttpResponse:
    """Answer a method that an address does not know; `Allow` names those that it does."""
    answer = plain(405, "method_not_allowed", f'Method "{request.method}" not allowed.')
    answer["Allow"] = ", ".join(known)
    return answer


def database_unavailable(fault: Exception) -> HttpResponse:
    """Answer a failure of the database outside the API framework."""
    return JsonResponse(_database_fault(fault), status=503, headers=RETRY_SOON)


def _database_fault(fault: Exception) -> dict[str, str]:
    if isinstance(fault.__cause__, QueryCanceled):
        return {
            "error": "The database took too long for this; nothing was saved.",
            "code": "database_timeout",
        }
    return {"error": "The database does not answer; nothing was saved.", "code": "database_unavailable"}


def plain(status: int, code: str, message: str) -> JsonResponse:
    """Return an error answer from outside the API framework."""
    return JsonResponse({"error": message, "code": code}, status=status)


def too_large(limit: int) -> JsonResponse:
    """Return the answer to a body of more bytes than that."""
    return plain(413, "payload_too_large", f"The body must not be larger than {limit} bytes.")
