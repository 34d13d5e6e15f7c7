"""The page about mail: topics, once a day, and another address after the password."""

from __future__ import annotations

import time

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from capabilities.accounts.sign_in.recency import CONFIRMED
from capabilities.mail.models import Mail, MailPreferences
from capabilities.mail.recipients import list_topics
from tests.mail.conftest import Post
from tests.support.studio import Visitor
from versioning.editor import notifications
from versioning.editor.notifications import NotificationTopic

PAGE = "/studio/account/mail/"
PASSWORD = "correct horse battery"


@pytest.fixture
def edgar(post: Post) -> Visitor:
    """Edgar, who has just signed in."""
    user = User.objects.get(username="edgar")
    user.set_password(PASSWORD)
    user.save()
    browser = Visitor()
    browser.post("/studio/login/", {"username": "edgar", "password": PASSWORD})
    return browser


def forget(browser: Visitor) -> None:
    session = browser.client.session
    session[CONFIRMED] = time.time() - 660
    session.save()


def address() -> str:
    return User.objects.get(username="edgar").email


def test_everything_is_offered_and_sent_until_it_is_turned_off(edgar: Visitor) -> None:
    page = edgar.get(PAGE).markup
    assert page.count("checked") == len(list_topics()) + 1
    assert {one.name for one in list_topics()} == {
        *("invitation", "forgottenPassword", "reviewRequested", "reviewDecided", "commentAdded"),
        *("mentioned", "scheduleFailed", "stepFailed", "webhookDisabled", "experimentFinished"),
    }
    assert PAGE in edgar.get("/studio/account/").markup
    chosen = {"topic": ["invitation", "made up"], "when": "daily"}
    assert edgar.post(PAGE, chosen).status == 302
    stored = MailPreferences.objects.get()
    assert stored.daily and stored.wants("invitation") and not stored.wants("commentAdded")
    assert len(stored.turned_off) == len(list_topics()) - 1
    assert edgar.get(PAGE).markup.count("checked") == 2


def test_a_topic_without_a_known_event_is_not_offered(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = NotificationTopic(name="later", title="later", types=["later.happened"])
    monkeypatch.setitem(notifications._topics, "later", topic)
    assert topic not in list_topics()


def test_another_address_needs_the_password_and_is_told_to_the_one_before(edgar: Visitor, post: Post) -> None:
    forget(edgar)
    asked = edgar.post(PAGE, {"address": "new@example.com"})
    assert b"confirm_password" in asked.content and address() == "edgar@example.com"
    given = {"address": "new@example.com", "confirm_password": PASSWORD}
    assert edgar.post(PAGE, given).status == 302 and address() == "new@example.com"
    [mail] = post.work()
    assert mail.to == ["edgar@example.com"] and "new@example.com" not in mail.body
    assert "has another mail address now" in mail.body


def test_what_is_no_address_is_refused(edgar: Visitor) -> None:
    for typed in ["nobody", "a@b", "a@example.com\nBcc: b@example.com", "x" * 300 + "@example.com"]:
        answer = edgar.post(PAGE, {"address": typed})
        assert answer.status == 400 and "Enter a valid mail address." in answer.markup
        assert address() == "edgar@example.com" and not Mail.objects.exists()


def test_an_address_can_be_removed_and_given_again(edgar: Visitor, post: Post) -> None:
    assert edgar.post(PAGE, {"address": ""}).status == 302 and address() == ""
    assert len(post.work()) == 1
    edgar.post(PAGE, {"address": "edgar@example.com"})
    assert address() == "edgar@example.com" and post.work() == []


def test_without_mail_there_is_no_such_page(edgar: Visitor, settings: Settings) -> None:
    settings.EMAIL_URL = ""
    assert edgar.get(PAGE).status == edgar.post(PAGE, {"when": "daily"}).status == 404
    assert PAGE not in edgar.get("/studio/account/").markup
    assert not MailPreferences.objects.exists()
