"""How often the results of experiments changed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0006_running_experiments"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="changes_count",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
