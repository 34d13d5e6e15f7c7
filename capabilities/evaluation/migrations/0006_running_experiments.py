"""An index of the items that run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0005_gates"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="cell",
            index=models.Index(
                condition=models.Q(("leased_until__isnull", False)),
                fields=["experiment"],
                name="cell_running",
            ),
        ),
    ]
