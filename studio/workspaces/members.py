"""The pages about the members of a workspace and its invitations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.contrib.auth import get_user_model
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio import one_time_secrets
from studio.limits import shorten
from studio.named import Place, person_name
from studio.pages import ActionPage, FormPage
from studio.views import StudioPage
from studio.workspaces.keys import KeyRow
from studio.workspaces.names import NAMES, role_name
from studio.workspaces.views import (
    ROUTE,
    AdministrationPage,
    InviteForm,
    WorkspacePage,
    invitation_address,
)
from versioning.domain.access import Right, Role, roles_with
from versioning.domain.errors import NotFound, VersioningError
from versioning.editor.workspaces import LastAdmin
from versioning.models import Invitation, Membership
from versioning.models.accounts import account, name_fields, username_lookup
from versioning.models.querysets import within
from versioning.models.text_keys import ByName, contains_words

MAX_PEOPLE: Final = 20
MAX_TEXT: Final = 150
"""The maximum length of a text to search for: that of a user name."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person to choose; the script gets it as JSON."""

    id: str
    name: str
    """The full name; empty without one."""
    preview: str = ""


def people_address(workspace_id: str, *, invites: bool = False, persons: bool = False) -> str:
    """Return the address that suggests members of a workspace; with `invites`, people who are not members.

    With `persons` it offers no service accounts.
    """
    query = {"inviting" if invites else "workspace": workspace_id} | ({"persons": "1"} if persons else {})
    return f"{reverse('studio:people')}?{urlencode(query)}"


class PeoplePage(StudioPage):
    """People, as JSON: `?workspace=acme&q=gr` for its members, `?inviting=acme` for others."""

    def get(self, request: HttpRequest) -> JsonResponse:
        """Return the first people whose user name or full name has the text, each once."""
        params = {name: str(value).replace("\x00", "") for name, value in request.GET.items()}
        text = params.get("q", "").strip()
        if "inviting" in params:
            # Memberships in other workspaces of people who are not members; only in common workspaces.
            workspace_id = params["inviting"]
            self.editor.workspace.find(workspace_id, right=Right.ADMINISTER, by=self.caller)
            elsewhere = Membership.objects.filter(within("workspace", self.caller.scope(Right.READ_DRAFTS)))
            members = Membership.objects.filter(workspace=workspace_id).values("user")
            people: Any = elsewhere.exclude(user__in=members)
        else:
            workspace_id = params.get("workspace", "")
            self.editor.workspace.find(workspace_id, right=Right.READ_DRAFTS, by=self.caller)
            people = Membership.objects.filter(workspace=workspace_id, role__in=roles_with(Right.READ_DRAFTS))
        if "persons" in params:
            people = people.filter(is_service=False)
        return JsonResponse({"choices": [asdict(person) for person in _first(people, text)]})


def _first(memberships: Any, text: str) -> Iterable[Person]:
    if len(text) > MAX_TEXT:
        return []
    names = [username_lookup("user"), *(f"user__{name}" for name in name_fields())]
    rows = (
        memberships.filter(contains_words(names, text), user__is_active=True)
        .select_related("user")
        .order_by(ByName(names[0]), names[0])
    )
    people: dict[str, Person] = {}
    for row in rows[: 2 * MAX_PEOPLE]:
        user = row.user
        full: str = user.get_full_name() if hasattr(user, "get_full_name") else ""
        person = Person(id=user.get_username(), name=shorten(full.strip()), preview=role_name(row.role))
        people.setdefault(person.id, person)
    return list(people.values())[:MAX_PEOPLE]


PER_PAGE: Final = 50


class InvitingPage(WorkspacePage):
    """A page that can create the link of an invitation."""

    asks_password_again = True

    def show_link(self, invitation: Invitation, token: str) -> HttpResponse:
        """Go to the list of members, which shows the invitation's link once, and how to accept it."""
        response = self.go(self.address("members"))
        link = {
            "address": self.request.build_absolute_uri(invitation_address(token)),
            "username": invitation.username,
            "has_account": account(invitation.username) is not None,
        }
        one_time_secrets.show_next(self.request, response, f"invitation to {self.workspace_id}", link)
        return response


class MembersPage(FormPage, InvitingPage):
    """The members with their roles, the pending invitations, and a form for another one."""

    form_class = InviteForm
    template = "studio/workspaces/members.html"
    title = gettext_lazy("Members")

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Show them and, once, the link of an invitation that was just created."""
        self.verbs.find(self.workspace_id, by=self.caller)
        link = one_time_secrets.shown_now(request, f"invitation to {self.workspace_id}")
        return self.show(InviteForm(), link=link)

    def save(self, form: InviteForm) -> HttpResponse:
        username, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        mail = form.cleaned_data.get("mail", "")
        return self.show_link(
            *self.editor.invitation.invite(self.workspace_id, username, role, mail=mail, by=self.caller)
        )

    def context(self) -> dict[str, Any]:
        return {
            "page": self.paginate(self.verbs.members(self.workspace_id, by=self.caller), PER_PAGE),
            "pending": list(self.editor.invitation.pending(self.workspace_id, by=self.caller)),
            "roles": NAMES.items(),
            "members_address": self.address("members"),
            "people_address": people_address(self.workspace_id, invites=True),
            "rename_address": self.address("rename"),
        }


class MemberPage(InvitingPage):
    """A page about the member, or the invited person, in the address."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.username = unquote(kwargs["member"])

    @property
    def display_name(self) -> str:
        return person_name(self.username, Place.NAMED)

    def refuse(self, problem: str) -> HttpResponse:
        problem %= {"person": self.display_name}
        message = _("Nothing was changed: %(problem)s") % {"problem": problem}
        return self.go(self.address("members"), message, level=messages.ERROR)

    def handle_error(self, error: VersioningError) -> HttpResponse:
        if isinstance(error, LastAdmin):
            return self.refuse(
                _("%(person)s is the last admin of this workspace: make someone else an admin first.")
            )
        return super().handle_error(error)


class RolePage(MemberPage):
    http_method_names = ("post",)

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        role = request.POST.get("role", "")
        if role not in list(Role):
            return self.refuse(_("%(person)s needs one of the four roles."))
        changed = self.verbs.change_role(self.workspace_id, self.username, Role(role), by=self.caller)
        has_left_page = changed.user_id == self.caller.user_id and changed.role != Role.ADMIN
        address = reverse(f"{ROUTE}changelist") if has_left_page else self.address("members")
        words = {"person": self.display_name, "role": role_name(changed.role)}
        return self.go(address, _("%(person)s now has the role %(role)s.") % words)


class RemovePage(ActionPage, MemberPage):
    back_page = "members"
    template = "studio/workspaces/remove.html"

    @property
    def title(self) -> str:
        return _("Remove %(person)s?") % {"person": self.display_name}

    @property
    def done_address(self) -> str:
        is_own = self.username == self.caller.username and self.caller.everywhere is None
        return reverse(f"{ROUTE}changelist") if is_own else self.back_address

    def context(self) -> dict[str, Any]:
        return {"username": self.display_name}

    def act(self) -> str:
        self.verbs.remove(self.workspace_id, self.username, by=self.caller)
        return _("%(person)s is no longer a member of this workspace.") % {"person": self.display_name}


class InvitationLinkPage(MemberPage):
    """Shows, once, a new link for a pending invitation; the old one becomes invalid."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.show_link(*self.editor.invitation.renew(self.workspace_id, self.username, by=self.caller))


class WithdrawPage(ActionPage, MemberPage):
    http_method_names = ("post",)
    back_page = "members"

    def act(self) -> str:
        self.editor.invitation.withdraw(self.workspace_id, self.username, by=self.caller)
        return _("%(person)s is no longer invited.") % {"person": self.username}


MAX_ROLES: Final = 6
"""The number of roles of a person in the list."""
MAX_KEYS: Final = 200


def access_address(username: str) -> str:
    return f"{reverse('studio:access')}?{urlencode({'person': username})}"


class AccessPage(AdministrationPage):
    """The members of the workspaces that the caller administers; with `?person=`, the access of one of them.

    Everyone sees their own access. Admins do not see other people's roles and keys in workspaces that they do
    not administer.
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
        """The condition for memberships that the caller may see as an admin."""
        return within("workspace", self.caller.scope(Right.ADMINISTER))

    def _list(self, text: str) -> HttpResponse:
        members = Membership.objects.filter(self._visible)
        condition = Q(pk__in=members.values("user"))
        if self.caller.everywhere is Role.ADMIN:
            condition |= Q(is_superuser=True)
        model = get_user_model()
        name = model.USERNAME_FIELD
        people = model._default_manager.filter(condition)
        people = people.filter(contains_words([name, *name_fields()], text)).order_by(ByName(name), name)
        page = self.paginate(people, PER_PAGE)
        users = list(page.object_list)
        roles = self._roles(members.filter(user__in=users))
        return self.page(
            "studio/workspaces/access_list.html",
            title=_("Members and access"),
            page=page,
            query=urlencode({"q": text}) if text else "",
            sought=text,
            lines=[
                {"user": user, "roles": own[:MAX_ROLES], "more": max(len(own) - MAX_ROLES, 0)}
                for user in users
                for own in [roles.get(user.pk, [])]
            ],
            own_address=access_address(self.caller.username or ""),
        )

    def _roles(self, members: Any) -> Mapping[Any, list[Membership]]:
        """Return these memberships by person, each with whether the caller administers its workspace."""
        roles: dict[Any, list[Membership]] = {}
        rows = members.select_related("workspace").order_by(ByName("workspace__name"), "workspace_id")
        for member in rows:
            member.is_administered = self.caller.may(Right.ADMINISTER, member.workspace_id)
            roles.setdefault(member.user_id, []).append(member)
        return roles

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
        mine, unlimited = (
            self.editor.key.list_keys(by=self.caller),
            self.editor.key.list_unlimited(by=self.caller),
        )
        keys = {key.pk: key for keys_of in (mine, unlimited) for key in keys_of.filter(owner=user)[:MAX_KEYS]}
        rows = [KeyRow(key=key) for key in keys.values()]
        return self.page(
            "studio/workspaces/access.html",
            title=_("Access of %(person)s") % {"person": person_name(user.get_username(), Place.NAMED)},
            person=user,
            is_own=is_own,
            sees_all=is_own or is_root,
            roles=roles,
            keys=sorted(rows, key=lambda row: row.is_expired or row.key.revoked_at is not None),
            list_address=reverse("studio:access"),
        )
