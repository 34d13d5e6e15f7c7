from django.db import migrations, models

import versioning.models.log


def begin_an_epoch(apps, schema_editor):
    rows = apps.get_model("versioning", "LogPosition")._default_manager.using(schema_editor.connection.alias)
    rows.filter(epoch="").update(epoch=versioning.models.log.new_epoch())


class Migration(migrations.Migration):
    dependencies = [
        ("versioning", "0022_service_accounts"),
    ]

    operations = [
        migrations.AddField(
            model_name="logposition",
            name="epoch",
            field=models.CharField(db_default="", default=versioning.models.log.new_epoch, max_length=32),
        ),
        migrations.RunPython(begin_an_epoch, migrations.RunPython.noop),
    ]
