"""The command that gives or removes a role, for people with access to the machine."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError

from tests.support.people import command, person
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.domain.errors import Forbidden
from versioning.models import Event, Invitation, Membership, caller_for

pytestmark = pytest.mark.usefixtures("cast")


def role_of(name: str) -> Role | None:
    return Membership.objects.roles_of(User.objects.get(username=name)).get("acme")


def entries() -> list[tuple[str, str, dict[str, str | None]]]:
    """Return the entries since the cast was made: interface, person and change."""
    return [(entry.via, entry.detail.pop("username"), entry.detail) for entry in Event.objects.all()]


def test_a_role_is_given_changed_and_removed_with_an_entry_each() -> None:
    person("lena")
    assert command("set_role", "lena", "acme", "editor") == "lena is editor in the workspace acme.\n"
    assert role_of("lena") is Role.EDITOR
    assert "publisher in the workspace acme, and was editor" in command(
        "set_role", "lena", "acme", "publisher"
    )
    assert "no member of the workspace acme, and was publisher" in command("set_role", "lena", "acme", "none")
    assert role_of("lena") is None
    assert entries() == [
        ("command", "lena", {"from": None, "to": "editor"}),
        ("command", "lena", {"from": "editor", "to": "publisher"}),
        ("command", "lena", {"from": "publisher", "to": None}),
    ]


@pytest.mark.parametrize(("name", "role"), [("vera", "viewer"), ("charlie", "none")])
def test_giving_an_existing_role_leaves_no_entry(name: str, role: str) -> None:
    command("set_role", name, "acme", role)
    assert entries() == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nobody", "acme", "viewer"), "There is no account 'nobody'"),
        (("a\0b", "acme", "viewer"), "There is no account"),
        (("vera", "nowhere", "viewer"), "There is no workspace 'nowhere'"),
        (("vera", "a\0b", "viewer"), "There is no workspace"),
        (("vera", "acme", "owner"), "invalid choice: 'owner'"),
        (("alice", "acme", "none"), "The last admin of a workspace cannot be removed"),
        (("alice", "acme", "publisher"), "The last admin of a workspace cannot be removed"),
    ],
)
def test_invalid_arguments_are_refused_with_a_sentence(arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        command("set_role", *arguments)
    assert entries() == [] and role_of("alice") is Role.ADMIN


def test_removing_the_role_withdraws_a_pending_invitation_too() -> None:
    person("lena")
    get_editor().invitation.invite("acme", "lena", Role.ADMIN)
    command("set_role", "lena", "acme", "none")
    assert not Invitation.objects.exists()


def test_an_admin_of_a_workspace_cannot_add_members_without_an_invitation() -> None:
    alice = caller_for(User.objects.get(username="alice"))
    with pytest.raises(Forbidden):
        get_editor().workspace.set_role("acme", "charlie", Role.VIEWER, by=alice)
    assert role_of("charlie") is None
