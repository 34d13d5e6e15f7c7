"""A letter: a subject, sentences and lines with links, as text and as HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string
from django.utils.translation import get_language

from capabilities.mail import conf
from studio.limits import shortened

MAX_SUBJECT: Final = 150
_JOINERS: Final = frozenset("\u200c\u200d")
"""Invisible characters that belong to words and emoji."""
_FROM_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"


def plain(text: str) -> str:
    """Return a name or a sentence in one line, without invisible characters.

    A name could otherwise begin another header, or turn round the direction of what follows it.
    """
    words = " ".join(text.split())
    return "".join(word for word in words if word in _JOINERS or unicodedata.category(word)[0] != "C")


def isolated(name: str) -> str:
    """Return a name so that its direction does not affect what is around it."""
    name = plain(name)
    is_rtl = any(unicodedata.bidirectional(one) in _FROM_RIGHT_TO_LEFT for one in name)
    return f"{_ISOLATE}{name}{_END_OF_ISOLATE}" if is_rtl else name


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a letter about one event."""

    words: str
    about: str
    """When it was, and in which workspace."""
    address: str
    """The page about it, from outside."""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """What a mail says, in the language in which it was made."""

    subject: str
    sentences: Sequence[str] = ()
    lines: Sequence[Line] = ()
    address: str = ""
    """The page that the button leads to; empty without one."""
    button: str = ""
    ends: Sequence[str] = ()
    """Sentences at the end, in small print."""
    settings_address: str = ""
    """The page on which one turns it off; empty if that is not possible."""

    def message(self, to: str, message_id: str, connection: BaseEmailBackend) -> EmailMultiAlternatives:
        """Return the message to an address."""
        shown = {"letter": self, "language": get_language()}
        headers = {
            "Message-ID": f"<{message_id}@{conf.public_host()}>",
            "Auto-Submitted": "auto-generated",  # so that nobody's absence is reported to the sender
            **({"List-Unsubscribe": f"<{self.settings_address}>"} if self.settings_address else {}),
        }
        message = EmailMultiAlternatives(
            subject=shortened(self.subject, MAX_SUBJECT),
            body=render_to_string("mail/letter.txt", shown),
            from_email=conf.sender(),
            to=[to],
            headers=headers,
            connection=connection,
        )
        message.attach_alternative(render_to_string("mail/letter.html", shown), "text/html")
        return message
