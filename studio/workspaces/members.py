"""The pages about the members of a workspace and its invitations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import shown_once
from studio.people import Place, person_name
from studio.workspaces.base import ROUTE, WorkspacePage, invitation_address
from studio.workspaces.forms import InviteForm, add_errors
from studio.workspaces.names import NAMES, role_name
from studio.workspaces.people import people_address
from versioning.domain.access import Role
from versioning.domain.errors import Invalid
from versioning.editor.invitations import PendingInvitation
from versioning.editor.workspaces import LastAdmin
from versioning.models import Invitation, Membership
from versioning.models.accounts import account

PER_PAGE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member in the list, with the addresses of the buttons."""

    membership: Membership
    role: str
    is_caller: bool
    role_address: str
    remove_address: str


@dataclass(frozen=True, kw_only=True)
class Pending:
    """An invitation in the list, with the addresses of the buttons."""

    state: PendingInvitation
    role: str
    link_address: str
    withdraw_address: str


class MembersPage(WorkspacePage):
    """The members with their roles, and the pending invitations."""

    asks_password_again = True

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show them and, once, the link of an invitation that was just created."""
        self.verbs.find(self.workspace_id, by=self.caller)
        return self.show(InviteForm(), link=shown_once.shown_now(request, self._waiting))

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Invite a person, and go back to the list, which shows the link once."""
        form = InviteForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        username, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        try:
            made = self.editor.invitation.invite(
                self.workspace_id, username, role, mail=form.cleaned_data.get("mail", ""), by=self.caller
            )
        except Invalid as error:
            add_errors(form, error)
            return self.show(form, status=400)
        return self.show_link(*made)

    def show_link(self, invitation: Invitation, token: str) -> HttpResponse:
        """Go to the list, which shows the invitation's link once, and how to accept it."""
        response = self.go(self.address("members"))
        link = {
            "address": self.request.build_absolute_uri(invitation_address(token)),
            "username": invitation.username,
            "has_account": account(invitation.username) is not None,
        }
        shown_once.show_next(self.request, response, self._waiting, link)
        return response

    @property
    def _waiting(self) -> str:
        return f"invitation to {self.workspace_id}"

    def show(self, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the list with the form for an invitation."""
        members = self.verbs.members(self.workspace_id, by=self.caller)
        page: Page[Membership] = Paginator(members, PER_PAGE).get_page(self.request.GET.get("page"))
        return self.page(
            "studio/workspaces/members.html",
            title=_("Members"),
            status=status,
            form=form,
            page=page,
            members=[self._member(membership) for membership in page.object_list],
            pending=[
                self._pending(state)
                for state in self.editor.invitation.pending(self.workspace_id, by=self.caller)
            ],
            roles=NAMES.items(),
            members_address=self.address("members"),
            people_address=people_address(self.workspace_id, invites=True),
            rename_address=self.address("rename"),
            **context,
        )

    def _member(self, membership: Membership) -> Member:
        user = membership.user
        name = quote(user.get_username())
        return Member(
            membership=membership,
            role=role_name(membership.role),
            is_caller=user.pk == self.caller.user_id,
            role_address=self.address("role", name),
            remove_address=self.address("remove", name),
        )

    def _pending(self, state: PendingInvitation) -> Pending:
        name = quote(state.invitation.username)
        return Pending(
            state=state,
            role=role_name(state.invitation.role),
            link_address=self.address("invitation_link", name),
            withdraw_address=self.address("withdraw", name),
        )


class MemberPage(MembersPage):
    """A page about the member that the address names."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the name from the address."""
        super().setup(request, *args, **kwargs)
        self.username = unquote(kwargs["member"])

    @property
    def named(self) -> str:
        """The name of the person."""
        return person_name(self.username, Place.NAMED)

    def refused(self, problem: str) -> HttpResponseRedirect:
        """Go back to the list, which shows why nothing was done."""
        message = _("Nothing was changed: %(problem)s") % {"problem": problem}
        return self.go(self.address("members"), message, level=messages.ERROR)

    def refused_last_admin(self) -> HttpResponseRedirect:
        """Go back to the list, which shows that the last admin stays."""
        problem = _("%(person)s is the last admin of this workspace: make someone else an admin first.")
        return self.refused(problem % {"person": self.named})


class RolePage(MemberPage):
    """Changes the role of a member."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Change the role, and show the list."""
        asked = request.POST.get("role", "")
        if asked not in list(Role):
            return self.refused(_("%(person)s needs one of the four roles.") % {"person": self.named})
        try:
            changed = self.verbs.change_role(self.workspace_id, self.username, Role(asked), by=self.caller)
        except LastAdmin:
            return self.refused_last_admin()
        is_own = changed.user_id == self.caller.user_id and changed.role != Role.ADMIN
        there = reverse(f"{ROUTE}changelist") if is_own else self.address("members")
        said = {"person": self.named, "role": role_name(changed.role)}
        return self.go(there, _("%(person)s now has the role %(role)s.") % said)


class RemovePage(MemberPage):
    """Asks for confirmation before a membership ends."""

    def get(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Ask for confirmation."""
        return self.page(
            "studio/workspaces/remove.html",
            title=_("Remove %(person)s?") % {"person": self.named},
            username=self.named,
            members_address=self.address("members"),
        )

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """End the membership, and show the list."""
        try:
            self.verbs.remove(self.workspace_id, self.username, by=self.caller)
        except LastAdmin:
            return self.refused_last_admin()
        is_own = self.username == self.caller.username and self.caller.everywhere is None
        there = reverse(f"{ROUTE}changelist") if is_own else self.address("members")
        message = _("%(person)s is no longer a member of this workspace.") % {"person": self.named}
        return self.go(there, message)


class InvitationLinkPage(MemberPage):
    """Creates a new link for a pending invitation; the old one becomes invalid."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Show the new link, once."""
        return self.show_link(*self.editor.invitation.renew(self.workspace_id, self.username, by=self.caller))


class WithdrawPage(MemberPage):
    """Withdraws a pending invitation."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        """Withdraw the invitation, and show the list."""
        self.editor.invitation.withdraw(self.workspace_id, self.username, by=self.caller)
        message = _("%(person)s is no longer invited.") % {"person": self.username}
        return self.go(self.address("members"), message)
