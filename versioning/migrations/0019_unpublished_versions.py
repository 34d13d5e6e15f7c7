"""Which version was live until a resource was unpublished: from what the log knows."""

import uuid

from django.db import migrations, models

BATCH = 500
KINDS = (("agent", "Agent"), ("promptBlock", "PromptBlock"))


def fill(apps, schema_editor):
    """Fill the column of what was unpublished; where the log was pruned it stays empty."""
    events = apps.get_model("versioning", "Event")._default_manager.order_by("position")
    for word, model in KINDS:
        rows = apps.get_model("versioning", model)._default_manager
        unpublished = rows.filter(active_version__isnull=True, was_ever_published=True).order_by()
        ids = list(unpublished.values_list("uuid", flat=True))
        for start in range(0, len(ids), BATCH):
            told = events.filter(type=f"{word}.unpublished", resource_uuid__in=ids[start : start + BATCH])
            last = dict(told.values_list("resource_uuid", "previous_version_id"))
            for identity, version_id in last.items():
                if (version := stored(version_id)) is not None:
                    rows.filter(uuid=identity).update(unpublished_version_id=version)


def stored(version_id):
    """Return the id of a version that a row has; None for a commit, a file, and none."""
    try:
        return uuid.UUID(version_id or "")
    except ValueError:
        return None


def unpublished_version_id():
    """Return the column."""
    return models.UUIDField(default=None, editable=False, null=True)


class Migration(migrations.Migration):
    dependencies = [("versioning", "0018_authors_of_versions")]

    operations = [
        migrations.AddField("agent", "unpublished_version_id", unpublished_version_id()),
        migrations.AddField("promptblock", "unpublished_version_id", unpublished_version_id()),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
