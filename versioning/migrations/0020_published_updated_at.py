"""When resources were last changed, and how often, as far as that may be seen without the right to drafts."""

from django.db import migrations, models
from django.db.models import Case, F, When
from django.db.models.functions import Coalesce


def fill(apps, schema_editor):
    """Fill in the time of the published version: the last change if there is no draft, else publishing."""
    for resource in ("Agent", "PromptBlock"):
        live = apps.get_model("versioning", resource)._default_manager.filter(active_version__isnull=False)
        if live.exists():  # an update moves the log, which begins at its beginning
            has_no_draft = When(active_version=F("latest_version"), then=F("updated_at"))
            at = Case(has_no_draft, default=Coalesce("published_at", "created_at"))
            live.update(published_updated_at=at)


def published_revision():
    """Return the column that counts."""
    return models.PositiveIntegerField(db_default=0, default=0, editable=False)


def published_updated_at():
    """Return the column of the time."""
    return models.DateTimeField(editable=False, null=True)


class Migration(migrations.Migration):
    dependencies = [("versioning", "0019_unpublished_versions")]

    operations = [
        migrations.AddField("agent", "published_revision", published_revision()),
        migrations.AddField("agent", "published_updated_at", published_updated_at()),
        migrations.AddField("promptblock", "published_revision", published_revision()),
        migrations.AddField("promptblock", "published_updated_at", published_updated_at()),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
