"""The tables of scorers."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import versioning.models.versions
from versioning.models.text_search import words_of


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("versioning", "0020_published_updated_at"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Scorer",
            fields=[
                ("id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("last_number", models.PositiveIntegerField(default=0, editable=False)),
                ("revision", models.PositiveIntegerField(default=0, editable=False)),
                ("published_at", models.DateTimeField(editable=False, null=True)),
                ("was_ever_published", models.BooleanField(db_default=False, default=False, editable=False)),
                ("unpublished_version_id", models.UUIDField(default=None, editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("published_revision", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ("published_updated_at", models.DateTimeField(editable=False, null=True)),
                (
                    "author",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "published_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="versioning.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "id"],
                "abstract": False,
                "indexes": [
                    models.Index(fields=["-created_at", "id"], name="scorer_newest_first"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", ""), _negated=True), name="scorer_id_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScorerDocument",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version_id", models.UUIDField(unique=True)),
                (
                    "resource",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="evaluation.scorer",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ScorerVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("number", models.PositiveIntegerField(editable=False)),
                ("config_json", models.TextField(editable=False)),
                ("digest", models.CharField(editable=False, max_length=64)),
                ("name", models.TextField(editable=False)),
                ("search_text", models.TextField(editable=False)),
                ("excerpt", models.TextField(db_default="", default="", editable=False)),
                ("changed_fields", models.JSONField(editable=False)),
                ("change_message", models.TextField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("bypassed_by", models.TextField(db_default="", default="", editable=False)),
                (
                    "author",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "resource",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="evaluation.scorer",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        fields=("resource", "number"), name="scorer_version_number_unique"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1)), name="scorer_version_number_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScorerLabel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("released", models.BooleanField(default=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "resource",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="evaluation.scorer",
                    ),
                ),
                (
                    "updated_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="labels",
                        to="evaluation.scorerversion",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("resource", "name"), name="scorer_label_unique"),
                ],
            },
        ),
        migrations.AddField(
            model_name="scorer",
            name="active_version",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="evaluation.scorerversion",
            ),
        ),
        migrations.AddField(
            model_name="scorer",
            name="latest_version",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="evaluation.scorerversion",
            ),
        ),
        migrations.CreateModel(
            name="ScorerReference",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("target_id", models.CharField(db_index=True, max_length=200)),
                ("target_uuid", models.UUIDField(editable=False, null=True)),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scorer_references",
                        to="versioning.agentversion",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("version", "target_id"), name="scorer_reference_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ScorerTag",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                (
                    "resource",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tags",
                        to="evaluation.scorer",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
                "constraints": [models.UniqueConstraint(fields=("name", "resource"), name="scorer_tag_once")],
            },
        ),
        migrations.AddConstraint(
            model_name="scorerversion",
            constraint=models.UniqueConstraint(fields=("resource", "id"), name="scorer_version_owned"),
        ),
        migrations.AddConstraint(
            model_name="scorerlabel",
            constraint=versioning.models.versions.OwnVersion(
                name="scorer_label_version_is_own", owner="resource", pointer="version"
            ),
        ),
        migrations.AddConstraint(
            model_name="scorer",
            constraint=versioning.models.versions.OwnVersion(
                name="scorer_active_version_is_own", owner="id", pointer="active_version"
            ),
        ),
        migrations.AddConstraint(
            model_name="scorer",
            constraint=versioning.models.versions.OwnVersion(
                name="scorer_latest_version_is_own", owner="id", pointer="latest_version"
            ),
        ),
        words_of("evaluation_scorerdocument"),
    ]
