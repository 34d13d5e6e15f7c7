"""What the application stores about people, to be erased with them."""

from __future__ import annotations

from typing import Final

from django.db.models import TextField
from django.db.models.functions import Cast

from mail.models import Mail
from versioning.models.personal_data import Erasure, PersonalData, rows_of_person


def _erase_mail_about(erasure: Erasure) -> int:
    """Delete mail that waits for the person without an account of its own, such as a forgotten password."""
    waiting = Mail.objects.annotate(stored_text=Cast("detail", TextField()))
    return waiting.filter(erasure.found_in("stored_text")).delete()[0]


PERSONAL_DATA: Final = (
    rows_of_person("mail.Mail"),
    rows_of_person("mail.MailPreferences"),
    PersonalData(erase=_erase_mail_about),
)
