"""The signed-in person as the `Caller` that every verb of the editor takes."""

from __future__ import annotations

from django.http import HttpRequest

from versioning.domain.access import Caller, Via
from versioning.models import caller_for

NOBODY = Caller()


def caller_of(request: HttpRequest) -> Caller:
    """Return the signed-in person as a caller, with their current roles.

    Computed once per request, so that every part of a page uses the same rights.
    """
    caller: Caller | None = getattr(request, "studio_caller", None)
    if caller is None:
        user = request.user
        caller = caller_for(user, Via.STUDIO) if user.is_authenticated and user.is_active else NOBODY
        request.studio_caller = caller  # type: ignore[attr-defined]
    return caller


def may_enter(caller: Caller) -> bool:
    """Return whether the caller may use the studio: members of any workspace may, and superusers."""
    return caller.everywhere is not None or bool(caller.roles)
