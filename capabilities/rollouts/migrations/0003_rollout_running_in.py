from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0002_rollout_of_resource")]

    operations = [
        migrations.AddIndex(
            model_name="rollout",
            index=models.Index(fields=["workspace", "state"], name="rollout_running_in"),
        ),
    ]
