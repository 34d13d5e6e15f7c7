"""Authors of deleted versions become one sort of authors whom no version names.

The table keeps its name, so that processes of the release before go on during an upgrade.
"""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0007_start_of_quotes")]

    operations = [
        migrations.AlterModelTable(name="deletedversion", table="review_deletedversion"),
        migrations.RenameModel(old_name="DeletedVersion", new_name="OtherAuthor"),
        migrations.AddField(model_name="otherauthor", name="suggestion", field=models.UUIDField(null=True)),
    ]
