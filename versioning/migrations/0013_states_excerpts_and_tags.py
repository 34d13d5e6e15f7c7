"""Whether a resource was ever live, the beginning of its prompt, and its tags as rows, from stored data."""

import json

import django.db.models.deletion
from django.db import migrations, models
from editor_client.shared.tags import read_tags

from versioning.domain.config import make_excerpt

BATCH = 500
KINDS = (
    ("agent", "Agent", "AgentVersion", "AgentTag"),
    ("promptBlock", "PromptBlock", "PromptBlockVersion", "PromptBlockTag"),
)


def fill(apps, schema_editor):
    """Fill the columns and the rows; the log says what was published, as far as it was not pruned."""
    for word, resource, version, tag in KINDS:
        rows = apps.get_model("versioning", resource)._default_manager
        if not rows.exists():  # an update moves the log, which begins at its beginning
            continue
        published = apps.get_model("versioning", "Event")._default_manager.filter(
            type=f"{word}.published", resource_uuid=models.OuterRef("uuid")
        )
        was_live = models.Q(active_version__isnull=False) | models.Exists(published)
        rows.filter(was_live).update(was_ever_published=True)
        fill_tags(rows, apps.get_model("versioning", tag))
        fill_excerpts(apps.get_model("versioning", version), schema_editor.connection)


def fill_tags(rows, tag_model):
    """Write a row for each tag in the metadata."""
    tagged = rows.filter(metadata__has_key="tags").values_list("pk", "metadata")
    tags = [
        tag_model(resource_id=pk, name=name)
        for pk, metadata in tagged.iterator()
        for name in read_tags(metadata)
    ]
    tag_model._default_manager.bulk_create(tags, batch_size=BATCH)


def fill_excerpts(version_model, connection):
    """Write how the prompt of each version begins."""
    manager, key = version_model._default_manager, version_model._meta.pk
    table = connection.ops.quote_name(version_model._meta.db_table)
    pks = list(manager.exclude(config_json="").order_by().values_list("pk", flat=True))
    for start in range(0, len(pks), BATCH):
        some = manager.filter(pk__in=pks[start : start + BATCH]).order_by().values_list("pk", "config_json")
        excerpts = [
            (make_excerpt(json.loads(text)), key.get_db_prep_save(pk, connection))
            for pk, text in some.iterator()
        ]
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET excerpt = %s WHERE id = %s", excerpts)  # noqa: S608


def excerpt():
    """Return the column."""
    return models.TextField(db_default="", default="", editable=False)


def was_ever_published():
    """Return the column."""
    return models.BooleanField(db_default=False, default=False, editable=False)


def tags(name, resource, constraint):
    """Return the operation that makes the table of the tags of a kind."""
    return migrations.CreateModel(
        name=name,
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("name", models.CharField(max_length=64)),
            (
                "resource",
                models.ForeignKey(
                    editable=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="tags",
                    to=f"versioning.{resource}",
                ),
            ),
        ],
        options={
            "ordering": ["name"],
            "abstract": False,
            "constraints": [models.UniqueConstraint(fields=("name", "resource"), name=constraint)],
        },
    )


class Migration(migrations.Migration):
    dependencies = [("versioning", "0011_favorites_of_both_kinds")]

    operations = [
        migrations.AddField("agent", "was_ever_published", was_ever_published()),
        migrations.AddField("promptblock", "was_ever_published", was_ever_published()),
        migrations.AddField("agentversion", "excerpt", excerpt()),
        migrations.AddField("promptblockversion", "excerpt", excerpt()),
        tags("AgentTag", "agent", "agent_tag_once"),
        tags("PromptBlockTag", "promptblock", "block_tag_once"),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
