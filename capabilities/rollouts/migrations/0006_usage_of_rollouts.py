from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0005_rollout_steps")]

    operations = [
        migrations.AddField(
            "rollout",
            "live_version_id",
            models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        migrations.AddField("rollout", "usage_before", models.JSONField(null=True)),
        migrations.AddField("rollout", "usage_until", models.JSONField(null=True)),
    ]
