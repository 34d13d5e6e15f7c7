"""The base class of the lists that there are for one workspace, and for all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.template.response import TemplateResponse

from studio.resources.create import workspace_choices
from studio.workspaces.base import AdministrationPage, WorkspacePage
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Message, Usernames
from versioning.editor.memberships import admins_of, workspaces_with

MAX_ASKED: Final = 3
"""How many admins a refusal names, and of how many workspaces."""


def no_drafts(caller: Caller) -> Forbidden:
    """Return the refusal of pages about drafts in all workspaces, which names admins of the caller's own."""
    workspaces = workspaces_with(Right.READ, by=caller).values_list("pk", flat=True)[:MAX_ASKED]
    found = admins_of(list(workspaces), by=caller)
    names = list(dict.fromkeys(name for admins in found.values() for name in admins))[:MAX_ASKED]
    if not names:
        return Forbidden("You may not read drafts in any workspace.")
    return Forbidden(
        Message("You may not read drafts in any workspace. Ask an admin: {names}.", names=Usernames(names))
    )


class ListingPage(WorkspacePage):
    """A list of what is in one workspace; without one in its address, of what is in all.

    That page can be narrowed to a workspace by the query. It lists workspaces where the caller has the right
    of the page, and nothing of any other.
    """

    right = Right.READ_DRAFTS

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the workspace from the address, or from the query."""
        self.is_across = "workspace" not in kwargs
        chosen = quote(request.GET.get("workspace", "")) if self.is_across else kwargs["workspace"]
        super().setup(request, *args, **{**kwargs, "workspace": chosen})

    @cached_property
    def listed_id(self) -> str | None:
        """The workspace whose content is listed; None for all.

        Raises `NotFound` and `Forbidden` for people who may not open the page, so ask for it first.
        """
        if self.workspace_id or not self.is_across:
            return self.workspace.pk
        if self.caller.scope(self.right) == frozenset():
            raise no_drafts(self.caller)
        return None

    @cached_property
    def workspace_names(self) -> Mapping[str, str]:
        """The names of the workspaces that the caller may list, by id."""
        return dict(workspace_choices(self.right, self.caller))

    @property
    def scope(self) -> Mapping[str, str]:
        """The scope to listen to, for events."""
        return {"workspace_id": self.listed_id} if self.listed_id is not None else {}

    @cached_property
    def shown_names(self) -> Mapping[str, str]:
        """The names of workspaces that lines show, by id; none if the page can be about only one."""
        is_of_one = self.listed_id is not None or len(self.workspace_names) == 1
        return {} if is_of_one else self.workspace_names

    def query(self, **values: str) -> str:
        """Return the query of the page with these values, which keeps the chosen workspace."""
        kept = {"workspace": self.listed_id} if self.is_across and self.listed_id is not None else {}
        return urlencode({name: value for name, value in {**kept, **values}.items() if value})

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return the page in the frame of the workspace, or in that of the studio."""
        if not self.is_across:
            return super().page(template, title=title, status=status, **context)
        names = self.workspace_names
        more = {
            "workspaces": list(names.items()) if len(names) > 1 else [],
            "chosen_workspace": self.listed_id or "",
        }
        return AdministrationPage.page(self, template, title=title, status=status, **{**more, **context})
