"""The pages about the members of a workspace and its invitations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth import get_user_model
from django.core.paginator import Page, Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from studio import shown_once
from studio.limits import shortened
from studio.named import Place, person_name
from studio.views import StudioPage
from studio.workspaces.keys import KeyRow, row_of
from studio.workspaces.names import NAMES, role_name
from studio.workspaces.views import (
    ROUTE,
    AdministrationPage,
    InviteForm,
    WorkspacePage,
    add_errors,
    address,
    invitation_address,
)
from versioning.domain.access import Right, Role, roles_with
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.invitations import PendingInvitation
from versioning.editor.workspaces import LastAdmin
from versioning.models import Invitation, Membership
from versioning.models.accounts import account, name_fields, name_of
from versioning.models.querysets import within
from versioning.models.text_keys import ByName, contains_words

MAX_PEOPLE: Final = 20
MAX_TEXT: Final = 150
"""The maximum length of a text to search for: that of a user name."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person to choose; the script gets it as JSON."""

    id: str
    """The user name."""
    name: str
    """The full name; empty without one."""
    preview: str = ""
    """Their role."""


def people_address(workspace_id: str, *, invites: bool = False, persons: bool = False) -> str:
    """Return the address that offers members of a workspace; with `invites`, people who are none yet.

    With `persons` it offers no service accounts.
    """
    query = {"inviting" if invites else "workspace": workspace_id} | ({"persons": "1"} if persons else {})
    return f"{reverse('studio:people')}?{urlencode(query)}"


class PeoplePage(StudioPage):
    """People, as JSON: `?workspace=acme&q=gr` for those who work there, `?inviting=acme` for others."""

    def get(self, request: HttpRequest) -> JsonResponse:
        """Return the first people whose user name or full name has the text, each once."""
        given = {name: str(value).replace("\x00", "") for name, value in request.GET.items()}
        text = given.get("q", "").strip()
        if "inviting" in given:
            people = self._to_invite(given["inviting"])
        else:
            workspace_id = given.get("workspace", "")
            self.editor.workspace.find(workspace_id, right=Right.READ_DRAFTS, by=self.caller)
            people = Membership.objects.filter(workspace=workspace_id, role__in=roles_with(Right.READ_DRAFTS))
        if "persons" in given:
            people = people.filter(is_service=False)
        return JsonResponse({"choices": [asdict(person) for person in _first(people, text)]})

    def _to_invite(self, workspace_id: str) -> Any:
        """Return the memberships elsewhere of people who are no members; only in workspaces in common."""
        self.editor.workspace.find(workspace_id, right=Right.ADMINISTER, by=self.caller)
        elsewhere = Membership.objects.filter(within("workspace", self.caller.scope(Right.READ_DRAFTS)))
        members = Membership.objects.filter(workspace=workspace_id).values("user")
        return elsewhere.exclude(user__in=members)


def _first(memberships: Any, text: str) -> Iterable[Person]:
    if len(text) > MAX_TEXT:
        return []
    names = [name_of("user"), *(f"user__{name}" for name in name_fields())]
    rows = (
        memberships.filter(contains_words(names, text), user__is_active=True)
        .select_related("user")
        .order_by(ByName(names[0]), names[0])
    )
    found: dict[str, Person] = {}
    for row in rows[: 2 * MAX_PEOPLE]:
        user = row.user
        full: str = user.get_full_name() if hasattr(user, "get_full_name") else ""
        person = Person(id=user.get_username(), name=shortened(full.strip()), preview=role_name(row.role))
        found.setdefault(person.id, person)
    return list(found.values())[:MAX_PEOPLE]


PER_PAGE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Member:
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
    asks_password_again = True

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        self.verbs.find(self.workspace_id, by=self.caller)
        return self.show(InviteForm(), link=shown_once.shown_now(request, self._waiting))

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
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
    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.username = unquote(kwargs["member"])

    @property
    def named(self) -> str:
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
    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
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
    def get(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        return self.page(
            "studio/workspaces/remove.html",
            title=_("Remove %(person)s?") % {"person": self.named},
            username=self.named,
            members_address=self.address("members"),
        )

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
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
        return self.show_link(*self.editor.invitation.renew(self.workspace_id, self.username, by=self.caller))


class WithdrawPage(MemberPage):
    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        self.editor.invitation.withdraw(self.workspace_id, self.username, by=self.caller)
        message = _("%(person)s is no longer invited.") % {"person": self.username}
        return self.go(self.address("members"), message)


MAX_ROLES: Final = 6
"""How many roles the list shows of a person."""
MAX_KEYS: Final = 200


@dataclass(frozen=True, kw_only=True)
class RoleLine:
    membership: Membership
    role: str
    address: str
    """The address of the members of the workspace; empty for people who do not administer it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    user: Any
    roles: Sequence[RoleLine]
    more: int
    """How many roles were left out."""
    address: str


def access_address(username: str) -> str:
    return f"{reverse('studio:access')}?{urlencode({'person': username})}"


class AccessPage(AdministrationPage):
    """The members of the workspaces that the caller administers; with `?person=`, what one of them may do.

    Everyone sees what they may do themselves. Roles and keys in workspaces that the caller does not
    administer are missing from what admins see of others.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        username = request.GET.get("person", "").replace("\x00", "")
        if username:
            return self._person(username)
        if self.caller.scope(Right.ADMINISTER) == frozenset():
            return self._person(self.caller.username or "")
        return self._list(request.GET.get("q", "").replace("\x00", "").strip()[:MAX_TEXT])

    @property
    def _visible(self) -> Q:
        return within("workspace", self.caller.scope(Right.ADMINISTER))

    def _list(self, sought: str) -> HttpResponse:
        members = Membership.objects.filter(self._visible)
        people = Q(pk__in=members.values("user"))
        if self.caller.everywhere is Role.ADMIN:
            people |= Q(is_superuser=True)
        model = get_user_model()
        name = model.USERNAME_FIELD
        found = model._default_manager.filter(people)
        found = found.filter(contains_words([name, *name_fields()], sought))
        page: Any = Paginator(found.order_by(ByName(name), name), PER_PAGE).get_page(
            self.request.GET.get("page")
        )
        users = list(page.object_list)
        roles = self._roles(members.filter(user__in=users))
        lines = []
        for user in users:
            own = roles.get(user.pk, [])
            more, there = max(len(own) - MAX_ROLES, 0), access_address(user.get_username())
            lines.append(Line(user=user, roles=own[:MAX_ROLES], more=more, address=there))
        return self.page(
            "studio/workspaces/access_list.html",
            title=_("Members and access"),
            page=page,
            query=urlencode({"q": sought}) if sought else "",
            sought=sought,
            lines=lines,
            own_address=access_address(self.caller.username or ""),
        )

    def _roles(self, members: Any) -> Mapping[Any, list[RoleLine]]:
        found: dict[Any, list[RoleLine]] = {}
        rows = members.select_related("workspace").order_by(ByName("workspace__name"), "workspace_id")
        for member in rows:
            may_change = self.caller.may(Right.ADMINISTER, member.workspace_id)
            line = RoleLine(
                membership=member,
                role=role_name(member.role),
                address=address("members", member.workspace_id) if may_change else "",
            )
            found.setdefault(member.user_id, []).append(line)
        return found

    def _person(self, username: str) -> HttpResponse:
        user = account(username)
        if user is None:
            raise NotFound
        is_own, is_root = user.pk == self.caller.user_id, self.caller.everywhere is Role.ADMIN
        members = Membership.objects.filter(user=user)
        if not is_own:
            members = members.filter(self._visible)
        roles = self._roles(members).get(user.pk, [])
        if not (is_own or is_root or roles):
            raise NotFound
        keys = self._keys(user)
        return self.page(
            "studio/workspaces/access.html",
            title=_("Access of %(person)s") % {"person": person_name(user.get_username(), Place.NAMED)},
            person=user,
            is_own=is_own,
            sees_all=is_own or is_root,
            roles=roles,
            keys=keys,
            list_address=reverse("studio:access"),
        )

    def _keys(self, user: Any) -> list[KeyRow]:
        """Return the keys of a person that the caller may see; those that ended come last."""
        mine = self.editor.key.listed(by=self.caller)
        unlimited = self.editor.key.unlimited(by=self.caller)
        own = {key.pk: key for found in (mine, unlimited) for key in found.filter(owner=user)[:MAX_KEYS]}
        now, keys = timezone.now(), list(own.values())
        reach = self.editor.key.reach(keys, by=self.caller)
        rows = [
            row_of(key, [key.workspace] if key.workspace is not None else reach[key.pk], "", now)
            for key in keys
        ]
        return sorted(rows, key=lambda row: row.is_expired or row.key.revoked_at is not None)
