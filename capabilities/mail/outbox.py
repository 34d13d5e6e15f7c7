"""From entries of the log to mail that waits to be sent.

The log is the outbox, as for webhooks: no change writes a row for mail. A moment later a worker makes the
rows, and moves a cursor in the same transaction, so that each entry is told once.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from capabilities.mail import conf
from capabilities.mail.models import TRIED_FOR, Mail, MailCursor, MailKind, MailPreferences
from capabilities.mail.recipients import address_of, reachable_in, zone_of
from capabilities.mail.topics import INVITATION, types_sent, wanted_by
from versioning.conf import get_editor
from versioning.domain.access import Via
from versioning.editor.notifications import concerning
from versioning.models import Event, Invitation, caller_for, events
from versioning.models.accounts import account

SECONDS: Final = 1.0
"""How often each worker checks whether the log has grown."""
AT_ONCE: Final = 500
"""The maximum number of entries read at once."""
DAILY_AT: Final = 8
"""The hour at which the daily mail comes, in the person's time zone."""


_begun: Final = threading.Event()
"""Set once this process knows that there is a cursor."""


def begin() -> None:
    """Let the mail begin with the entries that the open transaction is about to write.

    Else it would begin when a worker first reads the log, and what happened between turning mail on and then
    would not be sent.
    """
    if _begun.is_set() or not conf.is_on():
        return
    if MailCursor.objects.exists():  # as another transaction has committed it
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
    if start is None:  # what happened before mail was turned on is not sent
        _begin_at(newest)
        return False
    if start == newest:
        return False
    # If the log ends before the cursor, an earlier state of it was restored.
    found = events.entries(after=start, limit=AT_ONCE) if start < newest else []
    recent = [event for event in found if event.created_at > timezone.now() - TRIED_FOR]
    mails = [*_invitations(recent), *_news(recent)]
    with transaction.atomic():
        # Only one of several workers that have read the same entries moves the cursor.
        unmoved = MailCursor.objects.filter(position=start)
        if unmoved.update(position=found[-1].position if found else newest):
            Mail.objects.bulk_create(mails)
    return True


def _invitations(entries: Sequence[Event]) -> Iterator[Mail]:
    """Yield mail with the links of invitations, to the address that the admin gave, or the account's."""
    made = {
        (event.workspace_id, event.detail["username"])
        for event in entries
        if event.type == "invitation.created"
    }
    for workspace_id, username in sorted(made):
        pending = Invitation.objects.pending().filter(workspace_id=workspace_id, username=username)
        for invitation in pending:
            if invitation.mail or wanted_address(account(username), INVITATION.name):
                yield Mail.due(MailKind.INVITATION, invitation=invitation)


def wanted_address(user: Any, topic: str) -> str:
    """Return the address of an account, if there is one and it wants mail about a topic."""
    address = address_of(user)
    is_wanted = address and MailPreferences.objects.of([user.pk])[user.pk].wants(topic)
    return address if is_wanted else ""


def _news(entries: Sequence[Event]) -> Iterator[Mail]:
    """Yield mail about the entries that concern a person: one for each person."""
    sent = types_sent()
    told = [event.pk for event in entries if event.type in sent]
    if not told:
        return
    people = list(reachable_in({event.workspace_id for event in entries if event.type in sent}))
    preferences = MailPreferences.objects.of([user.pk for user in people])
    code = get_editor().code
    for user in people:
        wanted = preferences[user.pk]
        caller, rows = caller_for(user, Via.STUDIO), Event.objects.filter(pk__in=told)
        concerned = concerning(caller, code, rows, wanted_by(wanted))
        if found := sorted(concerned.values_list("pk", flat=True)):
            at = next_daily(user.pk) if wanted.daily else None
            yield Mail.due(MailKind.NEWS, at, user=user, detail={"events": found})


def next_daily(user_id: Any) -> datetime.datetime:
    """Return when the next daily mail of a person comes."""
    now = timezone.now().astimezone(zone_of(user_id))
    today = now.replace(hour=DAILY_AT, minute=0, second=0, microsecond=0)
    return today if today > now else today + datetime.timedelta(days=1)
