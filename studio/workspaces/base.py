"""The base classes of the pages about workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, cast

from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from studio import additions, site
from studio.extensions import WorkspaceTab
from studio.navigation import Link, Row
from studio.permissions import EditorAdmin
from studio.views import StudioPage
from versioning.domain.access import Right
from versioning.editor import Workspaces
from versioning.models import Workspace

ROUTE: Final = "studio:versioning_workspace_"

SETTINGS: Final = (
    WorkspaceTab(page="members", title=_("Members"), is_setting=True),
    WorkspaceTab(page="keys", title=_("API keys"), is_setting=True),
)
ACTIVITY: Final = WorkspaceTab(page="activity", title=_("Activity"), right=Right.READ)


class AdministrationPage(StudioPage):
    """A page about workspaces."""

    @property
    def admin(self) -> EditorAdmin:
        """The `ModelAdmin` that decides about permissions on workspaces."""
        return cast("EditorAdmin", site.get_model_admin(Workspace))

    @property
    def verbs(self) -> Workspaces:
        """The editor's verbs for workspaces."""
        return self.editor.workspace


class WorkspacePage(AdministrationPage):
    """A page about one workspace."""

    tab = "members"
    right = Right.ADMINISTER
    """The right required to open the page: most are for admins only."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the id of the workspace from the address."""
        super().setup(request, *args, **kwargs)
        self.workspace_id = unquote(kwargs["workspace"])

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace; raises `NotFound` and `Forbidden` for people who may not open the page."""
        return self.verbs.find(self.workspace_id, right=self.right, by=self.caller)

    def may(self, right: Right) -> bool:
        """Return whether the caller has a right in this workspace.

        The permissions of the `ModelAdmin` concern the workspace itself: its name, members and keys.
        """
        return self.caller.may(right, self.workspace.pk)

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page with the head and the tabs of the workspace."""
        settings = self._links(is_setting=True)
        more = {
            "workspace": self.workspace,
            "tabs": self._tabs(settings),
            "settings": Row.of(settings) if any(setting.is_current for setting in settings) else None,
            "list_address": reverse(f"{ROUTE}changelist"),
            "notices": additions.added(lambda one: one.notices(self.caller, self.workspace.pk)),
        }
        return super().page(template, title=title, status=status, **{**more, **context})

    def _links(self, *, is_setting: bool) -> list[Link]:
        """Return the links to the settings, or to the other pages, that the caller may open."""
        tabs = [tab for tab in (*SETTINGS, *additions.tabs(), ACTIVITY) if tab.is_setting is is_setting]
        return [
            Link(title=tab.title, address=self.address(tab.page), is_current=tab.page == self.tab)
            for tab in tabs
            if self.may(tab.right)
        ]

    def _tabs(self, settings: Sequence[Link]) -> Row:
        """Return the tabs; *Settings* leads to the first page for administering the workspace."""
        tabs = self._links(is_setting=False)
        if settings:
            is_current = any(setting.is_current for setting in settings)
            tabs.append(Link(title=_("Settings"), address=settings[0].address, is_current=is_current))
        return Row.of(tabs)

    def address(self, page: str, *rest: str) -> str:
        """Return the address of another page about this workspace."""
        return address(page, self.workspace_id, *rest)


def address(page: str, workspace_id: str, *rest: str) -> str:
    """Return the address of a page about a workspace."""
    return reverse(f"{ROUTE}{page}", args=[quote(workspace_id), *rest])


def invitation_address(token: str) -> str:
    """Return the address where an invited person accepts."""
    return reverse(f"{ROUTE}invited", args=[token])
