"""Maps domain errors to HTTP: the only place with status codes of errors."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404
from editor_client.shared.request_contexts import why_no_key
from psycopg.errors import QueryCanceled
from rest_framework import exceptions
from rest_framework.authentication import get_authorization_header
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response
from rest_framework.views import set_rollback

from versioning.api.idempotency import IdempotencyInProgress, IdempotencyMismatch
from versioning.api.limits import RETRY_AFTER, RunsFull
from versioning.api.schemas import utc
from versioning.domain import errors
from versioning.domain.locks import LockBroken
from versioning.models import storage
from versioning.models.sealed_keys import KeyUnreadable
from versioning.runtime import errors as runtime
from versioning.sources.files import OverrideChanged, OverrideNotWritten, OverrideUnreadable

logger = logging.getLogger(__name__)

STATUS: dict[type[errors.VersioningError], int] = {
    errors.Invalid: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.TooManyInvitations: 429,
    errors.NotFound: 404,
    errors.NoInstructions: 422,
    errors.Conflict: 409,
    errors.CursorAhead: 410,
    errors.CursorExpired: 410,
    errors.EditConflict: 412,
    IdempotencyInProgress: 409,
    IdempotencyMismatch: 422,
    KeyUnreadable: 503,
    LockBroken: 424,
    OverrideNotWritten: 503,
    OverrideChanged: 503,
    OverrideUnreadable: 503,
    RunsFull: 503,
    runtime.NoModel: 422,
    runtime.ProviderUnavailable: 422,
    runtime.DelegationStopped: 422,
    runtime.VersionUnresolved: 424,
    runtime.ProviderFailed: 502,
    runtime.ToolFailed: 502,
}

RETRY_SOON = {"Retry-After": "1"}
RETRY_LATER = {"Retry-After": "10"}
"""`Retry-After` in seconds for failures that an administrator has to fix."""
RETRY_RUN = {"Retry-After": str(RETRY_AFTER)}
RETRY_INVITATION: Final = "600"
STORAGE_FULL: Final = "storage_full"
_UNAVAILABLE: Final = 503

# The errors of Django REST framework itself, with codes of the domain.
_FRAMEWORK_CODES: dict[type[exceptions.APIException], str] = {
    exceptions.NotAuthenticated: "unauthorized",
    exceptions.AuthenticationFailed: "unauthorized",
    exceptions.PermissionDenied: "forbidden",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response for an exception of a view; None for a bug, as DRF's own handler does."""
    set_rollback()
    if isinstance(error, errors.VersioningError):
        headers = RETRY_RUN if isinstance(error, RunsFull) else {}
        # Errors of other applications have the status of their base class.
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        response = Response(error_body(error), status=status, headers=headers)
        if response.status_code == _UNAVAILABLE:
            response.headers.setdefault("Retry-After", RETRY_LATER["Retry-After"])
        if isinstance(error, errors.TooManyInvitations):
            response["Retry-After"] = RETRY_INVITATION
        if isinstance(error, errors.Unauthorized):
            response["WWW-Authenticate"] = context["view"].get_authenticate_header(context["request"])
        return response
    if isinstance(error, exceptions.NotAuthenticated):
        authorization = get_authorization_header(context["request"]).decode("latin-1")
        return exception_handler(errors.Unauthorized(why_no_key(authorization)), context)
    if isinstance(error, Http404):
        return exception_handler(errors.NotFound(), context)
    if isinstance(error, PermissionDenied):
        return exception_handler(errors.Forbidden(str(error) or "You may not do this."), context)
    if isinstance(error, OperationalError | InterfaceError):
        body, headers = _database_error(error, context["request"].method)
        logger.error(body["error"].partition(";")[0], exc_info=error)
        return Response(body, status=_UNAVAILABLE, headers=headers)
    return _framework_response(error) if isinstance(error, exceptions.APIException) else None


def error_body(error: errors.VersioningError) -> dict[str, Any]:
    """Return the JSON object of a domain error, described by the schema `ErrorAnswer`."""
    details = error.details()
    if isinstance(error, errors.EditConflict):
        details["current"] = {**error.current, "savedAt": utc(error.current["savedAt"])}
    return {"error": error.message, "code": error.code, **details}


def _framework_response(error: exceptions.APIException) -> Response:
    headers = {}
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[union-attr]
    if isinstance(error, exceptions.Throttled):
        headers["Retry-After"] = str(math.ceil(getattr(error, "wait", None) or 1))
    code = _FRAMEWORK_CODES.get(type(error), str(error.default_code))
    return Response({"error": str(error.detail), "code": code}, status=error.status_code, headers=headers)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer a request that Django itself refuses, such as one for an unknown host name."""
    return error_response(400, "bad_request", "This server cannot answer the request.")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer a refusal outside the API views."""
    return error_response(403, "forbidden", "You may not do this.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 404 for a missing object or an unknown address."""
    error = errors.NoSuchAddress() if isinstance(exception, Resolver404) else errors.NotFound()
    return JsonResponse(error_body(error), status=404)


def no_such_address(app: str | None = None) -> HttpResponse:
    """Answer 404 for an unknown address below the API's prefix.

    `app` is the application that would serve it.
    """
    return JsonResponse(error_body(errors.NoSuchAddress(app)), status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer after a bug: the log has the details, with the id of the request."""
    return error_response(500, "server_error", "Something went wrong on the server; see its log.")


def method_not_allowed(request: HttpRequest, methods: Iterable[str]) -> HttpResponse:
    """Answer a method that an address does not allow; `Allow` lists the allowed ones."""
    answer = error_response(405, "method_not_allowed", f'Method "{request.method}" not allowed.')
    answer["Allow"] = ", ".join(methods)
    return answer


def database_unavailable(error: Exception, method: str | None = "GET") -> HttpResponse:
    """Answer after a failure of the database outside the API views."""
    body, headers = _database_error(error, method)
    return JsonResponse(body, status=_UNAVAILABLE, headers=headers)


def runs_full(error: RunsFull) -> HttpResponse:
    """Answer 503 for a run beyond the limit of the process, outside the API views."""
    return JsonResponse(error_body(error), status=503, headers=RETRY_RUN)


def is_storage_full(error: Exception, method: str | None) -> bool:
    """Return whether a request failed because the disk is full; for a write, report it to `/readyz`."""
    is_full = storage.says_full(error)
    if is_full and method not in SAFE_METHODS:
        storage.note_failed_save()
    return is_full


def storage_full(**members: str) -> HttpResponse:
    body = {"error": _FULL, "code": STORAGE_FULL, **members}
    return JsonResponse(body, status=_UNAVAILABLE, headers=RETRY_LATER)


_FULL: Final = "The disk is full; nothing was saved."


def _database_error(error: Exception, method: str | None) -> tuple[dict[str, str], dict[str, str]]:
    if is_storage_full(error, method):
        return {"error": _FULL, "code": STORAGE_FULL}, RETRY_LATER
    text, code = "The database does not answer; nothing was saved.", "database_unavailable"
    if isinstance(error.__cause__, QueryCanceled):
        text, code = "The database took too long for this; nothing was saved.", "database_timeout"
    return {"error": text, "code": code}, RETRY_SOON


def error_response(status: int, code: str, message: str) -> JsonResponse:
    """Return an error response for use outside the API views."""
    return JsonResponse({"error": message, "code": code}, status=status)


def too_large(limit: int) -> JsonResponse:
    return error_response(413, "payload_too_large", f"The body must not be larger than {limit} bytes.")
