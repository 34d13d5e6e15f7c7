"""Functions that compare texts without regard to case; searched texts and tags in one normal form."""

from django.db import migrations

from versioning.models.text_keys import create_in_postgresql
from versioning.models.text_search import compose_tags, fold_stored

TAGS = ("AgentTag", "PromptBlockTag")
KINDS = (("AgentVersion", "AgentDocument"), ("PromptBlockVersion", "PromptBlockDocument"))


def create(apps, schema_editor):
    """Create the functions; SQLite gets them with each connection."""
    if schema_editor.connection.vendor == "postgresql":
        create_in_postgresql(schema_editor)


def fold(apps, schema_editor):
    """Fold the searched texts again; only those are written that are not in the normal form."""
    for names in KINDS:
        fold_stored(*(apps.get_model("versioning", name) for name in names), schema_editor.connection)
    for name in TAGS:
        compose_tags(apps.get_model("versioning", name))


class Migration(migrations.Migration):
    dependencies = [("versioning", "0027_ever_published")]

    operations = [
        migrations.RunPython(create, migrations.RunPython.noop),
        migrations.RunPython(fold, migrations.RunPython.noop),
    ]
