from django.db import migrations, models
from django.db.models import Q


def mark_unpriced(apps, schema_editor):
    """Nothing is known of the costs of earlier experiments."""
    experiments = apps.get_model("evaluation", "Experiment")
    experiments.objects.filter(Q(input_tokens__gt=0) | Q(output_tokens__gt=0)).update(unpriced_count=1)


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0007_changes_of_results")]

    operations = [
        migrations.AddField("experiment", "cost", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField(
            "experiment", "unpriced_count", models.PositiveIntegerField(default=0, db_default=0)
        ),
        migrations.AddField("experiment", "prices_of", models.DateField(null=True)),
        migrations.RunPython(mark_unpriced, migrations.RunPython.noop),
    ]
