"""Locks of the editor in memory, and the versions that a run selects."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.stored_agents import AGENTS
from editor_client.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.testing.editor import Body, Editor
from editor_client.testing.protocol import Answer, Json, Refused, Request, refuse_unknown, route
from editor_client.testing.resources import AnyKind, Version, references
from editor_client.testing.serving import (
    SELECTORS,
    agent_in_parts,
    block_in_parts,
    parts_of,
    select,
    selector_of,
)

LOCK_MEMBERS: Final = frozenset({"lockVersion", "digest", "signature"})


@route("POST", "/locks")
def _lock(editor: Editor, request: Request) -> Answer:
    return Answer(make_lock(editor, request.body))


def make_lock(editor: Editor, body: Body) -> Json:
    """Return a lock of the named resources and of everything that they reach."""
    refuse_unknown(body, ("resources", "selector"), "is not a field of a lock")
    if not body.get("resources"):
        raise Invalid.field("resources", "is required")
    selector = selector_of(body.get("selector") or {})
    drafts = selector == {"status": "draft"}
    kinds = {kind.slug: kind for kind in (AGENTS, PROMPT_BLOCKS)}
    pins: dict[AnyKind, Json] = {kind: {} for kind in kinds.values()}
    found = [editor.find(kinds[one["kind"]], one["id"]) for one in body["resources"]]
    waiting = [(resource, select(resource, selector)[0]) for resource in found]
    while waiting:
        resource, version = waiting.pop()
        if resource.id not in pins[resource.kind]:
            pin = {"versionId": version.id, "digest": canonical.digest(version.config)}
            pins[resource.kind][resource.id] = pin
            for kind, name in references(version.config):
                reached = editor.get(kind, name) if kind in pins else None  # a run shows no scorer
                shown = reached and (reached.latest if drafts else reached.active)
                if reached and shown:
                    waiting.append((reached, shown))
    return _signed(editor, {"lockVersion": 1, "agents": pins[AGENTS], "promptBlocks": pins[PROMPT_BLOCKS]})


def _signed(editor: Editor, content: Json) -> Json:
    digest = canonical.digest(content)
    signature = hashlib.sha256(f"{editor.secret}{digest}".encode()).hexdigest()
    return {**content, "digest": digest, "signature": signature}


def _locked_parts(editor: Editor, agent_id: str, query: Mapping[str, str], lock: Body) -> Json:
    """Return an agent in parts as a lock names it; raises `Invalid` for a changed lock."""
    if lock != _signed(editor, {name: lock.get(name) for name in ("lockVersion", "agents", "promptBlocks")}):
        sentence = "is not a lock that this installation made"
        raise Invalid.field("versions", sentence, code="lock_invalid")
    if query:
        raise Invalid.field("versions", "the called agent's own version is selected more than once")
    found = _pinned(editor, lock, agent_id)
    blocks = {name: version for (kind, name), version in found.items() if kind is PROMPT_BLOCKS}
    version = found[AGENTS, agent_id]
    return agent_in_parts(editor.find(AGENTS, agent_id), version, blocks, selector={"versionId": version.id})


def _pinned(editor: Editor, lock: Body, agent_id: str) -> dict[tuple[AnyKind, str], Version]:
    """Return every version that a run of the agent needs; raises `Refused` if one of them is gone."""
    pins: dict[AnyKind, Json] = {AGENTS: lock["agents"], PROMPT_BLOCKS: lock["promptBlocks"]}
    found: dict[tuple[AnyKind, str], Version] = {}
    broken: list[str] = []
    waiting: list[tuple[AnyKind, str]] = [(AGENTS, agent_id)]
    while waiting:
        kind, name = waiting.pop(0)
        if (kind, name) in found or name in broken:
            continue
        resource = editor.get(kind, name)
        version_id = pins[kind].get(name, {}).get("versionId")
        version = next((one for one in resource.versions if one.id == version_id), None) if resource else None
        if version is None:
            broken.append(name)
        else:
            found[kind, name] = version
            reached = references(version.config)
            waiting += [(other, one) for other, one in reached if one in pins.get(other, ())]
    if broken:
        raise Refused(
            424,
            "lock_broken",
            f"The lock no longer holds: {', '.join(broken)} cannot be resolved as it says.",
            names=broken,
        )
    return found


def parts_of_run(editor: Editor, agent_id: str, query: Mapping[str, str], versions: Body) -> Json:
    """Return an agent in parts, in the version and with the blocks that a run selects."""
    if versions.keys() & LOCK_MEMBERS:
        return _locked_parts(editor, agent_id, query, versions)
    selectors = [one for one in (versions.get("self"), versions.get("agents", {}).get(agent_id)) if one]
    selectors += [{name: query[name]} for name in SELECTORS if name in query]
    if len(selectors) > 1:
        raise Invalid.field("versions.self", "selected more than once")
    parts = parts_of(editor, agent_id, selector_of(selectors[0] if selectors else {}))
    for block_id in parts["promptBlocks"].keys() & versions.get("promptBlocks", {}).keys():
        version, _ = select(editor.find(PROMPT_BLOCKS, block_id), versions["promptBlocks"][block_id])
        parts["promptBlocks"][block_id] = block_in_parts(version)
        parts["blockRollouts"].pop(block_id, None)
    return parts
