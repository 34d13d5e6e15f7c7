"""The signed-in person, and Django's `has_…_permission()`, answered by roles in workspaces.

Pages call them to decide on their content and on access. The editor's verbs, which pages call, check again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from versioning.domain.access import Caller, Right, Via
from versioning.models import VersionedResource, Workspace, caller_for

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def caller_of(request: HttpRequest) -> Caller:
    """Return the signed-in person as a caller, with their current roles.

    Computed once per request, so that every part of a page uses the same rights.
    """
    caller: Caller | None = getattr(request, "studio_caller", None)
    if caller is None:
        user = request.user
        caller = caller_for(user, Via.STUDIO) if user.is_authenticated and user.is_active else Caller()
        request.studio_caller = caller  # type: ignore[attr-defined]
    return caller


def may_enter(caller: Caller) -> bool:
    """Return whether the caller may use the studio: members of any workspace may, and superusers."""
    return caller.everywhere is not None or bool(caller.roles)


class EditorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """A model with the studio's own pages, whose permissions are roles in workspaces."""

    title: StrOrPromise = ""
    """The title of the list in the navigation."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether to show the list: every user of the studio sees it."""
        return may_enter(caller_of(request))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether an object may be read; without an object, True for every user of the studio."""
        return may_enter(caller_of(request)) if obj is None else self._has_right(request, Right.READ, obj)

    def has_view_drafts_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._has_right(request, Right.READ_DRAFTS, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._has_right(request, Right.SAVE, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._has_right(request, Right.SAVE, None)

    def has_publish_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._has_right(request, Right.PUBLISH, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether it may be deleted: publishers may."""
        return self.has_publish_permission(request, obj)

    def has_administer_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._has_right(request, Right.ADMINISTER, obj)

    def _has_right(
        self, request: HttpRequest, right: Right, obj: VersionedResource | Workspace | None
    ) -> bool:
        caller = caller_of(request)
        if obj is None:
            return caller.scope(right) != frozenset()
        return caller.may(right, obj.pk if isinstance(obj, Workspace) else obj.workspace_id)
