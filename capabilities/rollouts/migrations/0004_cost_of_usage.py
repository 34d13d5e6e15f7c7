from django.db import migrations, models
from django.db.models import F, Q


def mark_unpriced(apps, schema_editor):
    """Nothing is known of the costs of earlier runs."""
    usage = apps.get_model("experiments", "Usage")
    used = Q(input_tokens__gt=0) | Q(output_tokens__gt=0)
    usage.objects.filter(used | ~Q(kind="agent")).update(unpriced_runs=F("runs"))


class Migration(migrations.Migration):
    dependencies = [("experiments", "0003_rollout_running_in")]

    operations = [
        migrations.AddField("usage", "cost", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField("usage", "unpriced_runs", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField("usage", "prices_of", models.DateField(null=True)),
        migrations.RunPython(mark_unpriced, migrations.RunPython.noop),
    ]
