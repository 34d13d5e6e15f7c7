"""The pages about workspaces: which there are, who is a member, and what a new member needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from studio.views import StudioPage
from versioning.domain.access import Right, Role
from versioning.domain.errors import IdTaken, Invalid
from versioning.editor import Workspaces
from versioning.editor.invitations import PendingInvitation
from versioning.editor.memberships import memberships_beyond, with_member_counts
from versioning.models import Invitation, Membership, WorkerHeartbeat
from versioning.models.accounts import account

PER_PAGE: Final = 50
ROLES: Final = [
    (Role.VIEWER.value, "Viewer: uses what is published"),
    (Role.EDITOR.value, "Editor: also saves drafts"),
    (Role.PUBLISHER.value, "Publisher: also publishes"),
    (Role.ADMIN.value, "Admin: also members and keys"),
]
ROUTE: Final = "admin:versioning_workspace_"
TABS: Final = (("members", "Members"), ("keys", "API keys"), ("audit", "Audit log"))


class InviteForm(forms.Form):
    """Who shall be a member, as what."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        help_text="Of an account, or for a new one. Nobody is a member before accepting.",
    )
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=Role.EDITOR.value)


class NewWorkspaceForm(forms.Form):
    """A workspace that does not exist yet."""

    name = forms.CharField(label="Name", help_text="What people call it.")
    id = forms.CharField(
        label="Id", help_text="What programs call it, such as marketing; it cannot be changed later."
    )


def with_faults(form: forms.Form, fault: Invalid, **names: str) -> None:
    """Put the faults beside the fields that they are about; `names` tells what the form calls them."""
    for issue in fault.issues:
        field = names.get(issue.field, issue.field)
        form.add_error(field if field in form.fields else None, issue.message)


class AdministrationPage(StudioPage):
    """A page about workspaces."""

    @property
    def verbs(self) -> Workspaces:
        """What can be done with workspaces."""
        return self.editor.workspace


class WorkspacesPage(AdministrationPage):
    """The workspaces that the caller administers, and the roles in the others."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        found = with_member_counts(self.verbs.list(by=self.caller))
        return self.page(
            "studio/workspaces/list.html",
            title="Workspaces",
            workspaces=[(workspace, address("members", workspace.pk)) for workspace in found],
            others=memberships_beyond(Right.ADMINISTER, by=self.caller),
            silence=WorkerHeartbeat.objects.silence() if found else None,
            may_create=self.caller.everywhere is Role.ADMIN,
            add_address=reverse(f"{ROUTE}add"),
            audit_address=reverse(f"{ROUTE}audit_of_all"),
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
        except IdTaken as fault:
            form.add_error("id", fault.message)
            return self._show(form, status=409)
        except Invalid as fault:
            with_faults(form, fault)
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


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member in the list, with where its buttons lead."""

    membership: Membership
    is_caller: bool
    role_address: str
    remove_address: str


@dataclass(frozen=True, kw_only=True)
class Pending:
    """An invitation in the list, with where its buttons lead."""

    state: PendingInvitation
    link_address: str
    withdraw_address: str


class MembersPage(WorkspacePage):
    """Who is a member in which role."""

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show them."""
        return self.show(InviteForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Invite somebody, and show the link to send, this once."""
        form = InviteForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        username, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        try:
            made = self.editor.invitation.invite(self.workspace_id, username, role, by=self.caller)
        except Invalid as fault:
            with_faults(form, fault)
            return self.show(form, status=400)
        return self.show_link(*made)

    def show_link(self, invitation: Invitation, token: str) -> HttpResponse:
        """Return the page with the link of an invitation, and what it takes to accept it."""
        link = self.request.build_absolute_uri(invitation_address(token))
        has_account = account(invitation.username) is not None
        return self.show(InviteForm(), invited=invitation.username, has_account=has_account, link=link)

    def show(self, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the list with the form to invite somebody."""
        members = self.verbs.members(self.workspace_id, by=self.caller)
        page: Page[Membership] = Paginator(members, PER_PAGE).get_page(self.request.GET.get("page"))
        return self.page(
            "studio/workspaces/members.html",
            title="Members",
            status=status,
            form=form,
            page=page,
            members=[self._member(membership) for membership in page.object_list],
            pending=[
                self._pending(state)
                for state in self.editor.invitation.pending(self.workspace_id, by=self.caller)
            ],
            roles=ROLES,
            members_address=self.address("members"),
            rename_address=self.address("rename"),
            **context,
        )

    def _member(self, membership: Membership) -> Member:
        user = membership.user
        name = quote(user.get_username())
        return Member(
            membership=membership,
            is_caller=user.pk == self.caller.user_id,
            role_address=self.address("role", name),
            remove_address=self.address("remove", name),
        )

    def _pending(self, state: PendingInvitation) -> Pending:
        name = quote(state.invitation.username)
        return Pending(
            state=state,
            link_address=self.address("invitation_link", name),
            withdraw_address=self.address("withdraw", name),
        )


class MemberPage(MembersPage):
    """A page about one member, whom the address names."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the name from the address."""
        super().setup(request, *args, **kwargs)
        self.username = unquote(kwargs["member"])

    def refused(self, fault: Invalid) -> HttpResponseRedirect:
        """Go back to the list, which says why nothing was done."""
        message = f"Nothing was changed: {self.username} {fault.issues[0].message}."
        return self.go(self.address("members"), message, level=messages.ERROR)


class RolePage(MemberPage):
    """Gives a member another role."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Do it, and show the list."""
        asked = request.POST.get("role", "")
        if asked not in list(Role):
            return self.refused(Invalid.field("role", "needs one of the four roles"))
        try:
            changed = self.verbs.change_role(self.workspace_id, self.username, Role(asked), by=self.caller)
        except Invalid as fault:
            return self.refused(fault)
        is_own = changed.user_id == self.caller.user_id and changed.role != Role.ADMIN
        there = reverse(f"{ROUTE}changelist") if is_own else self.address("members")
        return self.go(there, f"{self.username} is {changed.role} from now on.")


class RemovePage(MemberPage):
    """Asks before a membership ends."""

    def get(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Ask."""
        return self.page(
            "studio/workspaces/remove.html",
            title=f"Remove {self.username}?",
            username=self.username,
            members_address=self.address("members"),
        )

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """End it, and show the list."""
        try:
            self.verbs.remove(self.workspace_id, self.username, by=self.caller)
        except Invalid as fault:
            return self.refused(fault)
        is_own = self.username == self.caller.username and self.caller.everywhere is None
        there = reverse(f"{ROUTE}changelist") if is_own else self.address("members")
        return self.go(there, f"{self.username} is no member of this workspace any more.")


class InvitationLinkPage(MemberPage):
    """Makes a new link for somebody who has not accepted yet; the one before is void."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Show it, this once."""
        return self.show_link(*self.editor.invitation.renew(self.workspace_id, self.username, by=self.caller))


class WithdrawPage(MemberPage):
    """Takes an invitation back that nobody has accepted yet."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Do it, and show the list."""
        self.editor.invitation.withdraw(self.workspace_id, self.username, by=self.caller)
        return self.go(self.address("members"), f"{self.username} is not invited any more.")


class RenamePage(WorkspacePage):
    """Gives the workspace another name."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Do it, and show the members."""
        try:
            renamed = self.verbs.rename(self.workspace_id, request.POST.get("name", ""), by=self.caller)
        except Invalid as fault:
            message = f"Nothing was changed: the name {fault.issues[0].message}."
            return self.go(self.address("members"), message, level=messages.ERROR)
        return self.go(self.address("members"), f"The workspace is called {renamed.name} from now on.")


def address(page: str, workspace_id: str, *rest: str) -> str:
    """Return the address of a page about a workspace."""
    return reverse(f"{ROUTE}{page}", args=[quote(workspace_id), *rest])


def invitation_address(token: str) -> str:
    """Return the address under which an invited person accepts."""
    return reverse(f"{ROUTE}invited", args=[token])
