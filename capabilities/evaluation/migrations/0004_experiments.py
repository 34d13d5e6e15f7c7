"""The tables of experiments."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0003_datasets"),
        ("versioning", "0024_idempotency"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Experiment",
            fields=[
                ("id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("dataset_version", models.PositiveIntegerField()),
                ("dataset_digest", models.CharField(max_length=64)),
                (
                    "target_type",
                    models.CharField(
                        blank=True,
                        choices=[("agent", "Agent"), ("scorer", "Scorer"), ("", "None")],
                        max_length=16,
                    ),
                ),
                ("target_id", models.CharField(blank=True, max_length=200)),
                ("version_id", models.CharField(blank=True, max_length=80)),
                ("lock_json", models.TextField(blank=True)),
                ("lock_digest", models.CharField(blank=True, max_length=64)),
                ("target_digest", models.CharField(blank=True, max_length=64)),
                ("provider", models.CharField(blank=True, max_length=64)),
                ("queue_id", models.CharField(max_length=200)),
                ("is_started", models.BooleanField(default=True)),
                ("attempts", models.PositiveSmallIntegerField(default=1)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("settings_json", models.TextField(default="{}")),
                ("experiment_set_id", models.CharField(blank=True, max_length=200)),
                ("comparison_id", models.CharField(blank=True, max_length=200)),
                ("variant_id", models.CharField(blank=True, max_length=200)),
                ("trial_index", models.PositiveIntegerField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("complete", "Complete"),
                            ("cancelled", "Cancelled"),
                            ("tooManyErrors", "Too Many Errors"),
                            ("overBudget", "Over Budget"),
                            ("expired", "Expired"),
                            ("", "None"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "stopped",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("complete", "Complete"),
                            ("cancelled", "Cancelled"),
                            ("tooManyErrors", "Too Many Errors"),
                            ("overBudget", "Over Budget"),
                            ("expired", "Expired"),
                            ("", "None"),
                        ],
                        max_length=16,
                    ),
                ),
                ("items_count", models.PositiveIntegerField(default=0)),
                ("cells_count", models.PositiveIntegerField(default=0)),
                ("done_count", models.PositiveIntegerField(default=0)),
                ("error_count", models.PositiveIntegerField(default=0)),
                ("unscored_count", models.PositiveIntegerField(default=0)),
                ("skipped_count", models.PositiveIntegerField(default=0)),
                ("input_tokens", models.BigIntegerField(default=0)),
                ("output_tokens", models.BigIntegerField(default=0)),
                ("milliseconds", models.BigIntegerField(default=0)),
                ("summary_json", models.TextField(blank=True)),
                ("author_name", models.TextField(blank=True)),
                ("key_prefix", models.CharField(blank=True, max_length=16)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="experiments",
                        to="evaluation.dataset",
                    ),
                ),
                (
                    "pair_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="candidates",
                        to="evaluation.experiment",
                    ),
                ),
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
                    models.Index(fields=["workspace", "-created_at"], name="experiment_of_workspace"),
                    models.Index(
                        fields=["target_digest", "dataset", "-created_at"], name="experiment_of_target"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Cell",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(db_index=True, null=True)),
                ("leased_until", models.DateTimeField(editable=False, null=True)),
                ("leased_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("attempts", models.PositiveIntegerField(default=0, editable=False)),
                ("item_id", models.UUIDField()),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("done", "Done"),
                            ("error", "Error"),
                            ("skipped", "Skipped"),
                        ],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("output_json", models.TextField(blank=True)),
                ("output_digest", models.CharField(blank=True, max_length=64)),
                ("is_cut", models.BooleanField(default=False)),
                ("error_code", models.CharField(blank=True, max_length=64)),
                ("error_message", models.TextField(blank=True)),
                ("detail_json", models.TextField(blank=True)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                ("milliseconds", models.PositiveIntegerField(default=0)),
                ("run_id", models.CharField(blank=True, max_length=200)),
                ("review_status", models.CharField(blank=True, max_length=16)),
                ("review_tags", models.TextField(blank=True)),
                ("review_comment", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "revision",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="evaluation.revision",
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cells",
                        to="evaluation.experiment",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(fields=["experiment", "state", "id"], name="cell_of_experiment"),
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["experiment", "due_at", "id"],
                        name="cell_due_of_experiment",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("experiment", "item_id", "attempt"), name="cell_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExperimentScorer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scorer_id", models.CharField(max_length=200)),
                ("version_id", models.CharField(max_length=80)),
                ("config_json", models.TextField()),
                ("instructions", models.TextField(null=True)),
                ("is_primary", models.BooleanField(default=False)),
                ("position", models.PositiveSmallIntegerField(default=0)),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scorers",
                        to="evaluation.experiment",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "scorer_id"), name="experiment_scorer_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Label",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("item_id", models.UUIDField()),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("name", models.CharField(max_length=200)),
                ("value", models.JSONField()),
                ("comment", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="evaluation.experiment",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "pk"],
                "indexes": [
                    models.Index(fields=["name", "-created_at"], name="label_of_name"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "item_id", "attempt", "name", "author"),
                        name="label_once_a_person",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("run_id", models.CharField(max_length=200)),
                ("scorer_id", models.CharField(max_length=200)),
                ("version_id", models.CharField(blank=True, max_length=80)),
                ("entity_type", models.CharField(blank=True, max_length=32)),
                ("entity_id", models.CharField(blank=True, max_length=200)),
                ("source", models.CharField(max_length=8)),
                ("value", models.FloatField(null=True)),
                ("passed", models.BooleanField(null=True)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("reason", models.TextField(blank=True)),
                ("error_code", models.CharField(blank=True, max_length=64)),
                ("error_message", models.TextField(blank=True)),
                ("not_scorable", models.TextField(blank=True)),
                ("more_json", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(null=True)),
                (
                    "cell",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="evaluation.cell",
                    ),
                ),
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
                    models.Index(fields=["run_id", "scorer_id", "-created_at"], name="score_of_run"),
                    models.Index(fields=["scorer_id", "-created_at"], name="score_of_scorer"),
                    models.Index(fields=["entity_type", "entity_id", "-created_at"], name="score_of_entity"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cell", "scorer_id"), name="score_once"),
                ],
            },
        ),
    ]
