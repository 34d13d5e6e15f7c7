"""The content of a pending mail, written when it is sent, if it still has a recipient.

Links with a secret are made here, so that no row and no back-up contains one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from capabilities.mail import conf, studio
from capabilities.mail.models import Mail, MailKind, MailPreferences
from capabilities.mail.recipients import (
    FORGOTTEN_PASSWORD,
    INVITATION,
    in_language,
    mail_address,
    types_sent,
    wanted_address,
    wanted_by,
)
from studio.activity import lines as activity
from studio.activity.sentences import Fragment
from studio.dates import moment_in_words
from studio.limits import shorten
from studio.marks import as_text, writing
from studio.named import workspace_name
from studio.permissions import caller_of
from studio.workspaces.names import role_name
from studio.workspaces.views import invitation_address
from versioning.conf import get_editor
from versioning.editor.notifications import concerning
from versioning.models import Event, Invitation
from versioning.models.accounts import account

MAX_SUBJECT: Final = 150
_JOINERS: Final = frozenset("\u200c\u200d")
"""Invisible characters that belong to words and emoji."""
_FROM_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"


def plain(text: str) -> str:
    """Return a name or a sentence in one line, without invisible characters.

    A name could otherwise begin another header, or reverse the direction of the following text.
    """
    words = " ".join(text.split())
    return "".join(word for word in words if word in _JOINERS or unicodedata.category(word)[0] != "C")


def isolate(name: str) -> str:
    """Return a name so that its direction does not affect the text around it."""
    name = plain(name)
    is_rtl = any(unicodedata.bidirectional(letter) in _FROM_RIGHT_TO_LEFT for letter in name)
    return f"{_ISOLATE}{name}{_END_OF_ISOLATE}" if is_rtl else name


@dataclass(frozen=True, kw_only=True)
class LetterLine:
    """A line of a letter about one event."""

    words: str
    about: str
    """The time and the workspace of the event."""
    address: str
    """The public address of the page about it."""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """The content of a mail, in one language."""

    subject: str
    sentences: Sequence[str] = ()
    lines: Sequence[LetterLine] = ()
    address: str = ""
    """The page that the button leads to; empty without one."""
    button: str = ""
    ends: Sequence[str] = ()
    """Sentences at the end, in small print."""
    settings_address: str = ""
    """The address of the page to turn it off; empty if that is not possible."""

    def message(self, to: str, message_id: str, connection: BaseEmailBackend) -> EmailMultiAlternatives:
        """Return the message to an address."""
        context = {"letter": self, "language": get_language()}
        headers = {
            "Message-ID": f"<{message_id}@{conf.public_host()}>",
            "Auto-Submitted": "auto-generated",  # so that out-of-office replies are not sent to the sender
            **({"List-Unsubscribe": f"<{self.settings_address}>"} if self.settings_address else {}),
        }
        message = EmailMultiAlternatives(
            subject=shorten(self.subject, MAX_SUBJECT),
            body=render_to_string("mail/letter.txt", context),
            from_email=conf.sender(),
            to=[to],
            headers=headers,
            connection=connection,
        )
        message.attach_alternative(render_to_string("mail/letter.html", context), "text/html")
        return message


MAX_LINES = 50
"""The number of events that a mail lists; it counts the others."""


def news(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield one message about the events of a mail and of the person's other due mail."""
    user = mail.user
    to = mail_address(user)
    if user is None or not to:
        return
    keys = [key for joined in (mail, *mail.joined) for key in joined.detail["events"]]
    request = HttpRequest()  # the reader of the sentences
    request.user = user
    caller = caller_of(request)
    # Those of the events that still concern the person, may be seen, and are wanted.
    conditions = wanted_by(MailPreferences.objects.of([user.pk])[user.pk])
    rows = Event.objects.filter(pk__in=keys, type__in=types_sent())
    event_rows = concerning(caller, get_editor().code, rows, conditions)
    events = list(event_rows.order_by("position", "ordinal"))
    if not events:
        return
    with in_language(user):
        with writing():
            activity_lines = activity.lines_of(events[:MAX_LINES], caller)
            lines = [_write_line(line, request) for line in activity_lines]
        count = len(events)
        several = ngettext("%(count)s notification", "%(count)s notifications", count) % {"count": count}
        letter = Letter(
            subject=lines[0].words if count == 1 else several,
            lines=lines,
            address=conf.public_address(reverse("studio:notifications")) if count > 1 else "",
            button=_("All notifications"),
            settings_address=conf.public_address(reverse("studio:account_mail")),
        )
        yield letter.message(to, mail.message_id, connection)


def _write_line(line: activity.EventLine, request: HttpRequest) -> LetterLine:
    event = line.event
    words = "".join(_words(fragment, request) for fragment in line.sentence)
    moment = moment_in_words(event.created_at)
    workspace = isolate(as_text(workspace_name(event.workspace_id), request))
    addresses = (fragment.address for fragment in line.sentence if fragment.address)
    page = next(addresses, reverse("studio:notifications"))
    return LetterLine(words=words, about=f"{moment} · {workspace}", address=conf.public_address(page))


def _words(fragment: Fragment, request: HttpRequest) -> str:
    """Return a part of a sentence; a name cannot reverse the direction of the rest."""
    text = as_text(str.__str__(fragment.text), request)
    if fragment.address or fragment.html is not None:
        return isolate(text)
    # The words between two names have spaces around them.
    before, after = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{before}{plain(text)}{after}" if text.strip() else " "


_ONE_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")


def write_messages(mail: Mail, connection: BaseEmailBackend) -> list[EmailMultiAlternatives]:
    """Return the messages to send for a mail: none if it no longer has a recipient."""
    return list(_WRITERS[MailKind(mail.kind)](mail, connection))


def _invitation(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield the link of an invitation that can still be accepted, unless there is a newer mail about it."""
    acceptable = Invitation.objects.acceptable().filter(pk=mail.invitation_id or 0)
    invitation = acceptable.select_related("workspace", "invited_by").first()
    if invitation is None or Mail.objects.filter(invitation=invitation, pk__gt=mail.pk).exists():
        return
    invited = account(invitation.username)
    to = invitation.mail or wanted_address(invited, INVITATION.name)
    if to:
        with in_language(invited or invitation.invited_by):
            yield _letter_of_invitation(invitation).message(to, mail.message_id, connection)


def _letter_of_invitation(invitation: Invitation) -> Letter:
    """Return a letter in fixed words: it can go to any address, so it must not contain texts of the admin.

    Names of more than one word, or that a mail program may turn into a link, are omitted.
    """
    by = invitation.invited_by
    names = {
        "host": conf.public_host(),
        "person": by.get_username() if by is not None else "",
        "workspace": invitation.workspace_id,
        "role": role_name(invitation.role),
        "username": invitation.username,
        "until": moment_in_words(invitation.expires_at),
    }
    subject = _("You are invited to the editor at %(host)s") % names
    sentences = [f"{subject}."]
    if _is_one_word(names["person"]) and _is_one_word(names["workspace"]):
        sentences.append(_("%(person)s invites you to the workspace %(workspace)s.") % names)
    if _is_one_word(names["username"]):
        sentences.append(
            _("You would have the role %(role)s there, with the user name %(username)s.") % names
        )
    return Letter(
        subject=subject,
        sentences=sentences,
        address=conf.public_address(invitation_address(invitation.mailed_token)),
        button=_("View invitation"),
        ends=[
            _("The link is valid until %(until)s. If you expect no invitation, do nothing.") % names,
        ],
    )


def _is_one_word(name: str) -> bool:
    return _ONE_WORD.fullmatch(name) is not None


def _forgotten_password(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield a link for each account with the typed name or address."""
    for number, user in enumerate(studio.find_accounts(mail.detail["asked"])):
        to = wanted_address(user, FORGOTTEN_PASSWORD.name)
        if not to:
            continue
        with in_language(user):
            names = {"username": isolate(user.get_username())}
            letter = Letter(
                subject=_("A new password for %(username)s") % names,
                sentences=[
                    _("Someone has asked for a new password for the account %(username)s.") % names,
                    _("If it was you, set one within an hour. The link works once."),
                ],
                address=conf.public_address(studio.new_password_address(user)),
                button=_("Set a new password"),
                ends=[_("If it was someone else, do nothing: your password stays as it is.")],
            )
            yield letter.message(to, f"{mail.message_id}.{number}", connection)


def _address_changed(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield a notice to the previous address of an account."""
    user = mail.user
    if user is None:
        return
    with in_language(user):
        names = {"username": isolate(user.get_username())}
        letter = Letter(
            subject=_("The mail address of %(username)s has changed") % names,
            sentences=[
                _("The account %(username)s has another mail address now; this one gets no more mail.")
                % names,
                _("If it was not you who changed it, tell an admin of your workspace at once."),
            ],
        )
        yield letter.message(mail.detail["to"], mail.message_id, connection)


Writer = Callable[[Mail, BaseEmailBackend], Iterator[EmailMultiAlternatives]]
_WRITERS: Final[Mapping[MailKind, Writer]] = {
    MailKind.INVITATION: _invitation,
    MailKind.FORGOTTEN_PASSWORD: _forgotten_password,
    MailKind.ADDRESS_CHANGED: _address_changed,
    MailKind.NEWS: news,
}
