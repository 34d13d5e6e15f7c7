"""Make room for the index of words. A worker fills it: with many resources that takes a while."""

import django.db.models.deletion
from django.db import migrations, models

_TABLES = ("versioning_agentdocument", "versioning_promptblockdocument")

_ON_POSTGRESQL = [
    """ALTER TABLE {table}
        ADD COLUMN in_name tsvector NOT NULL,
        ADD COLUMN in_id tsvector NOT NULL,
        ADD COLUMN in_description tsvector NOT NULL,
        ADD COLUMN words tsvector NOT NULL,
        ADD COLUMN line text NOT NULL""",
    # With statistics of the words, PostgreSQL reads all vectors when a common word is asked for, and takes it
    # for cheap: it does not count what it costs to unpack them.
    """ALTER TABLE {table}
        ALTER COLUMN in_name SET STATISTICS 0,
        ALTER COLUMN in_id SET STATISTICS 0,
        ALTER COLUMN in_description SET STATISTICS 0,
        ALTER COLUMN words SET STATISTICS 0""",
    "CREATE INDEX {table}_words ON {table} USING gin (in_name, in_id, in_description, words)",
]
# It ranks nothing, so it keeps no sizes. The words come separated by blanks.
_ON_SQLITE = [
    """CREATE VIRTUAL TABLE {table}_words
        USING fts5(name, id, description, text, tokenize='ascii', columnsize=0)""",
]


def _add_words(_apps, schema_editor):
    statements = _ON_POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _ON_SQLITE
    for table in _TABLES:
        for statement in statements:
            schema_editor.execute(statement.format(table=table))


def _drop_words(_apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":  # where they are columns of the table
        for table in _TABLES:
            schema_editor.execute(f"DROP TABLE {table}_words")


class Migration(migrations.Migration):
    dependencies = [
        ("versioning", "0013_states_excerpts_and_tags"),
    ]

    operations = [
        migrations.CreateModel(
            name="SearchProgress",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("position", models.BigIntegerField(default=0)),
                ("is_whole", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="AgentDocument",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version_id", models.UUIDField(unique=True)),
                (
                    "resource",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="versioning.agent",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="PromptBlockDocument",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version_id", models.UUIDField(unique=True)),
                (
                    "resource",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="versioning.promptblock",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.RunPython(_add_words, _drop_words),
    ]
