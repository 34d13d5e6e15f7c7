"""Give resources an identity that a namesake does not share, and references the identity they mean."""

import uuid

from django.conf import settings
from django.db import migrations, models

BATCH = 500
IN_CODE = uuid.UUID(int=0)


def give_identities(apps, schema_editor):
    """Give every existing resource an identity."""
    for name in ("Agent", "PromptBlock"):
        resources = apps.get_model("versioning", name)._default_manager
        rows = []
        for row in resources.only("pk").iterator():
            row.uuid = uuid.uuid4()
            rows.append(row)
        resources.bulk_update(rows, ["uuid"], batch_size=BATCH)


def grant_what_is_published(apps, schema_editor):
    """Grant published versions what they run and show today, as far as that is certain.

    Nobody remembers what the publisher of an agent could read, so a sub-agent is granted within the
    workspace only. Which agents code defines is not known here: what has no row counts as one of them
    for the agents of their workspace. A block of another workspace was checked when the agent was
    published, if it existed by then.
    """
    agents = apps.get_model("versioning", "Agent")._default_manager
    blocks = apps.get_model("versioning", "PromptBlock")._default_manager
    agent_of = {
        pk: (workspace, identity)
        for pk, workspace, identity in agents.values_list("pk", "workspace_id", "uuid")
    }
    block_of = {
        pk: (workspace, identity, created)
        for pk, workspace, identity, created in blocks.values_list("pk", "workspace_id", "uuid", "created_at")
    }
    sub_agents, shown = [], []
    published = agents.filter(active_version__isnull=False)
    for agent in published.values("workspace_id", "active_version_id", "published_at").iterator():
        home = agent["workspace_id"]
        for row in _references(apps, "SubAgentReference", agent):
            workspace, identity = agent_of.get(row.target_id, (settings.EDITOR_CODE_WORKSPACE, IN_CODE))
            if workspace == home:
                row.target_uuid = identity
                sub_agents.append(row)
        for row in _references(apps, "BlockReference", agent):
            workspace, identity, created = block_of.get(row.target_id, (None, None, None))
            checked = created is not None and (
                agent["published_at"] is None or created <= agent["published_at"]
            )
            if identity is not None and (workspace == home or checked):
                row.target_uuid = identity
                shown.append(row)
    apps.get_model("versioning", "SubAgentReference")._default_manager.bulk_update(
        sub_agents, ["target_uuid"], batch_size=BATCH
    )
    apps.get_model("versioning", "BlockReference")._default_manager.bulk_update(
        shown, ["target_uuid"], batch_size=BATCH
    )


def _references(apps, name, agent):
    return apps.get_model("versioning", name)._default_manager.filter(version_id=agent["active_version_id"])


class Migration(migrations.Migration):
    dependencies = [("versioning", "0001_initial")]

    operations = [
        migrations.AddField("agent", "uuid", models.UUIDField(editable=False, null=True)),
        migrations.AddField("promptblock", "uuid", models.UUIDField(editable=False, null=True)),
        migrations.AddField("blockreference", "target_uuid", models.UUIDField(editable=False, null=True)),
        migrations.AddField("subagentreference", "target_uuid", models.UUIDField(editable=False, null=True)),
        migrations.RunPython(give_identities, migrations.RunPython.noop),
        migrations.RunPython(grant_what_is_published, migrations.RunPython.noop),
        migrations.AlterField(
            "agent", "uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)
        ),
        migrations.AlterField(
            "promptblock", "uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)
        ),
    ]
