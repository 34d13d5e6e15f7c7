"""The people that pickers offer: members of workspaces whose drafts the person may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, JsonResponse
from django.urls import reverse

from studio.limits import shortened
from studio.views import StudioPage
from studio.workspaces.names import role_name
from versioning.domain.access import Right, roles_with
from versioning.models import Membership
from versioning.models.accounts import name_fields, name_of
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
            people = self._working_in(given.get("workspace", ""))
        if "persons" in given:
            people = people.filter(is_service=False)
        return JsonResponse({"choices": [asdict(one) for one in _first(people, text)]})

    def _working_in(self, workspace_id: str) -> Any:
        """Return the memberships of those who may read drafts, as the person must be able to."""
        self.editor.workspace.find(workspace_id, right=Right.READ_DRAFTS, by=self.caller)
        return Membership.objects.filter(workspace=workspace_id, role__in=roles_with(Right.READ_DRAFTS))

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
