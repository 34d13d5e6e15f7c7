"""Who is looking: the signed-in person as the caller that all verbs of the editor ask for."""

from __future__ import annotations

from django.http import HttpRequest

from versioning.domain.access import Caller, Via
from versioning.models import caller_for

NOBODY = Caller()


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller that the signed-in person is, with the roles of this moment.

    Found out once a request, so that every part of a page shows the same rights.
    """
    caller: Caller | None = getattr(request, "studio_caller", None)
    if caller is None:
        user = request.user
        caller = caller_for(user, Via.STUDIO) if user.is_authenticated and user.is_active else NOBODY
        request.studio_caller = caller  # type: ignore[attr-defined]
    return caller


def may_enter(caller: Caller) -> bool:
    """Say whether the studio is open to the caller: to the members of any workspace, and superusers."""
    return caller.everywhere is not None or bool(caller.roles)
