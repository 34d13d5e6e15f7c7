"""Labels can be released: whoever may read what is published may read the version by such a name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("versioning", "0004_invitations")]

    operations = [
        migrations.AddField("agentlabel", "released", models.BooleanField(default=False)),
        migrations.AddField("promptblocklabel", "released", models.BooleanField(default=False)),
    ]
