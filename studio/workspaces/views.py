"""The pages about the workspaces themselves: the list, a new one, another name."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studio.workspaces.base import ROUTE, AdministrationPage, WorkspacePage, address
from studio.workspaces.forms import NewWorkspaceForm, add_errors
from versioning.domain.access import Right, Role
from versioning.domain.errors import IdTaken, Invalid
from versioning.editor.memberships import memberships_beyond, with_member_counts
from versioning.models import WorkerHeartbeat


class WorkspacesPage(AdministrationPage):
    """The workspaces that the caller administers, and the roles in the others."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        found = with_member_counts(self.verbs.list(by=self.caller))
        return self.page(
            "studio/workspaces/list.html",
            title="Workspaces",
            workspaces=[(workspace, address("members", workspace.pk)) for workspace in found],
            others=[
                (membership, address("activity", membership.workspace_id))
                for membership in memberships_beyond(Right.ADMINISTER, by=self.caller)
            ],
            activity_address=reverse("admin:activity"),
            silence=WorkerHeartbeat.objects.silence() if found else None,
            may_create=self.caller.everywhere is Role.ADMIN,
            add_address=reverse(f"{ROUTE}add"),
        )


class CreateWorkspacePage(AdministrationPage):
    """A new workspace, of which the caller is the first admin."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the empty form."""
        return self._show(NewWorkspaceForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        """Make it and go to its members; what cannot be made stays in the form."""
        form = NewWorkspaceForm(request.POST)
        if not form.is_valid():
            return self._show(form, status=400)
        try:
            made = self.verbs.create(form.cleaned_data["id"], form.cleaned_data["name"], by=self.caller)
        except IdTaken as error:
            form.add_error("id", error.message)
            return self._show(form, status=409)
        except Invalid as error:
            add_errors(form, error)
            return self._show(form, status=400)
        return self.go(address("members", made.pk), f"The workspace {made.name} is there. Invite somebody.")

    def _show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        return self.page(
            "studio/workspaces/create.html",
            title="New workspace",
            status=status,
            form=form,
            list_address=reverse(f"{ROUTE}changelist"),
        )


class RenamePage(WorkspacePage):
    """Gives the workspace another name."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Do it, and show the members."""
        try:
            renamed = self.verbs.rename(self.workspace_id, request.POST.get("name", ""), by=self.caller)
        except Invalid as error:
            message = f"Nothing was changed: the name {error.issues[0].message}."
            return self.go(self.address("members"), message, level=messages.ERROR)
        return self.go(self.address("members"), f"The workspace is called {renamed.name} from now on.")
