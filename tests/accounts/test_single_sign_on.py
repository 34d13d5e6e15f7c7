"""Signing in through a provider: who a person is, and every reason to refuse."""

from __future__ import annotations

import datetime
import json
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from pytest_django import Settings

from capabilities.accounts.models import DirectoryAccount, Identity
from capabilities.accounts.sign_in import oidc
from capabilities.accounts.sign_in.conf import check_directory
from tests.accounts.conftest import sign_in_with
from tests.conftest import Cast
from tests.support.identity_provider import CLIENT, IdentityProvider
from tests.support.people import give_role, person
from tests.support.studio import Visitor
from versioning.conf import check_values
from versioning.models import Event

pytestmark = pytest.mark.usefixtures("cast")
BEGIN = "/studio/sso/corp/"


def ada(provider: IdentityProvider, **roles: str) -> User:
    """Make a member whom the provider knows."""
    user = person("ada", **(roles or {"acme": "editor"}))
    Identity.objects.create(user=user, issuer=provider.url, subject="ada-1")
    return user


def sign_in(provider: IdentityProvider, client: Visitor | None = None, next_url: str = "/studio/") -> Any:
    """Sign in, as a browser does, and return the answer to the callback."""
    client = client or Visitor()
    begun = client.get(BEGIN, {"next": next_url})
    assert begun.status == 302, begun.words
    return client.get(provider.authorize(begun.location))


def is_in(client: Visitor) -> bool:
    return bool(client.get("/studio/session/").status == 200)


def latest_event() -> Event:
    return Event.objects.latest("position")


def test_a_known_person_signs_in_and_goes_on_where_they_wanted_to(corp: IdentityProvider) -> None:
    ada(corp)
    client = Visitor()
    answer = sign_in(corp, client, "/studio/versioning/agent/")
    assert answer.location == "/studio/versioning/agent/" and is_in(client)
    event = latest_event()
    assert (event.type, event.actor) == ("signIn.succeeded", "ada")
    assert event.detail == {"username": "ada", "method": "sso", "provider": "corp"}


ELSEWHERE = (
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "/studio/../x",
    "/api/",
)


def test_a_sign_in_leads_to_no_other_site(corp: IdentityProvider) -> None:
    ada(corp)
    for next_url in ELSEWHERE:
        assert sign_in(corp, next_url=next_url).location == "/studio/", next_url


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another issuer": ({"claims": {"iss": "https://evil.example"}}, "issuer"),
    "the configuration of another": ({"issuer": "https://evil.example"}, "issuer"),
    "for another client": ({"claims": {"aud": "another"}}, "audience"),
    "for another client too": ({"claims": {"aud": [CLIENT, "another"], "azp": "another"}}, "audience"),
    "for several, and no one in particular": ({"claims": {"aud": [CLIENT, "another"]}}, "audience"),
    "another nonce": ({"claims": {"nonce": "another"}}, "nonce"),
    "no nonce": ({"claims": {"nonce": None}}, "nonce"),
    "expired": ({"claims": {"exp": 1_000_000_000}}, "expired"),
    "from the future": ({"claims": {"iat": int(time.time()) + 3600}}, "not_yet_valid"),
    "never expires": ({"claims": {"exp": None}}, "claim_missing"),
    "no subject": ({"person": {"preferred_username": "ada"}}, "claim_missing"),
    "an empty subject": ({"person": {"sub": ""}}, "subject"),
    "a subject that no database can store": ({"person": {"sub": "a\0"}}, "subject"),
    "not signed": ({"header": {"alg": "none"}}, "algorithm"),
    "signed with the secret of the client": ({"header": {"alg": "HS256"}}, "algorithm"),
    "signed by another": ({"signs_with": "another", "header": {"kid": "first"}}, "signature"),
    "a key that rotated and cannot be had": ({"signs_with": "second"}, "key_unknown"),
    "no key named among several": (
        {"published": ("first", "second"), "header": {"kid": None}},
        "key_unknown",
    ),
}


@pytest.mark.parametrize(("wrong", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_with_a_page_and_an_entry_in_the_log(
    corp: IdentityProvider, wrong: dict[str, Any], reason: str
) -> None:
    ada(corp)
    client = Visitor()
    for name, value in wrong.items():
        setattr(corp, name, value)
    answer = client.get(BEGIN)
    if answer.status == 302:
        answer = client.get(corp.authorize(answer.location))
    assert answer.status == 403 and "not signed in" in answer.words
    assert "Corp" in answer.words and "Content-Security-Policy" in answer.headers
    assert not is_in(client)
    event = latest_event()
    assert (event.type, event.actor) == ("signIn.failed", "")
    assert event.detail == {"method": "sso", "provider": "corp", "reason": reason}


@pytest.mark.parametrize(
    "wrong",
    [
        {"is_down": True},
        {"claims": {"long": "x" * oidc.MAX_ANSWER}},
        {"userinfo": {"a": "x" * oidc.MAX_ANSWER}},
    ],
    ids=["away", "a token without an end", "an answer without an end"],
)
def test_a_provider_that_does_not_answer_as_one_is_told_apart(
    corp: IdentityProvider, wrong: dict[str, Any]
) -> None:
    for name, value in wrong.items():
        setattr(corp, name, value)
    client = Visitor()
    answer = client.get(BEGIN)
    if answer.status == 302:
        answer = client.get(corp.authorize(answer.location))
    assert answer.status == 502 and "cannot be reached" in answer.words
    assert latest_event().detail["reason"] == "provider_unavailable"


def test_a_key_that_rotated_is_fetched(corp: IdentityProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    ada(corp)
    client = Visitor()
    begun = client.get(BEGIN).location
    corp.published, corp.signs_with = ("second",), "second"
    monkeypatch.setattr(oidc, "ASK_AGAIN_AFTER", 0.0)
    client.get(corp.authorize(begun))
    assert is_in(client)


def test_an_answer_counts_once_in_the_browser_that_asked_and_for_ten_minutes(
    corp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada(corp)
    client, other = Visitor(), Visitor()
    back = corp.authorize(client.get(BEGIN).location)
    assert other.get(back).status == 400 and not is_in(other)
    assert client.get(back).status == 302
    assert client.get(back).status == 400  # again
    assert client.get(BEGIN + "callback/").status == 400
    late = corp.authorize(client.get(BEGIN).location)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 601)
    assert client.get(late).status == 400


def test_the_answer_of_another_issuer_is_refused_before_its_code_is_used(corp: IdentityProvider) -> None:
    client = Visitor()
    back = corp.authorize(client.get(BEGIN).location)
    answer = client.get(back.replace("iss=", "iss=https%3A%2F%2Fevil.example&was="))
    assert answer.status == 403 and latest_event().detail["reason"] == "issuer"


def test_who_cancels_is_told_so(corp: IdentityProvider) -> None:
    client = Visitor()
    back = corp.authorize(client.get(BEGIN).location)
    state = back.partition("state=")[2].partition("&")[0]
    answer = client.get(f"{BEGIN}callback/", {"state": state, "error": "access_denied"})
    assert "cancelled" in answer.words and latest_event().detail["reason"] == "cancelled"


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "ada", "email": "lovelace@corp.example"}, "ada-2"),
        ({"email": f"grace@{'a.' * 150}example", "email_verified": True}, "grace"),
        ({"email": "grace@corp.example"}, "grace"),
        ({"preferred_username": "Grace Hopper!"}, "Grace-Hopper"),
        ({"preferred_username": "edgar"}, "edgar-2"),
        ({"preferred_username": "EDGAR"}, "EDGAR-2"),
        ({"preferred_username": "Zoe\u0308 Ruth"}, "Zo\u00eb-Ruth"),
        ({"preferred_username": "Jose\u0301"}, "José"),
        ({"preferred_username": "प्रिया", "email": "priya@corp.example"}, "priya"),
        ({"preferred_username": "ที่นี่"}, "person"),
        ({}, "person"),
    ],
)
def test_the_first_sign_in_makes_an_account(
    corp: IdentityProvider, claims: dict[str, str], name: str
) -> None:
    person("ada")
    corp.person = {"sub": "new-1", "given_name": "Grace", "family_name": "\u202eHopper", **claims}
    answer = sign_in(corp)
    assert answer.status == 403 and "member of no workspace" in answer.words
    made = Identity.objects.get(issuer=corp.url, subject="new-1").user
    assert made.username == name and not made.has_usable_password() and not made.is_superuser
    assert (made.first_name, made.last_name, made.email) == ("Grace", "", "")
    give_role(name, "acme", "viewer")
    client = Visitor()
    sign_in(corp, client)
    assert is_in(client) and Identity.objects.count() == 1


@pytest.mark.parametrize("is_verified", [True, False])
def test_a_mail_address_links_nothing(corp: IdentityProvider, is_verified: bool) -> None:
    User.objects.filter(username="root").update(email="root@corp.example")
    corp.person = {"sub": "evil", "email": "root@corp.example", "email_verified": is_verified}
    client = Visitor()
    sign_in(corp, client)
    assert not is_in(client)
    assert Identity.objects.get().user.username == "root-2"


@pytest.mark.parametrize(("is_made_here", "name"), [(True, "grace"), (False, "grace-2")])
def test_an_account_of_the_directory_is_linked_at_the_first_sign_in(
    corp: IdentityProvider, is_made_here: bool, name: str
) -> None:
    user = person("grace", acme="editor")
    DirectoryAccount.objects.create(user=user, external_id="grace-1", is_made_here=is_made_here)
    corp.person = {"sub": "grace-1", "preferred_username": "grace"}
    sign_in(corp)
    assert Identity.objects.get(subject="grace-1").user.username == name


@pytest.mark.parametrize(("directory", "name"), [("", "grace-2"), ("other", "grace-2"), ("corp", "grace")])
def test_of_several_providers_only_that_of_the_directory_links_its_accounts(
    corp: IdentityProvider, settings: Settings, directory: str, name: str
) -> None:
    """Somebody else may have the subject at another provider."""
    settings.EDITOR_OIDC = json.dumps(
        [corp.settings(), corp.settings(id="other", issuer="https://other.example")]
    )
    settings.EDITOR_DIRECTORY_PROVIDER = directory
    assert bool(check_directory()) == (directory == "")
    user = person("grace", acme="editor")
    DirectoryAccount.objects.create(user=user, external_id="grace-1", is_made_here=True)
    corp.person = {"sub": "grace-1", "preferred_username": "grace"}
    sign_in(corp)
    assert Identity.objects.get(subject="grace-1").user.username == name


def test_the_provider_of_the_directory_has_to_be_known(corp: IdentityProvider, settings: Settings) -> None:
    settings.EDITOR_DIRECTORY_PROVIDER = "corq"
    assert [one.id for one in check_values()] == ["company.E007"]


def test_without_sign_up_no_account_is_made(corp: IdentityProvider, settings: Settings) -> None:
    settings.EDITOR_SSO_SIGN_UP = "off"
    answer = sign_in(corp)
    assert answer.status == 403 and latest_event().detail["reason"] == "no_account"
    assert not User.objects.filter(username="ada").exists()


def test_a_person_who_left_stays_outside(corp: IdentityProvider) -> None:
    user = ada(corp)
    client = Visitor()
    sign_in(corp, client)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert not is_in(client)
    answer = sign_in(corp)
    assert answer.status == 403 and latest_event().detail["reason"] == "inactive"
    assert latest_event().detail["username"] == "ada" and latest_event().actor == ""


def test_a_session_from_before_is_not_the_one_after(corp: IdentityProvider) -> None:
    ada(corp)
    client = Visitor()
    client.get(BEGIN)
    assert Session.objects.get().expire_date < timezone.now() + datetime.timedelta(minutes=11)
    before = client.client.cookies["sessionid"].value
    sign_in(corp, client)
    assert client.client.cookies["sessionid"].value != before


def test_an_account_is_linked_only_while_signed_in_to_it(corp: IdentityProvider) -> None:
    edgar = Visitor("edgar")
    assert edgar.get("/studio/account/links/?provider=corp").status == 200
    page = edgar.post("/studio/account/links/", {"provider": "corp"})
    address = page.context["address"]
    stranger = Visitor()
    assert stranger.get(corp.authorize(address)).status == 400
    edgar.get(corp.authorize(address))
    assert Identity.objects.get().user.username == "edgar"
    taken = Visitor("vera")
    page = taken.post("/studio/account/links/", {"provider": "corp"})
    assert taken.get(corp.authorize(page.context["address"])).status == 403
    assert latest_event().detail["reason"] == "taken"


def test_a_link_needs_a_form_with_a_token(corp: IdentityProvider) -> None:
    client = Visitor(enforce_csrf_checks=True)
    client.client.force_login(User.objects.get(username="edgar"))
    assert client.post("/studio/account/links/", {"provider": "corp"}).status == 403


def test_the_last_way_in_is_not_removed(corp: IdentityProvider) -> None:
    user = ada(corp)
    user.set_unusable_password()
    user.save()
    client = Visitor()
    sign_in(corp, client)
    answer = client.post("/studio/account/links/", {"remove": Identity.objects.get().pk})
    assert answer.status == 409 and Identity.objects.exists()
    for number in ("999", "9" * 5_000, "\u0661", "²", "x"):
        assert client.post("/studio/account/links/", {"remove": number}).status == 404


def test_missing_claims_are_completed_from_the_answer_about_the_person(corp: IdentityProvider) -> None:
    corp.person = {"sub": "new-1"}
    corp.userinfo = {"sub": "another", "preferred_username": "root"}
    sign_in(corp)
    corp.person = {"sub": "new-2"}
    corp.userinfo = {"sub": "new-2", "preferred_username": "grace", "iss": "x"}
    sign_in(corp)
    assert [one.user.username for one in Identity.objects.order_by("pk")] == ["person", "grace"]


def test_with_single_sign_on_alone_passwords_are_for_superusers_at_their_own_door(
    corp: IdentityProvider, settings: Settings
) -> None:
    sign_in_with(settings, corp, "sso")
    for name in ("edgar", "root"):
        user = User.objects.get(username=name)
        user.set_password("a long enough password")
        user.save()
    usual = Visitor().get("/studio/login/")
    assert 'name="password"' not in usual.markup and "Sign in with Corp" in usual.words
    given = {"username": "root", "password": "a long enough password"}
    assert Visitor().post("/studio/login/", given).status == 403
    root, edgar = Visitor(), Visitor()
    assert root.post("/studio/login/local/", given).status == 302 and is_in(root)
    refused = edgar.post("/studio/login/local/", {**given, "username": "edgar"})
    assert "for superusers" in refused.words and not is_in(edgar)


def test_off_there_is_nothing_of_it(settings: Settings) -> None:
    assert Visitor().get(BEGIN).status == 404
    assert "Sign in with" not in Visitor().get("/studio/login/").words
    assert Visitor().get("/studio/login/local/").location == "/studio/login/"


def test_an_event_about_a_sign_in_is_seen_by_the_person_and_superusers(
    corp: IdentityProvider, cast: Cast
) -> None:
    ada(corp)
    sign_in(corp)
    for name, sees in {"root": 1, "alice": 0, "edgar": 0}.items():
        answer = getattr(cast, name).get("/events", type="signIn.*")
        assert len(answer.body["events"]) == sees, name
    shown = Visitor("ada").get("/studio/activity/").words
    assert "signed in with corp" in shown
