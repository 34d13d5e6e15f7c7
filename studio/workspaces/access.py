"""What a person may do in all workspaces, on one page; and the members of all workspaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from studio.people import Place, person_name
from studio.workspaces.base import AdministrationPage, address
from studio.workspaces.keys import KeyRow, row_of
from studio.workspaces.names import role_name
from studio.workspaces.people import MAX_TEXT
from versioning.domain.access import Right, Role
from versioning.domain.errors import NotFound
from versioning.models import Membership
from versioning.models.accounts import account, name_fields
from versioning.models.querysets import within
from versioning.models.text_keys import ByName, contains_words

PER_PAGE: Final = 50
MAX_ROLES: Final = 6
"""How many roles the list shows of a person."""
MAX_KEYS: Final = 200


@dataclass(frozen=True, kw_only=True)
class RoleLine:
    """A role of a person in a workspace."""

    membership: Membership
    role: str
    address: str
    """The address of the members of the workspace; empty for people who do not administer it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A person in the list of members."""

    user: Any
    roles: Sequence[RoleLine]
    more: int
    """How many roles were left out."""
    address: str


def access_address(username: str) -> str:
    """Return the address of the page about what a person may do."""
    return f"{reverse('studio:access')}?{urlencode({'person': username})}"


class AccessPage(AdministrationPage):
    """The members of the workspaces that the caller administers; with `?person=`, what one of them may do.

    Everyone sees what they may do themselves. Roles and keys in workspaces that the caller does not
    administer are missing from what admins see of others.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the list, or the page about a person."""
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
        """Return the roles in these memberships, by the key of the person."""
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
