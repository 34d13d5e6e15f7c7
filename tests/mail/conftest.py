"""An installation that sends mail, and what has arrived."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core import mail as sent
from django.core.mail import EmailMultiAlternatives
from pytest_django import Settings

from capabilities.mail import running
from capabilities.mail.running import JOBS
from tests.conftest import Cast
from versioning.worker.running import Worker

ADDRESS = "https://editor.example.com"


@dataclass
class Post:
    """The mail server: an outbox in memory."""

    def work(self) -> list[EmailMultiAlternatives]:
        """Let a worker do what is due, and return what it has sent."""
        before = len(sent.outbox)
        assert Worker(JOBS).once()
        return sent.outbox[before:]  # type: ignore[return-value]  # all of ours have HTML


@pytest.fixture
def post(cast: Cast, settings: Settings) -> Post:
    """An installation that sends mail to the cast from now on."""
    settings.EMAIL_URL = "memorymail://"
    settings.EDITOR_PUBLIC_URL = ADDRESS
    for user in User.objects.all():
        user.email = f"{user.username}@example.com"
        user.save()
    running.fill()
    return Post()


def html_of(message: EmailMultiAlternatives) -> str:
    """Return the HTML of a mail."""
    [alternative] = message.alternatives
    return str(alternative.content)


def link_in(message: EmailMultiAlternatives, word: str) -> str:
    """Return the path of the one link that holds a word; the HTML has the same."""
    [found] = {one for one in re.findall(r"https?://\S+", message.body) if word in one}
    assert found.startswith(ADDRESS) and f'href="{found}"' in html_of(message)
    return urlsplit(found).path


def headers_of(message: EmailMultiAlternatives) -> EmailMessage | Any:
    """Return the headers as the mail server gets them."""
    return message.message()
