"""Fill the database: `python -m benchmarks.fill PREFIX AGENTS VERSIONS [VERSIONS_OF_THE_FIRST [WORKSPACE]]`.

The agents `PREFIX0`, `PREFIX1` … are published in their last version; the 19 after the first have
it as a sub-agent.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from itertools import islice

import django

DEPENDENTS = 19
CHUNK = 2_000


def main(prefix: str, agents: int, versions: int, of_the_first: int, workspace: str) -> None:
    """Insert the agents, a chunk of versions at a time."""
    from django.db import connection, transaction  # noqa: PLC0415  after the settings

    from versioning.models import Agent, AgentVersion, SubAgentReference  # noqa: PLC0415
    from versioning.models.guarded import unguard  # noqa: PLC0415

    with transaction.atomic():
        made = rows(prefix, agents, versions, of_the_first)
        while chunk := list(islice(made, CHUNK)):
            unguard(AgentVersion.objects.all()).bulk_create(version for version, _ in chunk)
            last = [version for version, is_last in chunk if is_last]
            unguard(Agent.objects.all()).bulk_create(
                Agent(
                    id=version.resource_id,
                    workspace_id=workspace,
                    active_version_id=version.pk,
                    latest_version_id=version.pk,
                    last_number=version.number,
                    revision=version.number,
                )
                for version in last
            )
            unguard(SubAgentReference.objects.all()).bulk_create(
                SubAgentReference(version_id=version.pk, target_id=f"{prefix}0")
                for version in last
                if 0 < int(version.resource_id.removeprefix(prefix)) <= DEPENDENTS
            )
            sys.stderr.write(".")
            sys.stderr.flush()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    sys.stderr.write("\n")


def rows(prefix: str, agents: int, versions: int, of_the_first: int) -> Iterator[tuple[object, bool]]:
    """Yield every version, and whether it is the last of its agent."""
    from editor_client.shared import canonical  # noqa: PLC0415
    from editor_client.shared.text_keys import caseless  # noqa: PLC0415

    from versioning.models import AgentVersion  # noqa: PLC0415

    for index in range(agents):
        agent_id = f"{prefix}{index}"
        count = versions if index else of_the_first
        for number in range(1, count + 1):
            config = {
                "name": agent_id,
                "instructions": f"You are helpful, as of version {number}. " + "Be brief and kind. " * 30,
                "model": {"provider": "echo", "name": "echo"},
            }
            if 0 < index <= DEPENDENTS:
                config["agents"] = {f"{prefix}0": {}}
            version = AgentVersion(
                id=uuid.uuid4(),
                resource_id=agent_id,
                number=number,
                config_json=canonical.dump(config),
                digest=canonical.digest(config),
                name=agent_id,
                search_text=caseless(f"{agent_id}\n{config['instructions']}"),
                changed_fields=["instructions"],
                change_message="Auto-saved after edit",
            )
            yield version, number == count


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
    django.setup()
    first, how_many, each, *most = sys.argv[1:]
    workspace = most[1] if len(most) > 1 else "default"
    main(first, int(how_many), int(each), int(most[0]) if most else int(each), workspace)
