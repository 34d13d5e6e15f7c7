"""The models on the studio's site: agents, prompt blocks, workspaces, and accounts for superusers.

Each `ModelAdmin` provides its pages with `get_urls()`, none of which is Django's, except for accounts. The
pages call `has_…_permission()` to choose their actions; these check the roles of the editor, not Django's
permissions. The verbs of the editor check the rights of each change again.

URLs contain ids in the admin's quoted form (`django.contrib.admin.utils.quote`), because an id may contain
slashes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.urls import URLPattern, include, path
from django.utils.translation import gettext_lazy
from django.views.generic import RedirectView

from studio import additions, extensions, site
from studio.accounts.admin import AccountAdmin
from studio.accounts.views import AcceptPage, open_link
from studio.activity.live import SincePage
from studio.activity.views import ResourceActivityPage, WorkspaceActivityPage
from studio.diff.views import ComparePage
from studio.editing.choices import ChoicesPage, NamesPage, ReferencePage
from studio.editing.presence import PresencePage
from studio.editing.views import ConvertPage, EditPage
from studio.history import DeleteVersionPage, DownloadPage, HistoryPage, LabelsPage, RestorePage, VersionPage
from studio.kinds import KINDS, StudioKind
from studio.permissions import EditorAdmin, caller_of
from studio.preview.views import ContextPage, PreviewPage, TryPage
from studio.publishing.confirm import DeletePage, DiscardPage, UnpublishPage, VisibilityPage
from studio.publishing.views import PublishPage, UsagePage
from studio.resources.filters import FiltersPage
from studio.resources.views import CreatePage, DuplicatePage, ListPage, StarPage
from studio.views import StudioPage
from studio.workspaces.keys import KeysPage, RevokePage, UnlimitedKeysPage
from studio.workspaces.members import InvitationLinkPage, MembersPage, RemovePage, RolePage, WithdrawPage
from studio.workspaces.views import CreateWorkspacePage, RenamePage, WorkspacesPage
from versioning.domain.access import Role
from versioning.domain.errors import NotFound
from versioning.models import Workspace

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@admin.register(*(kind.model for kind in KINDS), site=site)
class ResourceAdmin(EditorAdmin):
    @cached_property
    def kind(self) -> StudioKind:
        return next(kind for kind in KINDS if kind.model is self.model)

    @cached_property
    def title(self) -> StrOrPromise:  # type: ignore[override]
        return self.kind.words.title

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the caller may read it; public resources need no role in their workspace."""
        if obj is None:
            return super().has_view_permission(request)
        try:
            self.kind.collection.find(obj.pk, by=caller_of(request))
        except NotFound:
            return False
        return True

    def get_urls(self) -> list[Any]:
        """Return the URLs of the kind's pages, and of those that other applications add."""
        kind = self.kind

        def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
            return path(route, view.as_view(kind=kind), name=kind.url_name(name))

        preview = [
            page("<str:resource>/preview/", PreviewPage, "preview"),
            page("<str:resource>/context/", ContextPage, "context"),
        ]
        trying_out = [page("<str:resource>/try/", TryPage, "try")]
        if kind.is_run:
            # Imported late: the API's parameters are complete only when every application is ready.
            from studio.preview.answers import TryRun  # noqa: PLC0415

            # An API view, which always answers in JSON.
            run = TryRun.as_view({"post": "stream"})
            trying_out.append(path("<str:resource>/try/run/", run, name=kind.url_name("try_run")))
        to_the_edit_page = RedirectView.as_view(pattern_name=f"studio:{kind.url_name('change')}")
        return [
            page("", ListPage, "changelist"),
            page("add/", CreatePage, "add"),
            page("filters/", FiltersPage, "filters"),
            path("<str:resource>/", self.admin_site.admin_view(to_the_edit_page)),
            page("<str:resource>/change/", EditPage, "change"),
            page("<str:resource>/convert/", ConvertPage, "convert"),
            page("<str:resource>/choices/", ChoicesPage, "choices"),
            page("<str:resource>/names/", NamesPage, "names"),
            page("<str:resource>/present/", PresencePage, "present"),
            page("<str:resource>/reference/", ReferencePage, "reference"),
            *(preview if kind.has_preview else ()),
            *(trying_out if kind.has_preview else ()),
            page("<str:resource>/usage/", UsagePage, "usage"),
            page("<str:resource>/star/", StarPage, "star"),
            page("<str:resource>/duplicate/", DuplicatePage, "duplicate"),
            page("<str:resource>/publish/", PublishPage, "publish"),
            page("<str:resource>/unpublish/", UnpublishPage, "unpublish"),
            page("<str:resource>/discard/", DiscardPage, "discard"),
            page("<str:resource>/visibility/", VisibilityPage, "visibility"),
            page("<str:resource>/delete/", DeletePage, "delete"),
            page("<str:resource>/history/", HistoryPage, "history"),
            page("<str:resource>/compare/", ComparePage, "compare"),
            page("<str:resource>/activity/", ResourceActivityPage, "activity"),
            page("<str:resource>/activity/since/", SincePage, "since"),
            page("<str:resource>/versions/<str:version>/", VersionPage, "version"),
            page("<str:resource>/versions/<str:version>/restore/", RestorePage, "restore"),
            page("<str:resource>/versions/<str:version>/download/", DownloadPage, "download"),
            page("<str:resource>/versions/<str:version>/labels/", LabelsPage, "labels"),
            page("<str:resource>/versions/<str:version>/delete/", DeleteVersionPage, "version_delete"),
            *additions.resource_urls(kind),
        ]


@admin.register(Workspace, site=site)
class WorkspaceAdmin(EditorAdmin):
    title = gettext_lazy("Workspaces")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return caller_of(request).everywhere is Role.ADMIN

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_administer_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[Any]:
        """Return the URLs of the workspace pages, and of those that other applications add."""

        def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
            return path(route, view.as_view(), name=f"versioning_workspace_{name}")

        def redirect(route: str, name: str) -> URLPattern:
            view = RedirectView.as_view(pattern_name=f"studio:{name}", query_string=True)
            return path(route, self.admin_site.admin_view(view))

        return [
            # For people who cannot sign in yet.
            path("welcome/", AcceptPage.as_view(), name="versioning_workspace_accept"),
            # Also matches anything after it: a truncated link must not lead to another page.
            path("welcome/<path:token>", open_link, name="versioning_workspace_invited"),
            page("", WorkspacesPage, "changelist"),
            page("add/", CreateWorkspacePage, "add"),
            page("keys/", UnlimitedKeysPage, "unlimited_keys"),
            redirect("audit/", "activity"),  # admins also see the events of the former audit log here
            page("<str:workspace>/change/", MembersPage, "change"),
            page("<str:workspace>/rename/", RenamePage, "rename"),
            page("<str:workspace>/members/", MembersPage, "members"),
            page("<str:workspace>/members/<str:member>/role/", RolePage, "role"),
            page("<str:workspace>/members/<str:member>/remove/", RemovePage, "remove"),
            page("<str:workspace>/invitations/<str:member>/link/", InvitationLinkPage, "invitation_link"),
            page("<str:workspace>/invitations/<str:member>/withdraw/", WithdrawPage, "withdraw"),
            page("<str:workspace>/keys/", KeysPage, "keys"),
            page("<str:workspace>/keys/<str:prefix>/revoke/", RevokePage, "revoke"),
            page("<str:workspace>/activity/", WorkspaceActivityPage, "activity"),
            redirect("<str:workspace>/audit/", "versioning_workspace_activity"),
            *(path("<str:workspace>/", include(added.urls)) for added in extensions.REGISTERED if added.urls),
        ]


if not site.is_registered(get_user_model()):  # by an application of the project that comes first
    site.register(get_user_model(), AccountAdmin)
