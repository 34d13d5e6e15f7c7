"""Agents of the editor in memory as applications use them: their routes, locks, and the versions of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.shared.request_contexts import PARAMETER
from editor_client.testing import serving
from editor_client.testing.editor import Body, Editor
from editor_client.testing.protocol import Answer, Json, Refused, Request, refuse_unknown, route
from editor_client.testing.resources import AnyKind, Version, references
from editor_client.testing.rollouts import served_in
from editor_client.testing.serving import (
    SELECTORS,
    agent_in_parts,
    block_in_parts,
    parts_of,
    select,
    selector_of,
)

LOCK_MEMBERS: Final = frozenset({"lockVersion", "digest", "signature"})
PINNED: Final[Mapping[str, AnyKind]] = {"agents": AGENTS, "promptBlocks": PROMPT_BLOCKS}
Versions = dict[tuple[AnyKind, str], Version]
Shown = Callable[[AnyKind, str], Version | None]
"""Returns the version of what a configuration names, if there is any."""


def reached(found: Versions, shown: Shown) -> Versions:
    """Return these versions with all that they reach; a run shows no scorer."""
    waiting = list(found.values())
    while waiting:
        for kind, name in references(waiting.pop().config):
            is_new = kind in PINNED.values() and (kind, name) not in found
            version = shown(kind, name) if is_new else None
            if version is not None:
                found[kind, name] = version
                waiting.append(version)
    return found


def as_lock(editor: Editor, found: Versions) -> Json:
    """Return a lock of these versions."""
    pins = {
        member: {
            name: {"versionId": version.id, "digest": canonical.digest(version.config)}
            for (kind, name), version in found.items()
            if kind is pinned
        }
        for member, pinned in PINNED.items()
    }
    return _signed(editor, {"lockVersion": 1, **pins})


def locked(editor: Editor, kind: AnyKind, resource_id: str, selector: Mapping[str, str]) -> Versions:
    """Return the versions that a lock of a resource names."""

    def latest(kind: AnyKind, name: str) -> Version | None:
        other = editor.get(kind, name)
        return other.latest if other else None

    shown = latest if selector == {"status": "draft"} else editor.active
    return reached({(kind, resource_id): select(editor.find(kind, resource_id), selector)[0]}, shown)


@route("POST", "/locks")
def _lock(editor: Editor, request: Request) -> Answer:
    refuse_unknown(request.body, ("resources", "selector"), "is not a field of a lock")
    if not request.body.get("resources"):
        raise Invalid.field("resources", "is required")
    selector = selector_of(request.body.get("selector") or {})
    kinds = {kind.slug: kind for kind in PINNED.values()}
    found: Versions = {}
    for one in request.body["resources"]:
        found |= locked(editor, kinds[one["kind"]], one["id"], selector)
    return Answer(as_lock(editor, found))


def _signed(editor: Editor, content: Json) -> Json:
    digest = canonical.digest(content)
    signature = hashlib.sha256(f"{editor.secret}{digest}".encode()).hexdigest()
    return {**content, "digest": digest, "signature": signature}


def parts_by_lock(editor: Editor, agent_id: str, lock: Body, place: str = "versions") -> Json:
    """Return an agent in parts as a lock names it; raises `Invalid` for a changed lock, else `Refused`."""
    if lock != _signed(editor, {name: lock.get(name) for name in ("lockVersion", *PINNED)}):
        raise Invalid.field(place, "is not a lock that this installation made", code="lock_invalid")
    broken: list[str] = []

    def pinned(kind: AnyKind, name: str) -> Version | None:
        pins = next(lock[member] for member, one in PINNED.items() if one is kind)
        resource = editor.get(kind, name)
        versions = resource.versions if resource else ()
        found = next((one for one in versions if one.id == pins.get(name, {}).get("versionId")), None)
        if found is None and (name in pins or name == agent_id):
            broken.append(name)
        return found

    called = pinned(AGENTS, agent_id)
    found = reached({(AGENTS, agent_id): called}, pinned) if called else {}
    if broken or called is None:
        names = sorted(set(broken))
        message = f"The lock no longer holds: {', '.join(names)} cannot be resolved as it says."
        raise Refused(424, "lock_broken", message, names=names)
    blocks: Any = {name: version for (kind, name), version in found.items() if kind is PROMPT_BLOCKS}
    selector = {"versionId": called.id}
    return agent_in_parts(editor.find(AGENTS, agent_id), called, blocks, selector=selector)


def parts_of_run(editor: Editor, agent_id: str, query: Mapping[str, str], versions: Body) -> Json:
    """Return an agent in parts, in the version and with the blocks that a run selects."""
    if versions.keys() & LOCK_MEMBERS:
        if query:
            raise Invalid.field("versions", "the called agent's own version is selected more than once")
        return parts_by_lock(editor, agent_id, versions)
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


@route("GET", "/agents", "partial")
def _agents(editor: Editor, request: Request) -> Answer:
    found = serving.all_resolved(editor, request.context)
    if request.query.get("partial") == "true":
        for agent in found.values():
            del agent["instructions"], agent["blocks"]
    return Answer(found)


@route("GET", "/agents/*", *serving.SELECTORS, "form")
def _agent(editor: Editor, request: Request) -> Answer:
    context = request.context
    parts = serving.parts_of(editor, request.names[0], serving.selector_of(request.query))
    if request.query.get("form", "parts") != "parts":
        raise Invalid.field("form", "must be one of 'parts'")
    return Answer(parts if "form" in request.query else serving.resolved(parts, context))


@route("GET", "/providers")
def _providers(_editor: Editor, _request: Request) -> Answer:
    return Answer({"providers": [{"name": "echo", "kind": "echo", "ready": True, "missing": None}]})


@route("POST", "/agents/*/generate", *serving.SELECTORS)
def _generate(editor: Editor, request: Request) -> Answer:
    refuse_unknown(request.body, serving.RUN_MEMBERS)
    body: Json = {PARAMETER: request.context, **request.body}
    parts = parts_of_run(editor, request.names[0], request.query, body.get("versions") or {})
    agent, answer = serving.run(parts, body, editor.generate)
    served = served_in(agent)
    for (kind, resource_id), (version_id, arm) in served.items():
        editor.count(editor.named(kind, resource_id), version_id, arm, {"runs": 1})
    editor.served[answer["runId"]] = served
    return Answer(answer)


@route("POST", "/agents/*/stream", *serving.SELECTORS)
def _stream(editor: Editor, request: Request) -> Answer:
    return Answer(serving.events_of(_generate(editor, request).content), is_stream=True)
