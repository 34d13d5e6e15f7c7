"""The link of an invitation comes by mail, and leads where the one that the admin sees leads."""

from __future__ import annotations

import datetime
import email
import email.policy
import threading

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone
from pytest_django import Settings

from capabilities.mail import running
from capabilities.mail.models import Mail, MailPreferences
from studio.models import Preferences
from tests.conftest import Cast
from tests.mail.conftest import ADDRESS, Post, html_of, link_in
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.domain.errors import TooManyInvitations
from versioning.models import Event, Invitation, Membership, Workspace

PASSWORD = "correct horse battery"


def invite(cast: Cast, username: str = "lena", mail: str = "lena@example.com") -> str:
    body = {"username": username, "role": "viewer", **({"mail": mail} if mail else {})}
    return str(cast.alice.post("/workspaces/acme/invitations", body).body["url"])


def accept(address: str) -> int:
    browser = Visitor()
    shown = browser.get(address, follow=True)
    if shown.status != 200:
        return shown.status
    form = {
        "invitation": shown.context["invitation"].pk,
        "new_password1": PASSWORD,
        "new_password2": PASSWORD,
    }
    return browser.post(shown.response.request["PATH_INFO"], form).status


def test_an_invited_person_comes_in_through_the_mailed_link(post: Post, cast: Cast) -> None:
    shown = invite(cast)
    [mail] = post.work()
    assert (
        mail.to == ["lena@example.com"]
        and mail.subject == "You are invited to the editor at editor.example.com"
    )
    assert "alice invites you to the workspace acme." in mail.body
    assert mail.from_email == "editor@editor.example.com"
    assert "viewer" in mail.body and "lena" in html_of(mail)
    link = link_in(mail, "welcome")
    assert link not in shown  # the other secret is stored nowhere
    assert accept(link) == 302
    assert Membership.objects.get(user__username="lena").workspace_id == "acme"
    assert accept(link) == accept(shown) == 404
    assert not Mail.objects.exists() and post.work() == []


def test_what_happens_before_a_worker_first_comes_is_mailed_once_mail_is_on(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_begun", threading.Event())
    invite(cast, "early", "early@example.com")  # mail is not turned on yet
    settings.EMAIL_URL, settings.EDITOR_PUBLIC_URL = "memorymail://", ADDRESS
    invite(cast)
    assert [mail.to for mail in Post().work()] == [["lena@example.com"]]


def test_a_new_link_ends_the_mailed_one_and_is_mailed(post: Post, cast: Cast) -> None:
    invite(cast)
    [first] = post.work()
    alice = get_editor().invitation
    for _ in range(3):  # before the worker comes
        alice.renew("acme", "lena", by=User.objects.get(username="alice"))
    [second] = post.work()
    assert accept(link_in(first, "welcome")) == 404 and accept(link_in(second, "welcome")) == 302


@pytest.mark.parametrize("forged", ["ei_1-" + 43 * "a", "ei_1-", "ei_999999999999999999-" + 43 * "a"])
def test_a_mailed_link_cannot_be_forged(post: Post, cast: Cast, forged: str) -> None:
    invite(cast)
    number = str(Invitation.objects.get().pk)
    assert accept("/studio/versioning/workspace/welcome/" + forged.replace("1", number, 1)) == 404


def test_mail_goes_on_after_a_change_of_the_secret_key(post: Post, cast: Cast, settings: Settings) -> None:
    invite(cast)
    [mail] = post.work()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    assert accept(link_in(mail, "welcome")) == 302


def test_an_account_is_written_to_in_its_language_at_its_own_address(post: Post, cast: Cast) -> None:
    charlie = User.objects.get(username="charlie")
    Preferences.objects.change(charlie.pk, language="de")
    invite(cast, "charlie", "")
    [mail] = post.work()
    assert mail.to == ["charlie@example.com"]
    assert mail.subject == "Sie sind zum Editor auf editor.example.com eingeladen"
    assert "alice lädt Sie in den Arbeitsbereich acme ein." in mail.body
    assert '<html lang="de">' in html_of(mail)


def test_who_has_turned_invitations_off_gets_only_those_to_another_address(post: Post, cast: Cast) -> None:
    MailPreferences.objects.create(user=User.objects.get(username="charlie"), turned_off=["invitation"])
    invite(cast, "charlie", "")
    assert post.work() == [] and not Mail.objects.exists()


@pytest.mark.parametrize("change", ["withdrawn", "former admin", "off", "no address"])
def test_nothing_is_sent_that_nobody_may_have_any_more(
    post: Post, cast: Cast, settings: Settings, change: str
) -> None:
    if change == "off":
        settings.EMAIL_URL = ""
    if change == "no address":
        invite(cast, "nobody", "")
    else:
        invite(cast)
    running.fill()
    if change == "withdrawn":
        get_editor().invitation.withdraw("acme", "lena")
    if change == "former admin":
        Membership.objects.filter(user__username="alice").update(role="editor")
    assert Mail.objects.count() == (1 if change == "former admin" else 0)
    assert post.work() == [] and not Mail.objects.exists()


HOSTILE = "Your account is locked: https://evil.example"


def test_the_words_of_an_invitation_are_never_those_of_the_inviter(post: Post, cast: Cast) -> None:
    User.objects.filter(username="alice").update(first_name=HOSTILE[:100])
    Workspace.objects.filter(pk="acme").update(name=HOSTILE)
    invite(cast, "evil.example")
    [mail] = post.work()
    received = email.message_from_bytes(mail.message().as_bytes(), policy=email.policy.default)
    assert set(received.keys()) == {
        *("Subject", "From", "To", "Date", "Message-ID", "MIME-Version", "Content-Type", "Auto-Submitted")
    }
    assert received["Subject"] == "You are invited to the editor at editor.example.com"
    for text in (mail.body, html_of(mail)):
        assert "locked" not in text and "evil" not in text and "alice" in text


def test_a_person_invites_so_many_people_within_an_hour(post: Post, cast: Cast, settings: Settings) -> None:
    settings.EDITOR_INVITATIONS_PER_HOUR = 3
    people = {"username": "lena", "role": "viewer"}
    address = "/workspaces/acme/invitations"
    made = cast.alice.post(address, people)
    assert cast.alice.delete(f"{address}/{made.body['id']}").status == 200
    get_editor().invitation.invite("acme", "tom", Role.VIEWER)  # the application, which has no limit
    assert cast.alice.post(address, people).status == 201
    alice = User.objects.get(username="alice")
    get_editor().invitation.renew("acme", "lena", by=alice)
    refused = cast.alice.post(address, people | {"username": "mia"})
    assert (refused.status, refused.code) == (429, "too_many_invitations")
    assert int(refused.headers["Retry-After"]) > 0
    with pytest.raises(TooManyInvitations):
        get_editor().invitation.renew("acme", "lena", by=alice)
    browser = Visitor()
    browser.client.force_login(alice)
    page = browser.post("/studio/versioning/workspace/acme/members/", people | {"username": "mia"})
    assert page.status == 403
    an_hour_ago = timezone.now() - datetime.timedelta(hours=1)
    QuerySet.update(Event.objects.filter(type="invitation.created"), created_at=an_hour_ago)
    assert cast.alice.post(address, people | {"username": "mia"}).status == 201


def test_admins_give_the_address_in_the_studio_where_mail_is_sent(
    post: Post, cast: Cast, settings: Settings
) -> None:
    browser = Visitor()
    browser.client.force_login(User.objects.get(username="alice"))
    page = "/studio/versioning/workspace/acme/members/"
    assert 'name="mail"' in browser.get(page).markup
    given = {"username": "lena", "role": "viewer", "mail": "lena@example.com"}
    assert browser.post(page, given | {"mail": "lena@@example.com"}).status == 400
    assert browser.post(page, given).status == 302
    assert [mail.to for mail in post.work()] == [["lena@example.com"]]
    settings.EMAIL_URL = ""
    assert 'name="mail"' not in browser.get(page).markup
