"""An index by which PostgreSQL lists resources by the authors of their versions.

Without it, PostgreSQL reads the row of each version, most of which is text. SQLite has one, with names,
since 0015.
"""

from django.db import migrations

TABLES = ("versioning_agentversion", "versioning_promptblockversion")


def create(apps, schema_editor):
    """Create the indexes."""
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"CREATE INDEX {table}_authors ON {table} (id) INCLUDE (author_id)")


def drop(apps, schema_editor):
    """Drop them."""
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"DROP INDEX {table}_authors")


class Migration(migrations.Migration):
    """The indexes have no part in the models: no query names them."""

    dependencies = [("versioning", "0017_lock_key")]

    operations = [migrations.RunPython(create, drop)]
