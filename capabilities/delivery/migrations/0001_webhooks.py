"""Make room for webhooks, their deliveries, and how far the log has been read for them."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("versioning", "0009_worker"),
    ]

    operations = [
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("due_at", models.DateTimeField(db_index=True, null=True)),
                ("leased_until", models.DateTimeField(editable=False, null=True)),
                ("leased_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("attempts", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("event_id", models.UUIDField()),
                ("body", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(db_index=True, null=True)),
                ("step", models.PositiveSmallIntegerField(default=0)),
                ("replay_wanted", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-created_at", "pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("leased_until__isnull", False)),
                        fields=["leased_until"],
                        name="delivery_being_sent",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OutboxCursor",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("position", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="RootKey",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("sealed", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="DeliveryAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("status_code", models.PositiveSmallIntegerField(null=True)),
                ("milliseconds", models.PositiveIntegerField()),
                ("error", models.TextField(blank=True)),
                ("response", models.TextField(blank=True)),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="made",
                        to="delivery.delivery",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("url", models.CharField(max_length=2000)),
                ("event_types", models.JSONField()),
                ("id_prefix", models.CharField(blank=True, max_length=200)),
                ("description", models.TextField(blank=True)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "disabled_reason",
                    models.CharField(
                        blank=True, choices=[("gone", "Gone"), ("failing", "Failing")], max_length=16
                    ),
                ),
                ("created_by", models.TextField(blank=True)),
                ("created_by_id", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("after", models.BigIntegerField()),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("generation", models.PositiveIntegerField(default=1)),
                ("previous", models.JSONField(default=list)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="versioning.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "pk"],
                "indexes": [
                    models.Index(fields=["workspace", "-created_at"], name="webhook_of_workspace"),
                ],
            },
        ),
        migrations.AddField(
            model_name="delivery",
            name="webhook",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="delivery.webhook"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["webhook", "-created_at"], name="delivery_of_webhook"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                fields=("webhook", "event_id"), name="delivery_once_per_webhook"
            ),
        ),
    ]
