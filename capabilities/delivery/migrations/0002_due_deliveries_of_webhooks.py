"""Find the due deliveries of a webhook, regardless of the number of earlier ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0001_webhooks"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["webhook", "due_at"],
                name="delivery_due_of_webhook",
            ),
        ),
    ]
