"""The values of items, in which a search looks."""

import json

from django.db import migrations, models

from capabilities.evaluation.datasets.models import PURGED_TEXT, searchable_values
from versioning.models.text_search import compose_tags, fold_stored

BATCH = 500


def fill(apps, schema_editor):
    """Fill the column, some rows at a time; deleted and purged rows are not searched."""
    manager = apps.get_model("evaluation", "Revision")._default_manager
    table = schema_editor.quote_name(manager.model._meta.db_table)
    rows = manager.filter(is_deleted=False, search_text="").exclude(payload_json=PURGED_TEXT).order_by("pk")
    last = 0
    while some := list(rows.filter(pk__gt=last).values_list("pk", "payload_json")[:BATCH]):
        last = some[-1][0]
        texts = [(searchable_values(json.loads(payload)), pk) for pk, payload in some]
        with schema_editor.connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET search_text = %s WHERE id = %s", texts)  # noqa: S608


def fold_searched_texts_of_scorers(apps, schema_editor):
    """Bring searched texts and tags of scorers into their form, as those of agents and prompt blocks."""
    version, document = (apps.get_model("evaluation", name) for name in ("ScorerVersion", "ScorerDocument"))
    fold_stored(version, document, schema_editor.connection)
    compose_tags(apps.get_model("evaluation", "ScorerTag"))


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0009_conditions_of_evidence"), ("versioning", "0028_text_keys")]

    operations = [
        migrations.AddField(
            "revision",
            "search_text",
            models.TextField(db_default="", default="", editable=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(fold_searched_texts_of_scorers, migrations.RunPython.noop),
    ]
