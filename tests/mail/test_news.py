"""Mail tells a person what the bell tells: in sentences with links, at once or once a day, if wanted."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from capabilities.delivery.models import DisabledReason, Webhook
from capabilities.mail import running
from capabilities.mail.models import Mail, MailCursor, MailPreferences
from studio.models import Preferences
from tests.conftest import Cast
from tests.mail.conftest import ADDRESS, Post, html_of, link_in
from tests.schedules.conftest import run, scheduled
from tests.support.api import AGENTS, Kind
from tests.support.calls import undone
from tests.support.comments import say as comment
from tests.support.people import give_role
from tests.support.reviews import approve, ask
from tests.support.webhooks import make_webhook
from versioning.domain.access import APPLICATION
from versioning.models import Membership, events

SECRET = "the text of the prompt"


def person(name: str) -> User:
    return User.objects.get(username=name)


def asked(cast: Cast, kind: Kind = AGENTS, **more: Any) -> dict[str, Any]:
    """Let edgar ask paula for a review."""
    kind.make(cast.edgar, text=SECRET)
    return ask(cast.edgar, kind, reviewers=["paula"], message=SECRET, **more)


def to(mails: list[Any]) -> list[str]:
    return sorted(mail.to[0].partition("@")[0] for mail in mails)


@pytest.mark.database
def test_who_is_asked_for_a_review_gets_a_link_to_it(post: Post, cast: Cast, kind: Kind) -> None:
    review = asked(cast, kind)
    [mail] = post.work()
    noun = "agent" if kind is AGENTS else "prompt block"
    assert mail.to == ["paula@example.com"]
    assert mail.subject == f"edgar asked you to review version 1 of {noun} Writer"
    assert link_in(mail, "review").endswith(f"{review['id']}/")
    assert "Acme" in mail.body and "UTC" in mail.body
    assert SECRET not in mail.message().as_string() + html_of(mail)
    assert mail.extra_headers["List-Unsubscribe"] == f"<{ADDRESS}/studio/account/mail/>"
    assert post.work() == [] and not Mail.objects.exists()


def test_reviews_decided_and_comments_are_told_to_whom_they_concern(post: Post, cast: Cast) -> None:
    review = asked(cast)
    post.work()
    approve(cast.paula, review)
    assert [(mail.to, mail.subject) for mail in post.work()] == [
        (["edgar@example.com"], "paula approved version 1 of agent Writer")
    ]
    record = cast.edgar.get(AGENTS.url("writer")).body
    comment(cast.paula, record, body=SECRET)
    [mail] = post.work()
    assert mail.to == ["edgar@example.com"] and SECRET not in mail.message().as_string()
    comment(cast.edgar, record, body=SECRET)
    assert to(post.work()) == ["paula"]


def test_a_schedule_that_fails_is_told_to_its_author(post: Post, cast: Cast) -> None:
    draft = AGENTS.make(cast.paula)["latestVersionId"]
    schedule = scheduled(cast.paula, AGENTS, draft)
    give_role("paula", "acme", "editor")
    post.work()
    run(schedule, cast.alice)
    [mail] = post.work()
    assert mail.to == ["paula@example.com"] and "did not go live, although you had scheduled it" in mail.body


def test_admins_are_told_of_a_disabled_webhook(post: Post, cast: Cast) -> None:
    made = make_webhook(cast.alice, "https://8.8.8.8/secret-path")
    with events.transaction():
        Webhook.objects.with_lock().get(pk=made["id"]).disable(DisabledReason.FAILING)
    mails = post.work()
    assert to(mails) == ["alice", "root"]
    assert mails[0].subject == "The webhook 8.8.8.8 was disabled: its receiver takes no messages"
    assert made["id"] in link_in(mails[0], "webhooks") and "secret-path" not in mails[0].body


def test_an_experiment_that_has_ended_is_told_to_whom_started_it(post: Post, cast: Cast) -> None:
    for by in ("edgar", "paula"):
        with events.transaction():
            events.record(
                "experiment.finished", by=APPLICATION, workspace_id="acme", name="Tone", createdBy=by
            )
    assert to(post.work()) == ["edgar", "paula"]


def test_mail_is_in_the_language_and_the_time_zone_of_the_person(post: Post, cast: Cast) -> None:
    Preferences.objects.change(person("paula").pk, language="de", time_zone="Asia/Tokyo")
    asked(cast)
    [mail] = post.work()
    assert mail.subject == "edgar hat um Prüfung von Version 1 des Agenten Writer gebeten: paula (Sie)"
    hour = timezone.now().astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:")
    assert hour in mail.body and "UTC" not in mail.body
    assert "Auswählen, was Sie bekommen" in mail.body


CHANGES: dict[str, Callable[[User], object]] = {
    "left": lambda paula: Membership.objects.filter(user=paula).delete(),
    "viewer": lambda paula: Membership.objects.filter(user=paula).update(role="viewer"),
    "switched off": lambda paula: User.objects.filter(pk=paula.pk).update(is_active=False),
    "no address": lambda paula: User.objects.filter(pk=paula.pk).update(email=""),
    "no valid address": lambda paula: User.objects.filter(pk=paula.pk).update(
        email="a@b\nBcc: all@example.com"
    ),
    "turned off": lambda paula: MailPreferences.objects.create(user=paula, turned_off=["reviewRequested"]),
    "deleted": lambda paula: paula.delete(),
}


def test_rights_and_wishes_count_when_it_is_sent(post: Post, cast: Cast) -> None:
    """Whether it is waiting already, or is made after the change."""
    User.objects.exclude(username="paula").update(email="")
    asked(cast)
    for is_waiting in (False, True):
        if is_waiting:
            running.fill()
            assert Mail.objects.get().user == person("paula")
        for name, change in CHANGES.items():
            with undone():
                change(person("paula"))
                assert "paula" not in to(post.work()) and not Mail.objects.exists(), (name, is_waiting)
    assert to(post.work()) == ["paula"]


def test_nobody_hears_of_another_workspace(post: Post, cast: Cast) -> None:
    give_role("charlie", "acme", "publisher")
    AGENTS.make(cast.edgar, "theirs")
    ask(cast.edgar, AGENTS, "theirs")
    AGENTS.make(cast.charlie, "ours", workspaceId="elsewhere")
    ask(cast.charlie, AGENTS, "ours")
    found = {mail.to[0]: mail for mail in post.work()}
    assert sorted(found) == [f"{one}@example.com" for one in ("alice", "charlie", "paula", "root")]
    assert (
        "Acme" in found["charlie@example.com"].body and "Elsewhere" not in found["charlie@example.com"].body
    )
    assert found["root@example.com"].subject == "2 notifications"
    assert all(
        one in found["root@example.com"].body for one in ("Acme", "Elsewhere", "/studio/notifications/")
    )


def test_once_a_day_is_at_eight_in_the_zone_of_the_person_and_in_one_mail(post: Post, cast: Cast) -> None:
    paula = person("paula")
    MailPreferences.objects.create(user=paula, daily=True)
    Preferences.objects.change(paula.pk, time_zone="America/New_York")
    asked(cast)
    assert post.work() == []
    AGENTS.make(cast.edgar, "second")
    ask(cast.edgar, AGENTS, "second", reviewers=["paula"])
    assert post.work() == []
    for row in Mail.objects.all():
        assert row.due_at is not None
        at = row.due_at.astimezone(ZoneInfo("America/New_York"))
        assert (at.hour, at.minute) == (8, 0) and timezone.now() < at
    Mail.objects.update(due_at=timezone.now())
    [mail] = post.work()
    assert mail.subject == "2 notifications" and mail.body.count("edgar asked you to review") == 2
    assert not Mail.objects.exists()


def test_names_cannot_turn_a_line_round_or_end_it(post: Post, cast: Cast) -> None:
    User.objects.filter(username="edgar").update(
        first_name="Eve\r\nBcc: x@example.com\u202e", last_name="שלום"
    )
    AGENTS.make(cast.edgar, name=f"<img src=x> {'n' * 180}")
    ask(cast.edgar, AGENTS, reviewers=["paula"])
    [mail] = post.work()
    assert "\n" not in mail.subject and "Bcc" not in mail.message()
    assert mail.body.startswith("\u2068Eve Bcc: x@example.com שלום\u2069 asked you to review")
    assert "\u202e" not in mail.body and "<img" not in html_of(mail) and "&lt;img src=x&gt;" in html_of(mail)


def test_without_mail_nothing_is_written_and_what_was_before_is_not_sent(
    post: Post, cast: Cast, settings: Settings
) -> None:
    settings.EMAIL_URL = ""
    MailCursor.objects.all().delete()
    asked(cast)
    assert post.work() == [] and not MailCursor.objects.exists() and running.read_to() is None
    settings.EMAIL_URL = "memorymail://"
    assert post.work() == [] and running.read_to() == events.position()


def test_what_is_older_than_a_day_is_not_sent(
    post: Post, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(cast)
    monkeypatch.setattr(running, "TRIED_FOR", datetime.timedelta(0))
    assert post.work() == [] and running.read_to() == events.position()


def test_a_restored_log_is_read_from_its_end(post: Post, cast: Cast) -> None:
    MailCursor.objects.update(position=events.position() + 1000)
    running.fill()
    assert running.read_to() == events.position()
    asked(cast)
    assert to(post.work()) == ["paula"]


def test_two_workers_that_read_the_same_entries_make_one_mail(
    post: Post, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(cast)
    entries = events.entries

    def read_by_two(after: int, limit: int = 1000) -> Any:
        found = entries(after=after, limit=limit)
        monkeypatch.setattr(events, "entries", entries)
        running.fill()  # the other worker is faster
        return found

    monkeypatch.setattr(events, "entries", read_by_two)
    running.fill()
    assert Mail.objects.count() == 1
