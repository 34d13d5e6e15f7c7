"""Forgotten passwords: a link by mail, the same answer for every name, one use, and no other session left."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from capabilities.mail.models import Mail, MailPreferences
from tests.mail.conftest import Post, link_in
from tests.support.calls import undone
from tests.support.studio import Visitor
from versioning.api.request_log import without_secrets
from versioning.models import Membership, SignInAttempts

FORGOTTEN = "/studio/login/forgotten/"
BEFORE, NEW = "correct horse battery", "staple of another kind"


@pytest.fixture(autouse=True)
def passwords(post: Post) -> None:
    for user in User.objects.all():
        user.set_password(BEFORE)
        user.save()


def ask(name: str, browser: Visitor | None = None) -> Any:
    return (browser or Visitor()).post(FORGOTTEN, {"asked": name})


def signed_in(name: str = "edgar", password: str = BEFORE) -> Visitor:
    browser = Visitor()
    browser.post("/studio/login/", {"username": name, "password": password})
    return browser


def is_in(browser: Visitor) -> bool:
    return browser.get("/studio/name/").status == 200


def set_password(link: str, password: str = NEW) -> str:
    """Follow a link, send the form, and return what the page says."""
    browser = Visitor()
    page = browser.get(link, follow=True)
    given = {"new_password1": password, "new_password2": password}
    answer = browser.post(page.response.request["PATH_INFO"], given)
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.markup).split())
    return "done" if "is set" in text else "refused" if "no longer valid" in text else text


def test_a_link_sets_a_new_password_once_and_ends_every_session(post: Post) -> None:
    browser = Visitor()
    assert FORGOTTEN in browser.get("/studio/login/").markup
    open_session = signed_in()
    assert is_in(open_session)
    ask("edgar", browser)
    [mail] = post.work()
    assert mail.to == ["edgar@example.com"] and "edgar" in mail.subject
    link = link_in(mail, "new-password")
    assert "at least 12" in set_password(link, "short")
    assert set_password(link) == "done" and set_password(link) == "refused"
    assert not is_in(open_session) and is_in(signed_in(password=NEW)) and not is_in(signed_in())
    assert "[secret]" in without_secrets(link) and link.rpartition("ep_")[2] not in without_secrets(link)


@pytest.mark.parametrize("door", ["link", "own page", "superuser's page"])
def test_who_is_switched_off_while_a_password_is_set_stays_so(
    post: Post, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    browser, root, edgar = signed_in(), signed_in("root"), User.objects.get(username="edgar")

    def hashed(user: Any, raw: str) -> None:
        User.objects.filter(pk=user.pk).update(is_active=False)
        user.password = "hashed"

    monkeypatch.setattr(User, "set_password", hashed)
    if door == "link":
        ask("edgar")
        set_password(link_in(post.work()[0], "new-password"))
    elif door == "own page":
        typed = {"old_password": BEFORE, "new_password1": NEW, "new_password2": NEW}
        browser.post("/studio/password_change/", typed)
    else:
        typed = {"usable_password": "true", "password1": NEW, "password2": NEW}
        root.post(f"/studio/auth/user/{edgar.pk}/password/", typed)
    edgar.refresh_from_db()
    assert (edgar.password, edgar.is_active) == ("hashed", False)


def test_a_sign_in_ends_a_link(post: Post) -> None:
    ask("edgar@EXAMPLE.com")
    [mail] = post.work()
    signed_in()
    assert set_password(link_in(mail, "new-password")) == "refused"


def test_the_answer_says_nothing_of_the_account_and_takes_the_same_statements(post: Post) -> None:
    def statements(asked: str) -> tuple[str, list[str]]:
        SignInAttempts.objects.all().delete()
        with CaptureQueriesContext(connection) as captured:
            answer = ask(asked)
        assert answer.status == 200
        said = re.sub(r'value="\w{64}"', "", answer.markup)
        return said, [re.sub(r"'[^']*'|\d+", "", one["sql"]) for one in captured.captured_queries]

    unknown = statements("someone else")
    for name in ("edgar", "edgar@example.com", "nobody", "nobody@example.com", "x" * 254):
        assert statements(name) == unknown


def test_who_has_no_password_or_wants_no_mail_gets_none(post: Post, settings: Settings) -> None:
    edgar = User.objects.get(username="edgar")
    changes: dict[str, Callable[[], object]] = {
        "service": lambda: Membership.objects.filter(user=edgar).update(is_service=True),
        "switched off": lambda: User.objects.filter(pk=edgar.pk).update(is_active=False),
        "no address": lambda: User.objects.filter(pk=edgar.pk).update(email=""),
        "turned off": lambda: MailPreferences.objects.create(user=edgar, turned_off=["forgottenPassword"]),
        "sso alone": lambda: setattr(settings, "EDITOR_SIGN_IN", "sso"),
    }
    for name, change in changes.items():
        with undone():
            change()
            ask("edgar")
            assert post.work() == [] and not Mail.objects.exists(), name


def test_an_account_of_a_provider_has_no_password_to_set(post: Post) -> None:
    edgar = User.objects.get(username="edgar")
    ask("edgar")
    [mail] = post.work()
    edgar.set_unusable_password()
    edgar.save()
    ask("edgar")
    assert post.work() == []
    assert set_password(link_in(mail, "new-password")) == "refused"


def test_accounts_with_one_address_get_a_link_each_and_look_alikes_none(post: Post) -> None:
    User.objects.filter(username="paula").update(email="edgar@example.com")
    User.objects.filter(username="vera").update(email="EDGAR@EXAMPLE.COM")
    User.objects.filter(username="alice").update(email="edgär@example.com")
    ask("edgar@example.com")
    subjects = sorted(mail.subject.rpartition(" ")[2] for mail in post.work())
    assert subjects == ["edgar", "paula", "vera"]


def test_asking_is_throttled_alike_for_every_name(post: Post) -> None:
    for name in ("edgar", "nobody"):
        statuses = [ask(name).status for _ in range(4)]
        assert statuses[:3] == [200, 200, 200]
        refused = ask(name)
        assert refused.status == 429 and int(refused.headers["Retry-After"]) > 0
    assert len(post.work()) <= 4


def test_what_is_no_name_is_refused(post: Post) -> None:
    for asked in ["", "  ", "x" * 255, "a\x00b", "a\nb"]:
        assert ask(asked).status == 400 and not Mail.objects.exists()


def test_a_made_up_link_is_refused(post: Post) -> None:
    for link in [
        "MQ/ep_x-y",
        "MQ/set-password",
        "%00/ep_a-b",
        "é/ep_a-b",
        "MTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw/ep_a-b",
    ]:
        page = Visitor().get(f"/studio/login/new-password/{link}/")
        assert page.status in {200, 404} and b"new_password1" not in page.content


def test_without_mail_there_is_no_such_page(post: Post, settings: Settings) -> None:
    settings.EMAIL_URL = ""
    assert ask("edgar").status == 404 and not Mail.objects.exists()
    assert FORGOTTEN not in Visitor().get("/studio/login/").markup
