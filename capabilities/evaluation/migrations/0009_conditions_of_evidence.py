"""What evidence was made in, and which very scorers gates were made with."""

import json

from django.db import migrations, models
from editor_client.shared import canonical

UNKNOWN = "unknown"
"""The digest of a context that was not kept: no gate has such a context."""


def note_conditions(apps, schema_editor):
    """Say of cells in what context they ran: an item that a caller had run alone may have had another one."""
    experiments, cells = (apps.get_model("evaluation", name) for name in ("Experiment", "Cell"))
    cells.objects.filter(experiment__target_type="agent", experiment__is_started=False).exclude(
        started_at=None
    ).update(context_digest=UNKNOWN)
    given = experiments.objects.filter(target_type="agent", is_started=True)
    for pk, settings_json in given.exclude(settings_json="{}").values_list("pk", "settings_json").iterator():
        settings = json.loads(settings_json)
        context, policy = settings.get("requestContext"), settings.get("unmockedToolPolicy", "deny")
        if context or policy != "deny":
            digest = canonical.digest(context) if context else ""
            cells.objects.filter(experiment=pk).update(context_digest=digest, tool_policy=policy)


def pin_scorers(apps, schema_editor):
    """Take the scorers that have the ids now for those that gates were made with."""
    gates, scorers = (apps.get_model("evaluation", name) for name in ("Gate", "Scorer"))
    blocks = apps.get_model("versioning", "PromptBlock")
    for gate in gates.objects.all():
        pins = {}
        ids = [one for one in gate.scorer_keys.split("\n") if one]
        for scorer in scorers.objects.filter(pk__in=ids).select_related("active_version", "latest_version"):
            config = json.loads((scorer.active_version or scorer.latest_version).config_json)
            block = None
            block_id = config["config"].get("promptBlock") if config["type"] == "llm-judge" else None
            found = blocks.objects.filter(pk=block_id).first() if block_id else None
            if found is not None:
                block = [found.pk, str(found.uuid)]
            pins[scorer.pk] = [str(scorer.uuid), config["type"] == "external", block]
        gate.scorer_pins_json = canonical.dump(pins)
        gate.save(update_fields=["scorer_pins_json"])


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0008_cost_of_experiments")]

    operations = [
        migrations.AddField(
            "cell", "context_digest", models.CharField(blank=True, default="", db_default="", max_length=64)
        ),
        migrations.AddField(
            "cell", "tool_policy", models.CharField(default="deny", db_default="deny", max_length=8)
        ),
        migrations.AddField("cell", "item_tags", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("gate", "scorer_pins_json", models.TextField(default="{}", db_default="{}")),
        migrations.AddField("gate", "request_context_json", models.TextField(default="{}", db_default="{}")),
        migrations.AddField(
            "gate",
            "tool_policy",
            models.CharField(
                choices=[("deny", "Deny"), ("allow", "Allow")],
                default="deny",
                db_default="deny",
                max_length=8,
            ),
        ),
        migrations.AddField("gate", "dataset_version", models.PositiveIntegerField(null=True)),
        migrations.AddField(
            "gate",
            "too_few",
            models.CharField(
                choices=[("refuse", "Refuse"), ("allow", "Allow")],
                default="refuse",
                db_default="refuse",
                max_length=8,
            ),
        ),
        migrations.RunPython(note_conditions, migrations.RunPython.noop),
        migrations.RunPython(pin_scorers, migrations.RunPython.noop),
    ]
