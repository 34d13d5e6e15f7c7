"""Sessions: where a person is signed in, when they end, and the password before what is weighty."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from pytest_django import Settings

from capabilities.accounts.models import Identity, OpenSession
from capabilities.accounts.sign_in.jobs import remove_idle
from capabilities.accounts.sign_in.recency import CONFIRMED
from tests.accounts.test_single_sign_on import is_in, latest_event, sign_in
from tests.conftest import Cast
from tests.support.identity_provider import IdentityProvider
from tests.support.studio import Visitor, workspace_page
from versioning.models import ApiKey

PASSWORD = "a long enough password"
SESSIONS = "/studio/account/sessions/"
NEW_KEY = {"name": "Shop", "role": "viewer", "last_day": ""}

pytestmark = pytest.mark.usefixtures("alice")


@pytest.fixture
def alice(cast: Cast) -> User:
    """Alice has a password."""
    user = User.objects.get(username="alice")
    user.set_password(PASSWORD)
    user.save()
    return user


def signed_in(agent: str = "Firefox") -> Visitor:
    """Return a browser in which alice is signed in."""
    client = Visitor(headers={"user-agent": agent})
    given = {"username": "alice", "password": PASSWORD}
    assert client.post("/studio/login/", given).status == 302
    return client


def forget_when(client: Visitor, minutes: int = 11) -> None:
    """Let the last proof of who it is be so long ago."""
    session = client.client.session
    session[CONFIRMED] = time.time() - minutes * 60
    session.save()


def test_each_session_is_listed_and_can_be_signed_out() -> None:
    here, there, elsewhere = signed_in("Firefox"), signed_in("Safari"), signed_in("Chrome")
    shown = here.get(SESSIONS).words
    assert all(name in shown for name in ("Firefox this browser", "Safari", "Chrome"))
    row = OpenSession.objects.get(browser="Safari")
    assert here.post(SESSIONS, {"session": row.pk}).status == 302
    assert not is_in(there) and is_in(elsewhere) and is_in(here)
    assert (latest_event().type, latest_event().actor) == ("session.ended", "alice")
    here.post(SESSIONS, {"all": "yes"})
    assert not is_in(elsewhere) and is_in(here)


def test_nobody_signs_out_others() -> None:
    signed_in()
    vera = Visitor()
    vera.client.force_login(User.objects.get(username="vera"))
    row = OpenSession.objects.get(user__username="alice")
    assert vera.post(SESSIONS, {"session": row.pk}).status == 404
    assert Visitor().post(SESSIONS, {"all": "yes"}).location.startswith("/studio/login/")


def test_a_session_lives_as_long_as_it_is_used(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EDITOR_SESSION_IDLE = 1.0
    client = signed_in()
    first = Session.objects.get(pk=client.client.session.session_key).expire_date
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    client.get("/studio/")
    assert Session.objects.get(pk=client.client.session.session_key).expire_date > first
    seen = OpenSession.objects.get().seen_at
    client.get("/studio/")
    assert OpenSession.objects.get().seen_at == seen  # few requests write


def test_a_new_password_ends_other_sessions_and_keeps_this_one_in_the_list() -> None:
    here, there = signed_in(), signed_in("Safari")
    new = "another long password"
    here.post(
        "/studio/password_change/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    )
    assert is_in(here) and not is_in(there)
    assert "Firefox this browser" in here.get(SESSIONS).words


def test_what_is_stored_of_a_session_goes_with_it(settings: Settings) -> None:
    client = signed_in()
    client.post("/studio/logout/")
    assert not OpenSession.objects.exists()
    signed_in()
    settings.EDITOR_SESSION_IDLE = 1e-9
    remove_idle()
    assert not OpenSession.objects.exists()


def test_a_recent_password_is_not_asked_for() -> None:
    client = signed_in()
    assert client.post(workspace_page("keys"), NEW_KEY).status == 302


@pytest.mark.parametrize(
    ("page", "typed"),
    [
        (workspace_page("keys"), NEW_KEY),
        (workspace_page("members"), {"username": "new", "role": "viewer"}),
        (workspace_page("members/vera/role"), {"role": "admin"}),
        (workspace_page("members/vera/remove"), {}),
        (workspace_page("review-policy"), {"required": "2", "bypass": "nobody"}),
    ],
)
def test_before_what_is_weighty_the_password_is_asked_again(page: str, typed: dict[str, str]) -> None:
    client = signed_in()
    forget_when(client)
    asked = client.post(page, typed)
    assert "Confirm" in asked.words
    assert all(f'name="{name}" value="{value}"' in asked.markup for name, value in typed.items())
    wrong = client.post(page, {**typed, "confirm_password": "wrong"})
    assert wrong.status == 400 and "Wrong password." in wrong.words
    assert client.post(page, {**typed, "confirm_password": PASSWORD}).status == 302
    assert client.post("/studio/logout/")  # and what was done is done
    assert not ApiKey.objects.filter(name="Shop").exists() or page == workspace_page("keys")


def test_the_accounts_of_others_ask_again() -> None:
    root = User.objects.get(username="root")
    client = Visitor()
    client.client.force_login(root)
    forget_when(client)
    vera = User.objects.get(username="vera")
    address = f"/studio/auth/user/{vera.pk}/change/"
    assert "Confirm" in client.post(address, {"is_superuser": "on", "is_active": "on"}).words
    vera.refresh_from_db()
    assert not vera.is_superuser


def test_wrong_passwords_are_limited_here_too() -> None:
    client = signed_in()
    forget_when(client)
    answers = [client.post(workspace_page("keys"), {**NEW_KEY, "confirm_password": "no"}) for _ in range(6)]
    assert "too many wrong attempts" in answers[-1].words
    late = client.post(workspace_page("keys"), {**NEW_KEY, "confirm_password": PASSWORD})
    assert late.status == 400 and not ApiKey.objects.filter(name="Shop").exists()


def test_sessions_over_the_api_confirm_in_the_studio() -> None:
    client = signed_in()
    address = "/api/workspaces/acme/members/vera"
    given: dict[str, Any] = {"data": {"role": "editor"}, "content_type": "application/json"}
    forget_when(client)
    refused = client.client.put(address, **given)
    assert refused.status_code == 403 and refused.json()["code"] == "confirmation_needed"
    confirm = "/studio/account/confirm/"
    assert client.post(confirm, {"confirm_password": "wrong"}).status == 400
    assert client.post(f"{confirm}?next=//evil.example", {"confirm_password": PASSWORD}).location == (
        "/studio/account/"
    )
    assert client.client.put(address, **given).status_code == 200


def test_without_a_password_one_signs_in_at_the_provider_again(corp: IdentityProvider, alice: User) -> None:
    Identity.objects.create(user=alice, issuer=corp.url, subject="alice-1")
    alice.set_unusable_password()
    alice.save()
    client = Visitor()
    client.client.force_login(alice)
    forget_when(client)
    page = client.post(workspace_page("keys"), NEW_KEY, headers={"referer": "http://testserver/studio/"})
    assert 'type="password"' not in page.markup
    corp.person = {"sub": "alice-1", "auth_time": time.time() - 3600}
    sign_in(corp, client)  # the provider asked for nothing
    assert "Confirm" in client.post(workspace_page("keys"), NEW_KEY).words
    [way] = page.context["ways"]
    sent = client.get(way.address).location
    assert "prompt=login" in sent and "max_age=0" in sent
    corp.person, corp.claims = {"sub": "alice-1"}, {"auth_time": None}
    assert client.get(corp.authorize(sent)).status == 403  # the provider did not ask
    corp.person, corp.claims = {"sub": "vera-1"}, {}
    assert client.get(corp.authorize(client.get(way.address).location)).status == 403
    assert "Confirm" in client.post(workspace_page("keys"), NEW_KEY).words
    corp.person = {"sub": "alice-1"}
    client.get(corp.authorize(client.get(way.address).location))
    assert client.post(workspace_page("keys"), NEW_KEY).status == 302


def test_the_activity_says_how_somebody_signed_in_or_failed_to() -> None:
    signed_in("Firefox")
    wrong = {"username": "alice", "password": "something else"}
    assert Visitor().post("/studio/login/", wrong).status != 302
    told = Visitor("root").get("/studio/activity/").words
    assert re.search(r"Someone failed to sign in as alice ?: wrong password", told)
    assert "alice signed in with a password" in told and "(password" not in told


def test_the_pages_about_accounts_are_german_where_django_has_no_german() -> None:
    root = Visitor("root")
    root.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    address = f"/studio/auth/user/{User.objects.get(username='alice').pk}/"
    account, password = (root.get(f"{address}{page}/").words for page in ("change", "password"))
    assert "Passwort zurücksetzen" in account and "nicht im Klartext gespeichert" in account
    assert "Anmeldung mit Passwort" in password
    for english in ("Reset password", "Raw passwords", "Password-based", "Disabled"):
        assert english not in account + password, english
