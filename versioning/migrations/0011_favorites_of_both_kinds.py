"""People mark prompt blocks as favorites, too; what they marked so far are agents."""

from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    dependencies = [("versioning", "0010_rights_position")]

    operations = [
        migrations.RemoveConstraint("favorite", "favorite_once_per_person"),
        migrations.RenameField("favorite", "agent_id", "resource_id"),
        migrations.AddField(
            "favorite", "kind", models.CharField(max_length=32, default="agent"), preserve_default=False
        ),
        migrations.AddField("favorite", "created_at", models.DateTimeField(default=timezone.now)),
        migrations.AddConstraint(
            "favorite",
            models.UniqueConstraint(fields=["resource_id", "kind", "user"], name="favorite_once_per_person"),
        ),
    ]
