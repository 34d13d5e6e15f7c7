"""Whether an agent was ever live, from the grants of its versions where the log was pruned.

An agent that was unpublished is out of service, which one that was never published is not.
"""

from django.db import migrations

REFERENCES = ("BlockReference", "SubAgentReference")


def fill(apps, schema_editor):
    """Mark agents with a version that was granted something, unless a released label may be the reason."""
    agents = apps.get_model("versioning", "Agent")._default_manager
    unknown = agents.filter(active_version__isnull=True, was_ever_published=False).order_by()
    if not unknown.exists():  # an update moves the log, which begins at its beginning
        return
    labels = apps.get_model("versioning", "AgentLabel")._default_manager
    labelled = labels.filter(released=True).order_by().values("version_id")
    for name in REFERENCES:
        references = apps.get_model("versioning", name)._default_manager.order_by()
        granted = references.filter(target_uuid__isnull=False).exclude(version_id__in=labelled)
        unknown.filter(pk__in=granted.values("version__resource_id")).update(was_ever_published=True)


class Migration(migrations.Migration):
    dependencies = [("versioning", "0026_installation")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
