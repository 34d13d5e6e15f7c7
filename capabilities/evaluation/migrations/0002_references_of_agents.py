"""Agents that were saved before there were scorers name some, too."""

import json

from django.db import migrations
from editor_client.shared import ids
from editor_client.shared.configurations import keys

ROWS = 500


def fill(apps, schema_editor):
    """Write the references of all versions whose configuration has scorers."""
    database = schema_editor.connection.alias
    versions = apps.get_model("versioning", "AgentVersion").objects.using(database)
    references = apps.get_model("evaluation", "ScorerReference").objects.using(database)
    model = references.model
    rows = []
    for version_id, text in (
        versions.filter(config_json__contains='"scorers"').values_list("pk", "config_json").iterator(ROWS)
    ):
        named = {key for _, key in keys(json.loads(text), "scorers") if ids.problem(key) is None}
        rows += [model(version_id=version_id, target_id=one) for one in sorted(named)]
        if len(rows) >= ROWS:
            references.bulk_create(rows)
            rows = []
    references.bulk_create(rows)


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0001_initial")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
