"""The key that signs locks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("versioning", "0016_bypassed_by"),
    ]

    operations = [
        migrations.CreateModel(
            name="LockKey",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("sealed", models.TextField()),
            ],
        ),
    ]
