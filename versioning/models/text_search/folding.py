"""Bring stored texts into the form in which they are compared, in migrations, after the rule has changed."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from django.db.models import F
from django.db.models.functions import Length

from versioning.models.search import ByteLength
from versioning.models.text_keys import Caseless
from versioning.models.text_search.index import text_index

_AT_ONCE: Final = 500


def fold_stored(version_model: Any, document_model: Any, connection: Any) -> None:
    """Fold the texts that differ from their keys, and let workers index these versions again.

    The models are those of a migration's state. One statement reads all texts; few of them are written.
    """
    rows = version_model._default_manager.order_by().exclude(search_text=Caseless("search_text"))
    ids = list(rows.values_list("pk", flat=True))
    table = connection.ops.quote_name(version_model._meta.db_table)
    update = f"UPDATE {table} SET search_text = editor_caseless(search_text) WHERE id = %s"  # noqa: S608
    key = version_model._meta.pk
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        with connection.cursor() as cursor:
            cursor.executemany(update, [[key.get_db_prep_save(pk, connection)] for pk in some])
        text_index(connection).remove(document_model._default_manager.filter(version_id__in=some))
    if ids:
        progress = document_model._meta.apps.get_model("versioning", "SearchProgress")
        progress._default_manager.update(is_whole=False)


def compose_tags(tag_model: Any) -> None:
    """Compose the names of tags that are decomposed; a tag that is there in both forms stays once."""
    rows = tag_model._default_manager.annotate(size=Length("name"), bytes=ByteLength("name"))
    names = rows.filter(bytes__gt=F("size")).values_list("name", flat=True).distinct().order_by()
    for name in [one for one in names if not unicodedata.is_normalized("NFC", one)]:
        composed = unicodedata.normalize("NFC", name)
        decomposed = tag_model._default_manager.filter(name=name)
        there = tag_model._default_manager.filter(name=composed).values_list("resource_id", flat=True)
        decomposed.filter(resource_id__in=list(there)).delete()
        decomposed.update(name=composed)
