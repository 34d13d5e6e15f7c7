"""What the application stores about people, to be erased with them."""

from __future__ import annotations

from typing import Final

from editor_client.shared.text_keys import caseless

from capabilities.mail.models import Mail, MailKind
from versioning.models.personal_data import Erasure, PersonalData, rows_of_person

_NAMING: Final = (MailKind.FORGOTTEN_PASSWORD, MailKind.ADDRESS_CHANGED)
_PEOPLE: Final = ("asked", "to")
"""The members of the detail of such mail that hold what was typed, and an address."""


def _erase_mail_about(erasure: Erasure) -> int:
    """Delete mail that waits for the person without an account of its own, such as a forgotten password."""
    names = {caseless(name) for name in (erasure.name, erasure.address) if name}
    waiting = Mail.objects.filter(kind__in=_NAMING).values_list("pk", "detail")
    about = [pk for pk, detail in waiting if names & {caseless(str(detail.get(name))) for name in _PEOPLE}]
    return Mail.objects.filter(pk__in=about).delete()[0]


PERSONAL_DATA: Final = (
    rows_of_person("mail.Mail"),
    rows_of_person("mail.MailPreferences"),
    PersonalData(erase=_erase_mail_about),
)
