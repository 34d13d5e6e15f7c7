"""Pending mail, the position up to which the log was read for it, and people's mail preferences."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any, Final, Self

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone
from editor_client.shared.text_keys import caseless

from versioning.models import Invitation
from versioning.models.due_work import DueWork, LeaseLost
from versioning.models.personal_data import Erasure, PersonalData, rows_of_person

TRIED_FOR: Final = datetime.timedelta(days=1)
"""The time after the due date for which mail is retried."""
MAX_JOINED: Final = 1000
"""The maximum number of rows joined into one mail."""


class MailKind(models.TextChoices):
    """The kind of a mail; `capabilities.mail.letters` writes each."""

    INVITATION = "invitation"
    FORGOTTEN_PASSWORD = "forgottenPassword"  # noqa: S105  the name of a kind
    ADDRESS_CHANGED = "addressChanged"
    NEWS = "news"
    """Events that concern the person; events due together become one mail."""


class Mail(DueWork):
    """A pending mail. The row is deleted when the mail is sent or given up."""

    kind = models.CharField(max_length=32, choices=MailKind)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    """The recipient, if it has to be an account."""
    invitation = models.ForeignKey(Invitation, null=True, on_delete=models.CASCADE, related_name="+")
    detail = models.JSONField(default=dict)
    """Further data of the mail; never a secret, because links are made when it is sent."""
    until = models.DateTimeField()
    """The time at which it is given up."""

    joined: Sequence[Mail] = ()
    """Other mail to the person that is sent with it."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="mail_kind_known", condition=models.Q(kind__in=[kind.value for kind in MailKind])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @classmethod
    def due(cls, kind: MailKind, at: datetime.datetime | None = None, **fields: Any) -> Self:
        """Return an unsaved mail that is due at a time, or now."""
        at = at or timezone.now()
        return cls(kind=kind, due_at=at, until=at + TRIED_FOR, **fields)

    @property
    def message_id(self) -> str:
        """The first half of its `Message-ID`, the same each time it is sent."""
        return f"{self.pk}.{int(self.until.timestamp() * 1000)}"

    def join(self) -> None:
        """Lease the other mail about events that is due for the person, to be sent with this one."""
        if self.kind == MailKind.NEWS:
            other_mail = Mail.objects.filter(kind=MailKind.NEWS, user=self.user_id)
            self.joined = other_mail.lease(MAX_JOINED, by=self.leased_by)

    def remove(self) -> None:
        """Delete it and joined mail under its lease; raises `LeaseLost`."""
        with transaction.atomic():
            for mail in (self, *self.joined):
                rows = Mail.objects.filter(pk=mail.pk, leased_by=mail.leased_by, attempts=mail.attempts)
                if not mail.leased_by or not rows.delete()[0]:
                    raise LeaseLost

    def try_again(self, seconds: float) -> None:
        """Make it and joined mail due again in this many seconds; raises `LeaseLost`."""
        with transaction.atomic():
            for mail in (self, *self.joined):
                mail.postpone(seconds)


class MailCursor(models.Model):
    """The single row with the position up to which the log was read."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.position)


class MailPreferencesQuerySet(models.QuerySet["MailPreferences"]):
    """Queries for mail preferences."""

    def of(self, user_ids: Collection[Any]) -> dict[Any, MailPreferences]:
        """Return the preferences of people by their ids; the defaults for those without a row."""
        rows = self.in_bulk(list(user_ids))
        return {user_id: rows.get(user_id) or MailPreferences(user_id=user_id) for user_id in user_ids}


class MailPreferences(models.Model):
    """A person's mail preferences; without a row, everything is sent."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", primary_key=True
    )
    turned_off = models.JSONField(default=list)
    """The names of the kinds that are not sent."""
    daily = models.BooleanField(default=False)
    """Whether less urgent mail is sent once a day, as one mail."""

    objects = MailPreferencesQuerySet.as_manager()

    def __str__(self) -> str:
        return f"mail for {self.user_id}"

    def wants(self, kind: str) -> bool:
        """Return whether mail of a kind is wanted."""
        return kind not in self.turned_off


_NAMING: Final = (MailKind.FORGOTTEN_PASSWORD, MailKind.ADDRESS_CHANGED)
_PEOPLE: Final = ("asked", "to")
"""The members of such mail's detail with the typed text and an address."""


def _erase_mail_about(erasure: Erasure) -> int:
    """Delete pending mail about the person without a recipient account, such as for a forgotten password."""
    names = {caseless(name) for name in (erasure.name, erasure.address) if name}
    mail_rows = Mail.objects.filter(kind__in=_NAMING).values_list("pk", "detail")
    about = [pk for pk, detail in mail_rows if names & {caseless(str(detail.get(name))) for name in _PEOPLE}]
    return Mail.objects.filter(pk__in=about).delete()[0]


PERSONAL_DATA: Final = (
    rows_of_person("mail.Mail"),
    rows_of_person("mail.MailPreferences"),
    PersonalData(erase=_erase_mail_about),
)
