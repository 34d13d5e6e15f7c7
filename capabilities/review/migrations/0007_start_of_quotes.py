"""Where the words of comments begin in their texts; unknown of earlier comments."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0006_arms_were_not_active")]

    operations = [
        migrations.AddField("comment", "start", models.PositiveIntegerField(editable=False, null=True)),
    ]
