"""Invitations: no membership before the person, with the link and the account, has said yes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.conftest import Cast
from tests.support.calls import undone
from tests.support.people import command, give_role, person
from tests.support.studio import Visitor, workspace_page
from versioning.models import Event, Invitation, Membership

WELCOME = "/studio/versioning/workspace/welcome/"
PASSWORD = "a fine long one"
TOO_LATE = "This link has already been used, was withdrawn, or has expired."

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def alice(cast: Cast) -> Visitor:
    """The admin of acme."""
    return Visitor("alice")


@pytest.fixture
def charlie(cast: Cast) -> Visitor:
    """The admin of elsewhere."""
    return Visitor("charlie")


def invite(visitor: Visitor, username: str, role: str = "editor", workspace: str = "acme") -> Any:
    return visitor.submit(workspace_page("members", workspace), username=username, role=role)


def link_for(visitor: Visitor, username: str, role: str = "editor", workspace: str = "acme") -> str:
    return invite(visitor, username, role, workspace).one_time_secret


def opened(client: Visitor, link: str) -> Any:
    return client.get(link, follow=True)


def number_on(answer: Any) -> str:
    """Return the number of the invitation that a form on the page is about; empty without a form."""
    found = re.search(r'name="invitation" value="(\d+)"', answer.markup)
    return found[1] if found else ""


def accept_invitation(client: Visitor, link: str, password: str = PASSWORD) -> Any:
    """Follow a link and send all fields of its possible forms, including a password."""
    number = number_on(opened(client, link))
    form = {"invitation": number, "new_password1": password, "new_password2": password}
    return client.post(WELCOME, form, follow=True)


def test_what_is_wrong_with_a_password_stands_below_it_and_not_below_its_confirmation(alice: Visitor) -> None:
    page = accept_invitation(Visitor(), link_for(alice, "lena"), "abc").markup
    password, confirmation = page.split('name="new_password1"')[1].split('name="new_password2"')
    assert "too short" in password and "too common" in password
    assert 'class="error"' not in confirmation


def in_session_of(name: str) -> Visitor:
    client = Visitor()
    client.client.force_login(User.objects.get(username=name))
    return client


def roles(name: str) -> dict[str, str]:
    """Return a person's role by workspace."""
    rows = Membership.objects.filter(user__username=name)
    return dict(rows.values_list("workspace_id", "role"))


def with_account(name: str) -> None:
    """Make a person with a password who is a member of no workspace."""
    user = person(name)
    user.set_password(PASSWORD)
    user.save()


# A name without an account


def test_a_new_person_chooses_a_password_and_becomes_a_member(alice: Visitor) -> None:
    link = link_for(alice, "lena")
    assert roles("lena") == {} and not User.objects.filter(username="lena").exists()
    client = Visitor()
    assert accept_invitation(client, link).response.redirect_chain[-1][0] == "/studio/"
    assert roles("lena") == {"acme": "editor"}
    assert client.get(workspace_page("members")).status == 403
    assert Visitor().client.login(username="lena", password=PASSWORD)


def test_the_secret_of_a_link_is_neither_shown_nor_stored(alice: Visitor) -> None:
    link, client = link_for(alice, "lena"), Visitor()
    secret = link.rpartition("/")[2]
    answer = opened(client, link)
    assert answer.response.redirect_chain == [(WELCOME, 302)]
    shown = answer.markup + alice.get(workspace_page("members")).markup
    assert secret not in shown + str(dict(client.client.session)) + str(list(Invitation.objects.values()))


# A name with an account


def test_an_account_made_in_advance_gets_no_rights_that_its_owner_did_not_accept(
    alice: Visitor, charlie: Visitor
) -> None:
    hijacker = Visitor()
    accept_invitation(hijacker, link_for(alice, "lena", "viewer"))
    answer = invite(charlie, "lena", "admin", "elsewhere")
    assert "The account lena already exists" in answer.words
    assert roles("lena") == {"acme": "viewer"}
    # Signed in as lena, but without the link, which charlie has sent to the intended person.
    assert TOO_LATE in hijacker.get(WELCOME).words
    number = str(Invitation.objects.get(workspace_id="elsewhere").pk)
    assert hijacker.post(WELCOME, {"invitation": number}).status == 404
    assert hijacker.get(workspace_page("members", "elsewhere")).status == 404
    assert roles("lena") == {"acme": "viewer"}


def test_the_link_alone_gives_no_access_to_an_existing_account(charlie: Visitor) -> None:
    with_account("lena")
    link = link_for(charlie, "lena", "admin", "elsewhere")
    before = User.objects.get(username="lena").password
    client = Visitor()
    seen = opened(client, link)
    assert "Sign in with it to accept" in seen.words and "new_password1" not in seen.markup
    assert accept_invitation(client, link).status in {400, 409}
    form = {
        "invitation": str(Invitation.objects.get().pk),
        "new_password1": "x" * 20,
        "new_password2": "x" * 20,
    }
    assert client.post(WELCOME, form).status == 400
    assert roles("lena") == {} and User.objects.get(username="lena").password == before


def test_an_account_without_a_password_is_protected_like_any_other(charlie: Visitor) -> None:
    for made in ["by create_api_key", "by an administrator", "a superuser"]:
        with undone():
            if made == "by create_api_key":
                command("create_api_key", "robot", "--workspace", "acme", "--role", "admin")
            else:
                User.objects.create_user("robot", is_superuser=made == "a superuser")
            client = Visitor()
            answer = accept_invitation(client, link_for(charlie, "robot", "viewer", "elsewhere"))
            assert "Sign in with it to accept" in answer.words
            assert "elsewhere" not in roles("robot")
            assert not User.objects.get(username="robot").has_usable_password()
            assert "_auth_user_id" not in client.client.session


def test_the_owner_accepts_while_signed_in(alice: Visitor, charlie: Visitor) -> None:
    link = link_for(alice, "\uff43harlie", "viewer")
    assert roles("charlie") == {"elsewhere": "admin"}
    seen = opened(charlie, link)
    assert "alice invites charlie to the workspace Acme , as viewer" in seen.words
    assert roles("charlie") == {"elsewhere": "admin"}
    accept_invitation(charlie, link)
    assert roles("charlie") == {"elsewhere": "admin", "acme": "viewer"}


def test_an_account_without_a_workspace_signs_in_only_to_accept(alice: Visitor) -> None:
    with_account("lena")
    form = {"username": "lena", "password": PASSWORD}
    assert "not a member of any workspace" in Visitor().post("/studio/login/", form).words
    link, client = link_for(alice, "lena"), Visitor()
    sign_in = re.search(r'href="(/studio/login/\?next=[^"]+)"', opened(client, link).markup)
    assert sign_in is not None
    seen = client.post(sign_in[1], form, follow=True)
    assert seen.response.redirect_chain == [(WELCOME, 302)]
    assert client.get("/studio/versioning/agent/").status == 302
    client.post(WELCOME, {"invitation": number_on(seen)})
    assert roles("lena") == {"acme": "editor"}
    assert client.get("/studio/versioning/agent/").status == 200


def test_another_signed_in_account_cannot_accept(alice: Visitor, charlie: Visitor) -> None:
    with_account("lena")
    for name, others in (("lena", ("charlie", "root")), ("newcomer", ("vera", "alice"))):
        link = link_for(alice, name, "admin")
        for other in others:
            client = in_session_of(other)
            assert f"You are signed in as {other}" in opened(client, link).words
            form = {"invitation": str(Invitation.objects.get(username=name).pk), "new_password1": PASSWORD}
            assert client.post(WELCOME, form | {"new_password2": PASSWORD}).status == 403
        assert roles(name) == {}
    assert roles("charlie") == {"elsewhere": "admin"} and roles("vera") == {"acme": "viewer"}
    assert not User.objects.filter(username="newcomer").exists()


# Two workspaces, one name


def test_invitations_of_two_workspaces_do_not_cancel_each_other(alice: Visitor, charlie: Visitor) -> None:
    links = [link_for(alice, "lena"), link_for(charlie, "lena", "admin", "elsewhere")]
    for link in links:
        assert "Welcome, lena" in opened(Visitor(), link).words
    first = Visitor()
    accept_invitation(first, links[1])
    assert roles("lena") == {"elsewhere": "admin"}
    # The other one is not granted with it, and its link chooses no password any more.
    assert "Sign in with it to accept" in accept_invitation(Visitor(), links[0], "another password").words
    assert roles("lena") == {"elsewhere": "admin"}
    assert not Visitor().client.login(username="lena", password="another password")
    accept_invitation(first, links[0])
    assert roles("lena") == {"elsewhere": "admin", "acme": "editor"}


def test_accepting_one_invitation_does_not_accept_another_opened_meanwhile(
    alice: Visitor, charlie: Visitor
) -> None:
    with_account("lena")
    shown, other = link_for(alice, "lena"), link_for(charlie, "lena", "viewer", "elsewhere")
    client = in_session_of("lena")
    number = number_on(opened(client, shown))
    opened(client, other)
    answer = client.post(WELCOME, {"invitation": number})
    assert answer.status == 409 and "Elsewhere" in answer.words
    assert roles("lena") == {}


# Events that void a link

VOIDED_BY: dict[str, Callable[[Visitor], object]] = {
    "a new link": lambda alice: alice.post(workspace_page("invitations/lena/link")),
    "taking it back": lambda alice: alice.post(workspace_page("invitations/lena/withdraw")),
    "three days": lambda alice: Invitation.objects.update(
        expires_at=timezone.now() - datetime.timedelta(seconds=1)
    ),
    "the inviter being no admin any more": lambda alice: give_role("alice", "acme", "publisher"),
    "the inviter leaving": lambda alice: Membership.objects.filter(user__username="alice").delete(),
    "the inviter being switched off": lambda alice: User.objects.filter(username="alice").update(
        is_active=False
    ),
}


def test_a_void_link_does_not_work_even_if_opened_before(alice: Visitor) -> None:
    for void, has_account in zip(VOIDED_BY.values(), cycle([True, False]), strict=False):
        with undone():
            if has_account:
                with_account("lena")
            link = link_for(alice, "lena")
            client = in_session_of("lena") if has_account else Visitor()
            number = number_on(opened(client, link))
            assert number
            void(alice)
            form = {"invitation": number, "new_password1": PASSWORD, "new_password2": PASSWORD}
            assert client.post(WELCOME, form).status == 404
            assert TOO_LATE in opened(client, link).words
            assert roles("lena") == {} and User.objects.filter(username="lena").exists() == has_account


def test_an_unknown_link_does_not_work() -> None:
    for link in ["MQ/x-y", "ei_x", "x/x-y/", "AAAA/x", "%00/x-1", "ei_" + "x" * 20_000]:
        assert TOO_LATE in opened(Visitor(), WELCOME + link).words


def test_a_role_given_meanwhile_is_not_changed_by_accepting(alice: Visitor) -> None:
    with_account("lena")
    link = link_for(alice, "lena", "admin")
    give_role("lena", "acme", "viewer")
    accept_invitation(in_session_of("lena"), link)
    assert roles("lena") == {"acme": "viewer"}
    assert TOO_LATE in accept_invitation(in_session_of("lena"), link).words


def test_a_removed_member_does_not_return_by_an_older_link(alice: Visitor) -> None:
    with_account("lena")
    link = link_for(alice, "lena")
    give_role("lena", "acme", "viewer")
    alice.post(workspace_page("members/lena/remove"))
    assert TOO_LATE in accept_invitation(in_session_of("lena"), link).words
    assert roles("lena") == {}


def test_accepting_needs_the_csrf_token_of_the_form(alice: Visitor) -> None:
    with_account("lena")
    client = Visitor(enforce_csrf_checks=True)
    client.client.force_login(User.objects.get(username="lena"))
    number = number_on(opened(client, link_for(alice, "lena")))
    assert client.post(WELCOME, {"invitation": number}).status == 403
    assert roles("lena") == {}


# The pages of admins


def test_the_members_page_lists_invitations_and_existing_accounts(alice: Visitor) -> None:
    with_account("lena")
    invite(alice, "lena"), invite(alice, "newcomer", "viewer")
    words = alice.get(workspace_page("members")).words
    assert "lena account exists Editor You" in words and "newcomer new account Viewer You" in words
    accept_invitation(Visitor(), alice.submit(workspace_page("invitations/newcomer/link")).one_time_secret)
    assert "newcomer new account" not in alice.get(workspace_page("members")).words
    alice.post(workspace_page("invitations/lena/withdraw"))
    assert "account exists" not in alice.get(workspace_page("members")).words


def test_a_refused_invitation_shows_the_reason_next_to_the_field(alice: Visitor) -> None:
    User.objects.create_user("gone", is_active=False)
    invite(alice, "lena")
    for username, why in [
        ("vera", "is already a member"),
        ("lena", "is already invited"),
        ("\uff4c\uff45\uff4e\uff41", "is already invited"),
        ("Lena", "is already invited"),
        ("ALICE", "differs from the account alice only in upper and lower case"),
        ("Charlie", "differs from the account charlie only in upper and lower case"),
        ("\u0430lice", "mixes letters of alphabets that look alike"),
        ("gone", "switched off"),
        ("a b", "Enter a valid username"),
        ("x" * 151, "at most 150 characters"),
        ("", "This field is required"),
    ]:
        answer = invite(alice, username)
        assert answer.status == 400
        assert why.lower() in str(answer.context["form"].errors["username"]).lower()
    assert [invitation.username for invitation in Invitation.objects.all()] == ["lena"]


def test_the_log_names_inviter_and_accepting_account(alice: Visitor) -> None:
    known = Event.objects.count()
    accept_invitation(Visitor(), link_for(alice, "lena"))
    invite(alice, "nora")
    alice.post(workspace_page("invitations/nora/withdraw"))
    entries = [(entry.actor, entry.type, entry.detail["username"]) for entry in Event.objects.all()]
    assert entries[known:] == [
        ("alice", "invitation.created", "lena"),
        ("lena", "member.added", "lena"),
        ("lena", "signIn.succeeded", "lena"),
        ("alice", "invitation.created", "nora"),
        ("alice", "invitation.withdrawn", "nora"),
    ]
    joined = Event.objects.get(type="member.added")
    assert joined.via == "studio"
    assert joined.detail == {"username": "lena", "from": None, "to": "editor", "invitedBy": "alice"}
    told = alice.get(workspace_page("activity")).words
    assert "lena joined as editor, invited by you" in told
    assert "You withdrew the invitation of nora" in told
