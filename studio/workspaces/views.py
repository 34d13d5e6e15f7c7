"""The pages about workspaces themselves: the list, creating and renaming."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio.translation import translated
from studio.workspaces.base import ROUTE, AdministrationPage, WorkspacePage, address
from studio.workspaces.forms import NewWorkspaceForm, add_errors
from studio.workspaces.names import role_name
from versioning.domain.access import Right
from versioning.domain.errors import IdTaken, Invalid
from versioning.editor.memberships import admins_of, memberships_beyond, with_member_counts
from versioning.models import WorkerHeartbeat


class WorkspacesPage(AdministrationPage):
    """The workspaces that the caller administers, and the roles in the others."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the workspaces."""
        found = with_member_counts(self.verbs.list(by=self.caller))
        others = memberships_beyond(Right.ADMINISTER, by=self.caller)
        admins = admins_of((other.workspace_id for other in others), by=self.caller)
        return self.page(
            "studio/workspaces/list.html",
            title=_("Workspaces"),
            workspaces=[(workspace, address("members", workspace.pk)) for workspace in found],
            others=[
                (
                    other,
                    role_name(other.role),
                    address("activity", other.workspace_id),
                    admins.get(other.workspace_id),
                )
                for other in others
            ],
            activity_address=reverse("studio:activity"),
            keys_address=reverse(f"{ROUTE}unlimited_keys") if found else "",
            silence=WorkerHeartbeat.objects.silence() if found else None,
            may_create=self.admin.has_add_permission(self.request),
            add_address=reverse(f"{ROUTE}add"),
        )


class CreateWorkspacePage(AdministrationPage):
    """A new workspace, of which the caller is the first admin."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the empty form."""
        return self._show(NewWorkspaceForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create the workspace and go to its members; after an error, show the form again."""
        form = NewWorkspaceForm(request.POST)
        if not form.is_valid():
            return self._show(form, status=400)
        try:
            made = self.verbs.create(form.cleaned_data["id"], form.cleaned_data["name"], by=self.caller)
        except IdTaken as error:
            form.add_error("id", translated(error.message))
            return self._show(form, status=409)
        except Invalid as error:
            add_errors(form, error)
            return self._show(form, status=400)
        message = _("The workspace %(name)s was created. Invite someone.") % {"name": made.name}
        return self.go(address("members", made.pk), message)

    def _show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        return self.page(
            "studio/workspaces/create.html",
            title=_("New workspace"),
            status=status,
            form=form,
            list_address=reverse(f"{ROUTE}changelist"),
        )


class RenamePage(WorkspacePage):
    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Rename the workspace, and show the members."""
        try:
            renamed = self.verbs.rename(self.workspace_id, request.POST.get("name", ""), by=self.caller)
        except Invalid as error:
            problem = {"problem": translated(error.issues[0].message)}
            message = _("Nothing was changed: the name %(problem)s.") % problem
            return self.go(self.address("members"), message, level=messages.ERROR)
        said = _("The workspace is now called %(name)s.") % {"name": renamed.name}
        return self.go(self.address("members"), said)
