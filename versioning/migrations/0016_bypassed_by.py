"""Who let a version go live without the approvals that it needed.

Both databases add a column with a constant default at once. Django would write SQLite's tables anew instead,
without the indexes of 0015, of which it does not know.
"""

from django.db import migrations, models

VERSIONS = ("agentversion", "promptblockversion")


class Migration(migrations.Migration):
    """The column is empty for every version that is there."""

    dependencies = [("versioning", "0015_newest_versions")]
    operations = [
        migrations.RunSQL(
            sql=f"ALTER TABLE versioning_{version} ADD COLUMN bypassed_by text DEFAULT '' NOT NULL",
            reverse_sql=f"ALTER TABLE versioning_{version} DROP COLUMN bypassed_by",
            state_operations=[
                migrations.AddField(
                    model_name=version,
                    name="bypassed_by",
                    field=models.TextField(db_default="", default="", editable=False),
                )
            ],
        )
        for version in VERSIONS
    ]
