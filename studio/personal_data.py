"""The application's data about people, erased with them."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlencode

from django.db.models import F, Value

from studio.models import SavedFilter
from versioning.models.personal_data import Erasure, PersonalData, rows_of_person
from versioning.models.text_keys import contains


def _erase_in_filters(erasure: Erasure) -> int:
    """Replace the person in filters that others have saved, such as `author=ada`."""
    changed = 0
    encoded_name = urlencode({"": erasure.name})
    for saved in SavedFilter.objects.filter(contains(F("query"), Value(encoded_name))).only("pk", "query"):
        params = parse_qsl(saved.query, keep_blank_values=True)
        query = urlencode(
            [(name, erasure.replace_name(value) if name == "author" else value) for name, value in params]
        )
        if params != parse_qsl(query, keep_blank_values=True):
            changed += SavedFilter.objects.filter(pk=saved.pk).update(query=query)
    return changed


PERSONAL_DATA: Final = (
    rows_of_person("studio.Preferences"),
    rows_of_person("studio.SavedFilter"),
    rows_of_person("studio.Presence"),
    PersonalData(erase=_erase_in_filters),
)
