"""Make room for the log: one entry for every change, under positions in the order of commits."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("versioning", "0006_favorites"),
    ]

    operations = [
        migrations.CreateModel(
            name="LogPosition",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("position", models.BigIntegerField(default=0)),
                ("pruned_to", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uuid", models.UUIDField(default=uuid.uuid4)),
                ("position", models.BigIntegerField()),
                ("ordinal", models.PositiveIntegerField(default=0)),
                ("type", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField()),
                ("workspace_id", models.CharField(blank=True, max_length=200)),
                ("resource_kind", models.CharField(blank=True, max_length=32)),
                ("resource_id", models.CharField(blank=True, max_length=200)),
                ("resource_uuid", models.UUIDField(null=True)),
                ("version_id", models.CharField(blank=True, max_length=80)),
                ("version_number", models.PositiveIntegerField(null=True)),
                ("previous_version_id", models.CharField(blank=True, max_length=80)),
                ("label", models.CharField(blank=True, max_length=64)),
                ("actor", models.TextField(blank=True)),
                (
                    "via",
                    models.CharField(
                        choices=[
                            ("studio", "studio"),
                            ("api", "api"),
                            ("python", "python"),
                            ("schedule", "schedule"),
                            ("command", "command"),
                            ("file", "file"),
                        ],
                        max_length=16,
                    ),
                ),
                ("key_prefix", models.CharField(blank=True, max_length=16)),
                ("detail", models.JSONField(default=dict)),
                (
                    "audience",
                    models.CharField(
                        choices=[("readers", "readers"), ("editors", "editors"), ("admins", "admins")],
                        max_length=16,
                    ),
                ),
                ("reach", models.PositiveSmallIntegerField(default=0)),
                ("hidden_from", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ["position", "ordinal"],
                "indexes": [
                    models.Index(fields=["workspace_id", "position"], name="event_of_workspace"),
                    models.Index(fields=["resource_id", "position"], name="event_of_resource"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("position", "ordinal"), name="event_position_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("via__in", ["studio", "api", "python", "schedule", "command", "file"])
                        ),
                        name="event_via_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("audience__in", ["readers", "editors", "admins"])),
                        name="event_audience_known",
                    ),
                ],
            },
        ),
    ]
