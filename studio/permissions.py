"""Who may do what in the studio: Django's `has_…_permission()`, answered by roles in workspaces.

Pages ask them what to show and whether to open. The verbs of the editor, which pages call, check again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.http import HttpRequest

from studio.auth import caller_of, may_enter
from versioning.domain.access import Right
from versioning.models import VersionedResource, Workspace

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_PERMISSIONS: Final[Mapping[Right, str]] = {
    Right.READ: "view",
    Right.READ_DRAFTS: "view_drafts",
    Right.SAVE: "change",
    Right.PUBLISH: "publish",
    Right.ADMINISTER: "administer",
}


class EditorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """A model whose pages are the studio's own, and whose permissions are roles in workspaces."""

    title: StrOrPromise = ""
    """What the list is called in the navigation."""

    def may(self, request: HttpRequest, right: Right, obj: Any = None) -> bool:
        """Say whether the caller has the permission that stands for a right, about an object or any."""
        allowed: bool = getattr(self, f"has_{_PERMISSIONS[right]}_permission")(request, obj)
        return allowed

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Everybody whom the studio lets in sees the list, of what they may read."""
        return may_enter(caller_of(request))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether an object may be read; any is readable to all whom the studio lets in."""
        return may_enter(caller_of(request)) if obj is None else self._has_right(request, Right.READ, obj)

    def has_view_drafts_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether drafts and history may be read."""
        return self._has_right(request, Right.READ_DRAFTS, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether drafts may be saved."""
        return self._has_right(request, Right.SAVE, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Say whether there is a workspace in which the caller may create something."""
        return self._has_right(request, Right.SAVE, None)

    def has_publish_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether versions may be made live."""
        return self._has_right(request, Right.PUBLISH, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether it may be deleted: who publishes may."""
        return self.has_publish_permission(request, obj)

    def has_administer_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say whether members and keys may be changed."""
        return self._has_right(request, Right.ADMINISTER, obj)

    def _has_right(
        self, request: HttpRequest, right: Right, obj: VersionedResource | Workspace | None
    ) -> bool:
        caller = caller_of(request)
        if obj is None:
            return caller.scope(right) != frozenset()
        return caller.may(right, obj.pk if isinstance(obj, Workspace) else obj.workspace_id)
