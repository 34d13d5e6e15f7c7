"""Sending: once, and tried again for a day; settings that cannot be used are refused."""

from __future__ import annotations

import datetime
import smtplib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail as sent
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone
from pytest_django import Settings

from capabilities.mail import conf, running
from capabilities.mail.models import Mail, MailKind
from capabilities.mail.running import JOBS
from tests.conftest import Cast
from tests.mail.conftest import ADDRESS, Post
from tests.support.mail_server import mail_server, until
from tests.support.ports import free_port
from versioning.conf import check_values
from versioning.models.due_work import DueWorkQuerySet
from versioning.worker.jobs import backlogs
from versioning.worker.running import Worker


def waiting(cast: Cast) -> Mail:
    """Return mail that is due: a notice to an address that edgar had before."""
    mail = Mail.due(
        MailKind.ADDRESS_CHANGED, user=User.objects.get(username="edgar"), detail={"to": "old@example.com"}
    )
    mail.save()
    return mail


def make_due() -> None:
    Mail.objects.update(due_at=timezone.now(), leased_until=None)


def test_a_real_server_takes_it_and_while_it_is_away_mail_waits(
    post: Post, cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    port = free_port()
    settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
    waiting(cast)
    pauses = []
    for _ in range(7):
        begun = timezone.now()
        assert Worker(JOBS).once()
        due_at = Mail.objects.get().due_at
        assert due_at is not None
        pauses.append((due_at - begun).total_seconds())
        make_due()
    for pause, wait in zip(pauses, [*running.WAITS, *running.WAITS[-1:] * 2], strict=True):
        assert wait * 0.79 < pause < wait * 1.21 + 1
    assert [one.due for one in backlogs() if one.kind == "mail"] == [1]
    with mail_server(port, tmp_path) as taken:
        assert Worker(JOBS).once()
        [mail] = until(1, taken)
        assert Worker(JOBS).once() and len(taken()) == 1
    assert not Mail.objects.exists()
    assert mail["To"] == "old@example.com" and mail["X-RcptTo"] == "old@example.com"
    assert [part.get_content_type() for part in mail.walk()][1:] == ["text/plain", "text/html"]


def test_it_is_given_up_after_a_day(post: Post, cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    waiting(cast)
    Mail.objects.update(until=timezone.now() - datetime.timedelta(seconds=1))
    assert post.work() == [] and not Mail.objects.exists()
    assert "a mail was given up" in caplog.text


REFUSED = {
    "for good": (smtplib.SMTPRecipientsRefused({"old@example.com": (550, b"no such user")}), False),
    "for now": (smtplib.SMTPRecipientsRefused({"old@example.com": (451, b"greylisted")}), True),
    "the password": (smtplib.SMTPAuthenticationError(535, b"wrong"), True),
    "slow": (TimeoutError(), True),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_only_what_is_refused_for_good_is_not_tried_again(
    post: Post, cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reason: str
) -> None:
    error, is_tried_again = REFUSED[reason]

    def refuse(*_given: object) -> int:
        raise error

    waiting(cast)
    monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", refuse)
    assert Worker(JOBS).once() and Mail.objects.exists() == is_tried_again
    assert "old@example.com" not in caplog.text and "wrong" not in caplog.text


class Killed(BaseException):
    """The worker ends at once."""


def test_only_a_worker_that_is_killed_after_sending_sends_it_twice_as_the_same_message(
    post: Post, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = waiting(cast)

    def killed(_mail: Mail) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Mail, "remove", killed)
        patch.setattr(DueWorkQuerySet, "release", lambda _leases, _rows: None)
        with pytest.raises(Killed):
            Worker(JOBS).once()
    assert len(sent.outbox) == 1
    assert post.work() == []  # the lease of the other worker goes on
    make_due()
    [again] = post.work()
    assert again.extra_headers["Message-ID"] == sent.outbox[0].extra_headers["Message-ID"]
    assert again.extra_headers["Message-ID"].startswith(f"<{mail.pk}.") and not Mail.objects.exists()


def test_settings_that_cannot_be_used_are_refused_without_the_password(settings: Settings) -> None:
    for url, public, said in [
        ("smtp://mail.example.com", "", "EDITOR_PUBLIC_URL is not"),
        ("mail.example.com", ADDRESS, "is not the URL of a mail server"),
        ("smtp://", ADDRESS, "is not the URL of a mail server"),
        ("smtp://u:hunter2@mail.example.com:port", ADDRESS, "is not the URL of a mail server"),
        ("imap://u:hunter2@mail.example.com", ADDRESS, "is not the URL of a mail server"),
        ("smtp://u:hunter2@mail.example.com?timeout=1", ADDRESS, "is not the URL of a mail server"),
        ("", "editor.example.com", "an address such as https"),
        ("", f"{ADDRESS}/?a=b", "an address such as https"),
    ]:
        settings.EMAIL_URL, settings.EDITOR_PUBLIC_URL = url, public
        [problem] = check_values()
        assert said in problem.msg and "hunter2" not in problem.msg


@pytest.mark.parametrize("sender", ["nobody", "a@example.com\nBcc: b@example.com", "The editor"])
def test_a_sender_has_to_be_an_address(settings: Settings, sender: str) -> None:
    settings.EDITOR_MAIL_FROM = sender
    assert [one.id for one in check_values()] == ["mail.E003"]


@pytest.mark.parametrize(
    ("url", "port", "tls", "ssl"),
    [
        ("smtp://mail.example.com", 25, False, False),
        ("smtp+tls://a%40b:p%2Fw@mail.example.com", 587, True, False),
        ("smtp+ssl://mail.example.com:4650", 4650, False, True),
    ],
)
def test_the_url_says_how_to_connect(settings: Settings, url: str, port: int, tls: bool, ssl: bool) -> None:
    settings.EMAIL_URL, settings.EDITOR_PUBLIC_URL = url, ADDRESS
    settings.EDITOR_MAIL_FROM = "The editor <prompts@example.com>"
    assert check_values() == []
    made = conf.connection()
    assert (made.host, made.port, made.use_tls, made.use_ssl) == ("mail.example.com", port, tls, ssl)
    assert (made.username, made.password) == (("a@b", "p/w") if "%" in url else ("", ""))


class BackendOfProject(EmailBackend):
    """Keeps mail in memory; at first it fails as no mail server does."""

    failures = 1

    def send_messages(self, messages: Any) -> int:
        """Send them, or fail."""
        if BackendOfProject.failures:
            BackendOfProject.failures -= 1
            raise RuntimeError("the service that sends mail refuses")
        return super().send_messages(messages)


def test_mail_goes_through_the_backend_of_a_project(cast: Cast, settings: Settings) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.{BackendOfProject.__name__}"
    assert not conf.is_on()  # links have no address yet
    settings.EDITOR_PUBLIC_URL, settings.DEFAULT_FROM_EMAIL = ADDRESS, "prompts@example.org"
    assert conf.is_on() and check_values() == []
    waiting(cast)
    assert Worker(JOBS).once()
    assert sent.outbox == []
    make_due()
    assert Worker(JOBS).once()
    [mail] = sent.outbox
    assert (mail.to, mail.from_email) == (["old@example.com"], "prompts@example.org")
    settings.EDITOR_MAIL_FROM = "editor@example.org"
    assert conf.sender() == "editor@example.org"
