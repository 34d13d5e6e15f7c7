from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("versioning", "0002_identity")]

    operations = [
        migrations.CreateModel(
            name="SignInAttempts",
            fields=[
                ("subject", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("blocked_until", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "sign-in attempts",
            },
        ),
    ]
