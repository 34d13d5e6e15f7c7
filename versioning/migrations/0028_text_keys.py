"""Functions that compare texts without regard to case, and the searched texts in one normal form."""

from django.db import migrations

from versioning.models.text_keys import create_in_postgresql

VERSIONS = ("AgentVersion", "PromptBlockVersion")


def create(apps, schema_editor):
    """Create the functions; SQLite gets them with each connection."""
    if schema_editor.connection.vendor == "postgresql":
        create_in_postgresql(schema_editor)


def fold(apps, schema_editor):
    """Fold the searched texts again; only those are written that are not in the normal form."""
    for name in VERSIONS:
        fold_texts(apps.get_model("versioning", name), schema_editor)


def fold_texts(version_model, schema_editor):
    """Fold the searched texts of the versions of a kind: one statement, which reads each text once."""
    table = schema_editor.quote_name(version_model._meta.db_table)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET search_text = editor_caseless(search_text)"  # noqa: S608
            " WHERE search_text <> editor_caseless(search_text)"
        )


class Migration(migrations.Migration):
    dependencies = [("versioning", "0027_ever_published")]

    operations = [
        migrations.RunPython(create, migrations.RunPython.noop),
        migrations.RunPython(fold, migrations.RunPython.noop),
    ]
