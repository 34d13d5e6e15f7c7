"""Mail about events that concern a person, in the sentences of the bell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.mail import conf
from capabilities.mail.letter import Letter, Line, isolated, plain
from capabilities.mail.models import Mail, MailPreferences
from capabilities.mail.recipients import address_of, in_language_of
from capabilities.mail.topics import types_sent, wanted_by
from studio.activity import lines as activity
from studio.activity.sentences import Fragment
from studio.dates import moment_in_words
from studio.marks import as_text, writing
from studio.named import workspace_name
from studio.permissions import caller_of
from versioning.conf import get_editor
from versioning.editor.notifications import concerning
from versioning.models import Event

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_LINES = 50
"""How many events a mail names; it counts the others."""


def news(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield one message about the events of a mail, and of the other mail to the person that is due."""
    user = mail.user
    to = address_of(user)
    if user is None or not to:
        return
    keys = [key for one in (mail, *mail.joined) for key in one.detail["events"]]
    found = _events(user, keys)
    if found:
        with in_language_of(user):
            yield _letter(user, found).message(to, mail.message_id, connection)


def _events(user: User, keys: Sequence[int]) -> list[Event]:
    """Return those of the events that still concern the person, may be seen, and are wanted."""
    wanted = wanted_by(MailPreferences.objects.of([user.pk])[user.pk])
    caller = caller_of(_request_of(user))
    told = Event.objects.filter(pk__in=keys, type__in=types_sent())
    rows = concerning(caller, get_editor().code, told, wanted)
    return list(rows.order_by("position", "ordinal"))


def _request_of(user: User) -> HttpRequest:
    """Return the request by which pages know their reader."""
    request = HttpRequest()
    request.user = user
    return request


def _letter(user: User, events: Sequence[Event]) -> Letter:
    request = _request_of(user)
    with writing():
        shown = activity.lines_of(events[:MAX_LINES], caller_of(request))
        lines = [_line(one, request) for one in shown]
    count = len(events)
    several = ngettext("%(count)s notification", "%(count)s notifications", count) % {"count": count}
    return Letter(
        subject=lines[0].words if count == 1 else several,
        lines=lines,
        address=conf.public_address(reverse("studio:notifications")) if count > 1 else "",
        button=_("All notifications"),
        settings_address=conf.public_address(reverse("studio:account_mail")),
    )


def _line(line: activity.Line, request: HttpRequest) -> Line:
    event = line.event
    words = "".join(_words(one, request) for one in line.sentence)
    moment = moment_in_words(event.created_at)
    workspace = isolated(as_text(workspace_name(event.workspace_id), request))
    page = next((one.address for one in line.sentence if one.address), reverse("studio:notifications"))
    return Line(words=words, about=f"{moment} · {workspace}", address=conf.public_address(page))


def _words(fragment: Fragment, request: HttpRequest) -> str:
    """Return a part of a sentence; what may be a name cannot turn the rest of it round."""
    text = as_text(str.__str__(fragment.text), request)
    is_name = fragment.address or fragment.html is not None
    return isolated(text) if is_name else _spaced(text)


def _spaced(text: str) -> str:
    """Return the words between two names, with the spaces around them."""
    before, after = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{before}{plain(text)}{after}" if text.strip() else " "
