"""Locks in the editor in memory: making them, and finding what they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.testing.editor import Body, Editor
from editor_client.testing.reading import sub_agents
from editor_client.testing.refusals import Refused, refuse_unknown
from editor_client.testing.resources import AGENT, PROMPT_BLOCK, Kind, Resource, Version
from editor_client.testing.serving import parts_with, select, selector_of

Json = dict[str, Any]
OWN_MEMBERS = frozenset({"lockVersion", "digest", "signature"})


def make(editor: Editor, body: Body) -> Json:
    """Return a lock of the named resources and of all that they reach."""
    refuse_unknown(body, ("resources", "selector"), message="is not a field of a lock")
    if not body.get("resources"):
        raise Invalid.field("resources", "is required")
    selector = selector_of(body.get("selector") or {})
    reached = selector if selector == {"status": "draft"} else {"status": "published"}
    pins: dict[Kind, Json] = {AGENT: {}, PROMPT_BLOCK: {}}
    kinds = {kind.word: kind for kind in pins}
    found = [editor.find(kinds[one["kind"]], one["id"]) for one in body["resources"]]
    waiting = [(resource, select(resource, selector)[0]) for resource in found]
    while waiting:
        resource, version = waiting.pop()
        if resource.id in pins[resource.kind]:
            continue
        pins[resource.kind][resource.id] = {
            "versionId": version.id,
            "digest": canonical.digest(version.config),
        }
        waiting += _reached(editor, version, reached)
    content = {"lockVersion": 1, "agents": pins[AGENT], "promptBlocks": pins[PROMPT_BLOCK]}
    digest = canonical.digest(content)
    return {**content, "digest": digest, "signature": _signature(editor, digest)}


def _reached(
    editor: Editor, version: Version, selector: Mapping[str, str]
) -> Iterator[tuple[Resource, Version]]:
    for kind, names in _named(version):
        for name in names:
            resource = editor.resources.get((kind.word, name))
            if resource is not None and (resource.active or selector["status"] == "draft"):
                yield resource, select(resource, selector)[0]


def _named(version: Version) -> Iterable[tuple[Kind, Iterable[str]]]:
    yield AGENT, sub_agents(version.config)
    yield PROMPT_BLOCK, {block_id for _, block_id in referenced_blocks(version.config)}


def is_lock(versions: Mapping[str, Any]) -> bool:
    """Say whether the versions of a run are a lock."""
    return bool(versions.keys() & OWN_MEMBERS)


def locked_parts(editor: Editor, agent_id: str, query: Mapping[str, str], lock: Mapping[str, Any]) -> Json:
    """Return an agent in parts as a lock names it; raises `Refused` for a changed or a broken one."""
    content = {name: lock.get(name) for name in ("lockVersion", "agents", "promptBlocks")}
    digest = canonical.digest(content)
    if lock != {**content, "digest": digest, "signature": _signature(editor, digest)}:
        raise Invalid(
            [Issue("versions", "is not a lock as this installation has made it")], code="lock_invalid"
        )
    if query:
        raise Invalid.field("versions", "the called agent's own version is selected more than once")
    found = _found(editor, lock, agent_id)
    blocks = {name: version for (kind, name), version in found.items() if kind is PROMPT_BLOCK}
    version = found[AGENT, agent_id]
    return parts_with(editor.find(AGENT, agent_id), version, blocks, selector={"versionId": version.id})


def _found(editor: Editor, lock: Mapping[str, Any], agent_id: str) -> dict[tuple[Kind, str], Version]:
    """Return every version that a run of the agent needs."""
    pins = {AGENT: lock["agents"], PROMPT_BLOCK: lock["promptBlocks"]}
    found: dict[tuple[Kind, str], Version] = {}
    broken: list[str] = []
    waiting: list[tuple[Kind, str]] = [(AGENT, agent_id)]
    while waiting:
        kind, name = waiting.pop(0)
        if (kind, name) in found or name in broken:
            continue
        resource = editor.resources.get((kind.word, name))
        version_id = pins[kind].get(name, {}).get("versionId")
        version = next((one for one in resource.versions if one.id == version_id), None) if resource else None
        if version is None:
            broken.append(name)
            continue
        found[kind, name] = version
        waiting += [
            (other, one) for other, names in _named(version) for one in sorted(names) if one in pins[other]
        ]
    if broken:
        raise Refused(424, "lock_broken", f"The lock is broken: {', '.join(broken)}.", names=broken)
    return found


def _signature(editor: Editor, digest: str) -> str:
    return hashlib.sha256(f"{editor.secret}{digest}".encode()).hexdigest()
