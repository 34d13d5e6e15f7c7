"""Agents of the editor in memory as applications use them: selected, resolved, in parts, run and locked."""

from __future__ import annotations

import re
import uuid
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from editor_client.context_schema import refusals
from editor_client.errors import CannotEvaluate
from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.parts import evaluated_agent
from editor_client.shared import canonical
from editor_client.shared.agents import EVALUATED_FIELDS, UNRESOLVED
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.testing.editor import Body, Editor, Generate
from editor_client.testing.protocol import Json, Refused, not_done, not_found, unpublished
from editor_client.testing.resources import Resource, Version
from editor_client.testing.rollouts import outcomes_in, rule

SELECTORS: Final = ("status", "versionId", "label", "release")
RUN_MEMBERS: Final = ("messages", "versions", "requestContext", "maxSteps", "modelSettings", "instructions")
NO_TOKENS: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
NO_COST: Final = {**NO_TOKENS, "cost": None}
NEVER_PUBLISHED: Final = {
    "code": "no_published_version",
    "message": "Nothing is published yet; this is the latest version instead.",
}


def selector_of(given: Mapping[str, str]) -> dict[str, str]:
    """Return the selector of a request, the published version by default; raises `Invalid` for two."""
    named = {name: given[name] for name in SELECTORS if name in given}
    if len(named) > 1:
        message = "give only one of status, versionId, label and release"
        raise Invalid([Issue(name, message) for name in named])
    if named.get("status", "draft") not in {"published", "draft"}:
        raise Invalid.field("status", "must be one of 'published', 'draft'")
    return named or {"status": "published"}


def select(resource: Resource, selector: Mapping[str, str]) -> tuple[Version, Json | None]:
    """Return the version that a selector names, and the reason if another one is served instead."""
    if "release" in selector:  # which this editor does not have
        raise not_found()
    if "versionId" in selector:
        return resource.version(selector["versionId"]), None
    name = selector.get("label")
    if selector.get("status") == "draft" or name == "latest":
        return resource.latest, None
    if name is not None and name != "production":
        if name not in resource.labels:
            raise not_found()
        return resource.labels[name].version, None
    if resource.active is not None:
        return resource.active, None
    if name is not None:
        raise not_found()
    if resource.were_live:
        raise unpublished()
    return resource.latest, NEVER_PUBLISHED


def parts_of(editor: Editor, agent_id: str, selector: Mapping[str, str]) -> Json:
    """Return an agent in parts."""
    resource = editor.find(AGENTS, agent_id)
    version, fallback = select(resource, selector)
    drafts = selector.get("status") == "draft" or selector.get("label") == "latest"
    blocks = {block.id: block.latest if drafts else block.active for block in editor.all(PROMPT_BLOCKS)}
    parts = agent_in_parts(resource, version, blocks, selector=selector, fallback=fallback)
    if selector == {"status": "published"} and (running := editor.running(resource)) is not None:
        arms = {
            arm["versionId"]: agent_in_parts(
                resource, resource.version(arm["versionId"]), blocks, selector=selector
            )
            for arm in running["arms"]
        }
        # An arm may refer to blocks that the agent's own version does not.
        shown = [own["promptBlocks"] for own in arms.values()]
        parts["promptBlocks"] = dict(sorted(ChainMap(parts["promptBlocks"], *shown).items()))
        members = ("config", "requestContextSchema", "omittedBlocks")
        parts["rollout"] = rule(
            running, {one: {name: own[name] for name in members} for one, own in arms.items()}
        )
    if not drafts:
        parts["blockRollouts"] = _block_rollouts(editor, parts["promptBlocks"])
    return parts


def _block_rollouts(editor: Editor, shown: Mapping[str, Json | None]) -> Json:
    """Return the rules of the rollouts of prompt blocks that are shown, by id."""
    found: Json = {}
    for block_id in (one for one, block in shown.items() if block is not None):
        block = editor.find(PROMPT_BLOCKS, block_id)
        running = editor.running(block)
        if running is not None:
            configs = {arm["versionId"]: block.version(arm["versionId"]).config for arm in running["arms"]}
            found[block_id] = rule(running, {one: {"config": _text(own)} for one, own in configs.items()})
    return found


def agent_in_parts(
    resource: Resource,
    version: Version,
    found: Mapping[str, Version | None],
    *,
    selector: Mapping[str, str],
    fallback: Json | None = None,
) -> Json:
    """Return a version of an agent in parts, with these versions of prompt blocks; None: not published."""
    config = version.config
    wanted = sorted({block_id for _, block_id in referenced_blocks(config)})
    return {
        "id": resource.id,
        "resolvedVersionId": version.id,
        "selector": dict(selector),
        "source": "stored",
        "config": {name: config[name] for name in EVALUATED_FIELDS if name in config},
        "promptBlocks": {block_id: block_in_parts(found.get(block_id)) for block_id in wanted},
        "rollout": None,
        "blockRollouts": {},
        "requestContextSchema": config.get("requestContextSchema"),
        "status": "published" if resource.active else "draft",
        "metadata": resource.metadata,
        "activeVersionId": resource.active and resource.active.id,
        "fallback": fallback,
        "omittedBlocks": {
            block_id: "unpublished" if block_id in found else "missing"
            for block_id in wanted
            if found.get(block_id) is None
        },
    }


def block_in_parts(version: Version | None) -> Json | None:
    """Return a version of a prompt block as a part of an agent."""
    return {"versionId": version.id, **_text(version.config)} if version else None


def _text(config: Json) -> Json:
    return {"content": config["content"], "rules": config.get("rules")}


def resolved(parts: Json, context: Mapping[str, Any]) -> Json:
    """Return an agent with everything resolved in a context."""
    try:
        return evaluated_agent(parts, context)
    except CannotEvaluate as reason:
        raise not_done(f"this agent: {reason}") from None


def all_resolved(editor: Editor, context: Mapping[str, Any]) -> dict[str, Json]:
    """Return all agents, by id."""
    names = sorted(agent.id for agent in editor.all(AGENTS))
    return {name: resolved(parts_of(editor, name, {"status": "published"}), context) for name in names}


# Runs


def run(parts: Json, body: Body, generate: Generate) -> tuple[Json, Json]:
    """Run an agent once, without tools and sub-agents, and return the agent as it ran, and the answer."""
    messages = _messages(body)
    agent_id = parts["id"]
    context = body.get("requestContext") or {}
    _check_context(parts["requestContextSchema"], context)
    agent = resolved(parts, context)
    if agent["model"] is None:
        raise Refused(
            422, "no_model", f"The agent {agent_id!r} has no model: give it one with a provider and a name."
        )
    text = generate(agent, body)
    step = {"text": text, "finishReason": "stop", "toolCalls": [], "toolResults": [], "usage": NO_TOKENS}
    return agent, {
        "text": text,
        "finishReason": "stop",
        "usage": NO_COST,
        "steps": [step],
        "toolCalls": [],
        "toolResults": [],
        "messages": [*messages, {"role": "assistant", "content": text}],
        "runId": str(uuid.uuid4()),
        "resolvedVersions": {agent_id: agent["resolvedVersionId"]},
        "rollouts": outcomes_in(agent),
        "warnings": []
        if body.get("instructions")
        else [one for one in agent["warnings"] if one["code"] == UNRESOLVED],
    }


def echo(agent: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    """Answer like the echo model: with the instructions and the last message."""
    if agent["agents"]:
        raise not_done("a run with sub-agents by the echo rule: give it `generate=`")
    return f"{body.get('instructions') or agent['instructions']}\n\n{_messages(body)[-1]['content']}"


def events_of(run: Json) -> Iterator[Json]:
    """Yield a run as the events of a stream."""
    message, text = {"messageId": str(uuid.uuid4())}, {"id": "text-1"}
    done = {"finishReason": "stop", "stepResult": {"reason": "stop"}, "usage": NO_TOKENS}
    pieces = re.findall(r"\S+\s*|\s+", run["text"])
    events: list[tuple[str, Json]] = [
        ("start", message),
        ("step-start", message),
        ("text-start", text),
        *(("text-delta", {**text, "text": piece}) for piece in pieces),
        ("text-end", text),
        ("step-finish", done),
        (
            "finish",
            {
                **done,
                "usage": NO_COST,
                **{name: run[name] for name in ("resolvedVersions", "rollouts", "warnings")},
            },
        ),
    ]
    for kind, payload in events:
        yield {"type": kind, "runId": run["runId"], "from": "AGENT", "payload": payload}


def _messages(body: Body) -> list[Json]:
    given = body.get("messages")
    messages = [given] if isinstance(given, str | dict) else given
    if not isinstance(messages, list) or not messages:
        raise Invalid.field("messages", "is required" if given is None else "must not be empty")
    return [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]


def _check_context(schema: Any, context: Mapping[str, Any]) -> None:
    if schema is None:
        return
    try:
        issues = refusals(schema, canonical.sorted_by_key(context))
    except CannotEvaluate as reason:
        raise not_done(f"a run of this agent: {reason}") from None
    if issues:
        raise Invalid(issues, code="request_context_invalid")
