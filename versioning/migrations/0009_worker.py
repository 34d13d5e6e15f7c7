"""Make room for the worker: periodic jobs, signs of life, and what the log has said of override files."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("versioning", "0008_audit_entries_in_log"),
    ]

    operations = [
        migrations.CreateModel(
            name="KnownOverride",
            fields=[
                ("agent_id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("version_id", models.CharField(blank=True, max_length=80)),
            ],
        ),
        migrations.CreateModel(
            name="PeriodicJob",
            fields=[
                ("due_at", models.DateTimeField(db_index=True, null=True)),
                ("leased_until", models.DateTimeField(editable=False, null=True)),
                ("leased_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("attempts", models.PositiveIntegerField(default=0, editable=False)),
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="WorkerHeartbeat",
            fields=[
                ("worker", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
