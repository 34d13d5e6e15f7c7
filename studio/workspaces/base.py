"""The base classes of the pages about workspaces."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from studio.views import StudioPage
from versioning.editor import Workspaces

ROUTE: Final = "admin:versioning_workspace_"
TABS: Final = (("members", "Members"), ("keys", "API keys"), ("audit", "Audit log"))


class AdministrationPage(StudioPage):
    """A page about workspaces."""

    @property
    def verbs(self) -> Workspaces:
        """The editor's methods for workspaces."""
        return self.editor.workspace


class WorkspacePage(AdministrationPage):
    """A page about one workspace, for its admins alone."""

    tab = "members"

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the id of the workspace from the address."""
        super().setup(request, *args, **kwargs)
        self.workspace_id = unquote(kwargs["workspace"])

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page with the head and the tabs of the workspace."""
        workspace = self.verbs.find(self.workspace_id, by=self.caller)
        tabs = [
            {"title": word, "address": self.address(name), "current": name == self.tab} for name, word in TABS
        ]
        more = {"workspace": workspace, "tabs": tabs, "list_address": reverse(f"{ROUTE}changelist")}
        return super().page(template, title=title, status=status, **{**more, **context})

    def address(self, page: str, *rest: str) -> str:
        """Return the address of another page about this workspace."""
        return address(page, self.workspace_id, *rest)


def address(page: str, workspace_id: str, *rest: str) -> str:
    """Return the address of a page about a workspace."""
    return reverse(f"{ROUTE}{page}", args=[quote(workspace_id), *rest])


def invitation_address(token: str) -> str:
    """Return the address under which an invited person accepts."""
    return reverse(f"{ROUTE}invited", args=[token])
