"""Make room for releases and their items."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("versioning", "0015_newest_versions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Release",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("draft", "Draft"), ("published", "Published"), ("reverted", "Reverted")],
                        default="draft",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("published_at", models.DateTimeField(editable=False, null=True)),
                ("revision", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "created_by",
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
                    "reverts",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="releases.release",
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
                    models.Index(fields=["workspace", "-created_at"], name="release_of_workspace"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("published_at", None), ("state", "draft")),
                            models.Q(
                                models.Q(("state", "draft"), _negated=True), ("published_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="release_published_at_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReleaseItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.PositiveSmallIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("resource_id", models.CharField(max_length=200)),
                ("identity", models.UUIDField()),
                (
                    "action",
                    models.CharField(
                        choices=[("publish", "Publish"), ("unpublish", "Unpublish")], max_length=16
                    ),
                ),
                ("version_id", models.UUIDField(null=True)),
                ("version_number", models.PositiveIntegerField(null=True)),
                ("active_before", models.UUIDField(null=True)),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="releases.release",
                    ),
                ),
            ],
            options={
                "ordering": ["release", "place"],
                "indexes": [
                    models.Index(fields=["version_id"], name="release_item_version"),
                    models.Index(fields=["resource_id", "kind"], name="release_item_resource"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("release", "kind", "resource_id"), name="release_item_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action", "unpublish"), ("version_id", None)),
                            models.Q(("action", "publish"), ("version_id__isnull", False)),
                            _connector="OR",
                        ),
                        name="release_item_version_to_publish",
                    ),
                ],
            },
        ),
    ]
