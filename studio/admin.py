"""Where the pages hang: below the addresses that Django's admin gives to the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from unfold.admin import ModelAdmin

from studio.callers import caller_of, may_enter
from studio.creating import CreatePage
from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from studio.lists import ListPage
from studio.pages import MountedPage
from studio.pages_of_resources import RESOURCE_PAGES
from studio.pages_of_workspaces import OPEN_PAGES, WORKSPACE_PAGES
from studio.trying import TryRun
from versioning.models import Agent, PromptBlock, Workspace


class StudioModelAdmin(ModelAdmin):
    """A model whose pages are all the studio's own. What may be done on them the editor decides."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Say whether the studio is open at all."""
        return may_enter(caller_of(request))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As above."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As above."""
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As above."""
        return self.has_module_permission(request)

    def mounted(self, pages: Iterable[MountedPage], **options: Any) -> list[URLPattern]:
        """Return the addresses of pages, which ask whoever comes to sign in first."""
        return [
            path(
                page.path,
                self.admin_site.admin_view(page.view.as_view(**options)),
                name=f"versioning_{self.opts.model_name}_{page.name}",
            )
            for page in pages
        ]


class ResourceAdmin(StudioModelAdmin):
    """Agents or prompt blocks."""

    kind: StudioKind

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the list, of creating, and of the pages about one resource."""
        of_the_kind = [
            MountedPage(name="changelist", path="", view=ListPage),
            MountedPage(name="add", path="add/", view=CreatePage),
        ]
        short = path("<str:resource>/", self.admin_site.admin_view(_to_the_edit_page(self.kind)))
        return [
            *self.mounted(of_the_kind, kind=self.kind),
            *self.mounted(RESOURCE_PAGES, kind=self.kind),
            short,
        ]


@admin.register(Agent)
class AgentAdmin(ResourceAdmin):
    """Stored agents, and those that code defines."""

    kind = AGENT

    def get_urls(self) -> list[URLPattern]:
        """Add what the page for trying out asks: it answers in JSON, also to who is not signed in."""
        run = TryRun.as_view({"post": "stream"})
        return [path("<str:resource>/try/run/", run, name="versioning_agent_try_run"), *super().get_urls()]


@admin.register(PromptBlock)
class PromptBlockAdmin(ResourceAdmin):
    """Prompt blocks."""

    kind = PROMPT_BLOCK


@admin.register(Workspace)
class WorkspaceAdmin(StudioModelAdmin):
    """Workspaces: members, keys, the audit log."""

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages about workspaces."""
        return [*self.mounted(WORKSPACE_PAGES), *OPEN_PAGES]


def _to_the_edit_page(kind: StudioKind) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, resource: str) -> HttpResponse:
        return HttpResponseRedirect(reverse(kind.route("change"), args=[resource]))

    return view
