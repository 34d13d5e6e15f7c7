"""Health checks for load balancers: whether the process is alive, and whether it can serve requests."""

from __future__ import annotations

from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse

from versioning import __version__
from versioning.api import errors
from versioning.api.addresses import require_safe
from versioning.models import replica, storage


@require_safe
def alive(_request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as the process runs, without querying the database."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """Answer 200 if the database answers, is migrated and has space, otherwise 503; with the version."""
    try:
        pending = storage.lack_migrations()
        is_full = storage.is_full()
    except Error as error:
        return errors.database_unavailable(error)
    details = {"version": __version__, "migrations": "pending" if pending else "current"}
    if pending:
        return JsonResponse({"error": storage.NOT_MIGRATED, "code": "not_migrated", **details}, status=503)
    if is_full:
        return errors.storage_full(**details)
    if replica.is_configured():
        details["replica"] = replica.state().state  # without it, reads go to the primary
    return JsonResponse({"status": "ok", **details})
