"""What the editor in memory tells of resources without changing them: references, differences, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from editor_client.shared import canonical, ids
from editor_client.shared.instructions import referenced_blocks
from editor_client.testing.editor import Editor
from editor_client.testing.refusals import Refused
from editor_client.testing.resources import AGENT, Config, Resource, Version, changed_fields

Json = dict[str, Any]


def dependents(editor: Editor, resource: Resource, status: str = "published") -> list[Json]:
    """Return the agents that refer to a resource, in their published versions or the latest ones."""
    found = []
    for agent in sorted(editor.all(AGENT), key=lambda one: one.id):
        version = agent.latest if status == "draft" else agent.active
        if version is not None and agent is not resource and _refers(version.config, resource):
            found.append({"id": agent.id, "name": version.config["name"]})
    return found


def refuse_in_use(editor: Editor, resource: Resource) -> None:
    """Raise `Refused` if a published agent refers to the resource."""
    found = dependents(editor, resource)
    if found:
        named = ", ".join(agent["name"] for agent in found)
        raise Refused(409, "in_use", f"In use by {named}.", dependents=found, hiddenCount=0)


def _refers(config: Config, resource: Resource) -> bool:
    if resource.kind is not AGENT:
        return resource.id in {block_id for _, block_id in referenced_blocks(config)}
    return resource.id in sub_agents(config)


def sub_agents(config: Config) -> set[str]:
    """Return the sub-agents that a configuration names, in whichever context."""
    agents = config.get("agents") or {}
    values = [variant["value"] for variant in agents] if isinstance(agents, list) else [agents]
    return {agent_id for value in values for agent_id in value}


def comparison(resource: Resource, before: Version, after: Version) -> Json:
    """Return the fields in which two versions differ."""
    diffs = [
        {
            "field": name,
            "previousValue": before.config.get(name),
            "currentValue": after.config.get(name),
        }
        for name in changed_fields(resource.kind, before.config, after.config)
    ]
    return {
        "diffs": diffs,
        "fromVersion": resource.version_record(before),
        "toVersion": resource.version_record(after),
    }


def export(resource: Resource, config: Mapping[str, Any]) -> Json:
    """Return a configuration as the content of its file, without members that are no fields."""
    known = {name: value for name, value in config.items() if name in resource.kind.names}
    return {
        resource.kind.id_key: resource.id,
        "fileName": f"{resource.kind.segment}/{ids.encode(resource.id)}.json",
        "content": canonical.file_text(known),
        "config": known,
    }


def holds_text(resource: Resource, text: str) -> bool:
    """Say whether an id, a name, a description or the text of the two current versions contains a text."""
    shown = [resource.id]
    for version in filter(None, (resource.active, resource.latest)):
        written = version.config.get("instructions", version.config.get("content"))
        if isinstance(written, list):
            written = "\n".join(block.get("content", block.get("id", "")) for block in written)
        shown += [version.config["name"], version.config.get("description", ""), written or ""]
    return any(text.casefold() in one.casefold() for one in shown)
