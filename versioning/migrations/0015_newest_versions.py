"""An index by which SQLite lists resources by the names and authors of their versions, and finds their users.

Without it, SQLite reads the row of each version, in which these come after the texts. It is for SQLite alone:
PostgreSQL keeps long texts outside of the rows, and has no place for a long name in an index.
"""

from django.db import migrations

COLUMNS = "id, author_id, resource_id, name"
TABLES = ("versioning_agentversion", "versioning_promptblockversion")


def create(apps, schema_editor):
    """Create the indexes."""
    if schema_editor.connection.vendor == "sqlite":
        for table in TABLES:
            schema_editor.execute(f"CREATE INDEX {table}_listed ON {table} ({COLUMNS})")


def drop(apps, schema_editor):
    """Drop them."""
    if schema_editor.connection.vendor == "sqlite":
        for table in TABLES:
            schema_editor.execute(f"DROP INDEX {table}_listed")


class Migration(migrations.Migration):
    """The indexes have no part in the models: no query names them."""

    dependencies = [("versioning", "0014_text_search")]

    operations = [migrations.RunPython(create, drop)]
