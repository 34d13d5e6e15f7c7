"""From entries of the log to pending mail, and sending it.

The log is the outbox, as for webhooks: no change writes a row for mail. A moment later a worker makes the
rows, and moves a cursor in the same transaction, so that each entry is reported once.

The mail is written when it is sent, so that its content and its recipients' rights are current. If a worker
is killed after the mail server has accepted the mail, and before the row is deleted, the mail is sent once
more, with the same `Message-ID`.
"""

from __future__ import annotations

import datetime
import logging
import random
import threading
from collections.abc import Iterator, Sequence
from smtplib import SMTPRecipientsRefused
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from capabilities.mail import conf, letters
from capabilities.mail.models import TRIED_FOR, Mail, MailCursor, MailKind, MailPreferences
from capabilities.mail.recipients import (
    INVITATION,
    chosen_zone,
    reachable_in,
    types_sent,
    wanted_address,
    wanted_by,
)
from studio.models import Preferences
from versioning.conf import get_editor
from versioning.domain.access import Via
from versioning.editor.notifications import concerning
from versioning.models import Event, Invitation, caller_for, events, storage
from versioning.models.accounts import account
from versioning.worker.jobs import Periodic, Queue

SECONDS: Final = 1.0
"""The interval, in seconds, at which each worker checks whether the log has grown."""
AT_ONCE: Final = 500
"""The maximum number of entries read at once."""
DAILY_AT: Final = 8
"""The hour of the daily mail, in the person's time zone."""


_begun: Final = threading.Event()
"""Set once this process knows that there is a cursor."""


def begin() -> None:
    """Begin mail with the entries that the open transaction is about to write.

    Otherwise mail would begin when a worker first reads the log, and earlier events since mail was turned on
    would not be sent.
    """
    if _begun.is_set() or not conf.is_on():
        return
    if MailCursor.objects.exists():  # the cursor as committed by another transaction
        _begun.set()
    else:
        _begin_at(events.position())


def _begin_at(position: int) -> None:
    MailCursor.objects.bulk_create([MailCursor(position=position)], ignore_conflicts=True)


def read_to() -> int | None:
    """Return the position up to which the log was read; None while no mail is sent."""
    return MailCursor.objects.values_list("position", flat=True).first() if conf.is_on() else None


def fill() -> None:
    """Make the mail of all unread entries; several workers may do so at once."""
    while conf.is_on() and _fill_some():
        pass


def _fill_some() -> bool:
    """Make the mail of some unread entries; return whether there may be more."""
    start, newest = read_to(), events.position()
    if start is None:  # events before mail was turned on are not sent
        _begin_at(newest)
        return False
    if start == newest:
        return False
    # If the log ends before the cursor, an earlier state of it was restored.
    entries = events.entries(after=start, limit=AT_ONCE) if start < newest else []
    recent = [event for event in entries if event.created_at > timezone.now() - TRIED_FOR]
    mails = [*_invitations(recent), *_news(recent)]
    with transaction.atomic():
        # Only one of several workers that have read the same entries moves the cursor.
        unmoved = MailCursor.objects.filter(position=start)
        if unmoved.update(position=entries[-1].position if entries else newest):
            Mail.objects.bulk_create(mails)
    return True


def _invitations(entries: Sequence[Event]) -> Iterator[Mail]:
    """Yield mail with the links of invitations, to the address from the admin or the account's."""
    invited = {
        (event.workspace_id, event.detail["username"])
        for event in entries
        if event.type == "invitation.created"
    }
    for workspace_id, username in sorted(invited):
        pending = Invitation.objects.pending().filter(workspace_id=workspace_id, username=username)
        for invitation in pending:
            if invitation.mail or wanted_address(account(username), INVITATION.name):
                yield Mail.due(MailKind.INVITATION, invitation=invitation)


def _news(entries: Sequence[Event]) -> Iterator[Mail]:
    """Yield mail about the entries that concern a person: one for each person."""
    mailed_types = types_sent()
    event_ids = [event.pk for event in entries if event.type in mailed_types]
    if not event_ids:
        return
    people = list(reachable_in({event.workspace_id for event in entries if event.type in mailed_types}))
    preferences = MailPreferences.objects.of([user.pk for user in people])
    code = get_editor().code
    for user in people:
        preference = preferences[user.pk]
        caller, rows = caller_for(user, Via.STUDIO), Event.objects.filter(pk__in=event_ids)
        event_rows = concerning(caller, code, rows, wanted_by(preference))
        if keys := sorted(event_rows.values_list("pk", flat=True)):
            at = next_daily(user.pk) if preference.daily else None
            yield Mail.due(MailKind.NEWS, at, user=user, detail={"events": keys})


def next_daily(user_id: Any) -> datetime.datetime:
    """Return the time of a person's next daily mail."""
    now = timezone.now().astimezone(chosen_zone(Preferences.objects.of(user_id)))
    today = now.replace(hour=DAILY_AT, minute=0, second=0, microsecond=0)
    return today if today > now else today + datetime.timedelta(days=1)


WAITS: Final = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""The seconds between attempts; the last value repeats until the mail is given up."""
JITTER: Final = 0.2
_PERMANENT: Final = 500
"""SMTP reply codes from here on are permanent failures."""

logger = logging.getLogger(__name__)


def send(mail: Mail) -> None:
    """Send a leased mail and delete it, or postpone it; raises `LeaseLost` if that took too long."""
    if mail.until < timezone.now() or not conf.is_on():
        logger.error("a mail was given up", extra={"kind": mail.kind, "attempts": mail.attempts})
        mail.remove()
        return
    mail.join()
    connection = conf.connection()
    messages = letters.write_messages(mail, connection)
    storage.give_back()  # it is not needed while the mail server answers
    try:
        if messages:
            connection.open()
            connection.send_messages(messages)
    except Exception as error:  # noqa: BLE001  the mail backend of a project raises its own errors
        _handle_failure(mail, error)
    else:
        mail.remove()
    finally:
        connection.close()


def _handle_failure(mail: Mail, error: Exception) -> None:
    about = {"kind": mail.kind, "attempts": mail.attempts, "error": f"{type(error).__name__}"}
    # The server refuses the recipient permanently.
    if isinstance(error, SMTPRecipientsRefused) and all(
        code >= _PERMANENT for code, _reply in error.recipients.values()
    ):
        logger.warning("the mail server accepts no mail for an address", extra=about)
        mail.remove()
        return
    logger.warning("a mail could not be sent yet", extra=about)
    wait = WAITS[min(mail.attempts, len(WAITS)) - 1]
    mail.try_again(wait * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311  no secret


JOBS: Final = (
    Periodic(name="mail outbox", run=fill, every=SECONDS, in_each_worker=True),
    Queue(name="mail", model="mail.Mail", run=send, threads=2, at_once=1),
)
