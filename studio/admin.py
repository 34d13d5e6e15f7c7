"""A first, plain look at what is stored: everything is shown, nothing is changed past the use cases."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline

from versioning.models import Agent, ApiKey, AuditEntry, Membership, PromptBlock, VersionedResource, Workspace


class ReadOnlyAdmin(ModelAdmin):
    """Shows rows to superusers and lets nobody write past the verbs of the editor."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is changed here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is deleted here."""
        return False


class ResourceAdmin(ReadOnlyAdmin):
    """Agents and prompt blocks."""

    list_display: tuple[str, ...] = ("id", "state", "workspace", "author", "updated_at")
    list_filter = ("workspace",)
    list_select_related = ("workspace", "author")
    search_fields = ("id", "latest_version__search_text")
    readonly_fields = ("state", "history")

    @admin.display(description="State")
    def state(self, resource: VersionedResource) -> str:
        """Say in one word what an editor wants to know."""
        if resource.active_id is None:
            return "Draft"
        return "Changed" if resource.has_draft else "Published"

    @admin.display(description="History")
    def history(self, resource: VersionedResource) -> str:
        """List the newest versions, a line each."""
        rows = resource.versions.select_related("author")[:50]
        return "\n".join(
            f"{row.number}  {resource.state_of(row)}  {row.author_name or '-'}  {row.change_message}"
            for row in rows
        )


@admin.register(Agent)
class AgentAdmin(ResourceAdmin):
    """Stored agents."""

    list_display = (*ResourceAdmin.list_display, "visibility")


@admin.register(PromptBlock)
class PromptBlockAdmin(ResourceAdmin):
    """Prompt blocks."""


class MembershipInline(TabularInline):
    """Who is a member of a workspace."""

    model = Membership
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is added here."""
        return False


@admin.register(Workspace)
class WorkspaceAdmin(ReadOnlyAdmin):
    """Workspaces."""

    list_display = ("id", "name", "created_at")
    inlines = (MembershipInline,)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """API keys, of which only the prefix is known."""

    list_display = (
        "prefix",
        "name",
        "owner",
        "workspace",
        "role",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_select_related = ("owner", "workspace")
    exclude = ("digest",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit log."""

    list_display = ("at", "actor", "action", "target", "workspace_id", "from_version", "to_version")
    list_filter = ("action", "workspace_id")
    search_fields = ("actor", "target")
