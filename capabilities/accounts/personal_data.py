"""The application's data about people, erased with them."""

from __future__ import annotations

from typing import Final

from django.utils import timezone

from capabilities.accounts.models import DirectoryAccount
from versioning.models.personal_data import Erasure, PersonalData, rows_of_person


def _erase_in_directory(erasure: Erasure) -> int:
    """Delete the directory's record of the account, which then no longer exists for the directory."""
    if erasure.user is None:
        return 0
    defaults = {
        "external_id": None,
        "mail_type": "work",
        "mail_is_primary": True,
        "deleted_at": timezone.now(),
    }
    DirectoryAccount.objects.update_or_create(user=erasure.user, defaults=defaults)
    return 1


PERSONAL_DATA: Final = (
    rows_of_person("company.Identity"),
    rows_of_person("company.SecondFactor"),
    rows_of_person("company.OpenSession"),
    PersonalData(erase=_erase_in_directory),
)
