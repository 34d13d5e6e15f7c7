"""Labels can be released: everyone who can read published versions can read the version by such a name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("versioning", "0004_invitations")]

    operations = [
        migrations.AddField("agentlabel", "released", models.BooleanField(default=False)),
        migrations.AddField("promptblocklabel", "released", models.BooleanField(default=False)),
    ]
