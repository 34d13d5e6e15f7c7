"""Room for what a configuration named, for the numbers of versions that were live, and for authors.

What a review began with is known by the id of the version alone; its number had one reader, which is gone.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The tables; 0004 fills them."""

    dependencies = [
        ("review", "0002_published_before"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DeletedVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("resource_id", models.CharField(max_length=200)),
                ("identity", models.UUIDField()),
                ("number", models.PositiveIntegerField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["identity", "resource_id", "number"], name="deleted_version_of")
                ],
            },
        ),
        migrations.RemoveConstraint("publishedconfiguration", "published_configuration_once"),
        migrations.AddField(
            "publishedconfiguration", "number", models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.AddField("publishedconfiguration", "named", models.TextField(db_default="", default="")),
        migrations.AddConstraint(
            "publishedconfiguration",
            models.UniqueConstraint(
                fields=["identity", "resource_id", "kind", "digest", "number"],
                name="published_configuration_once",
            ),
        ),
        migrations.AddField("verdict", "named", models.TextField(db_default="", default="")),
        migrations.RemoveField("review", "base_version_number"),
    ]
