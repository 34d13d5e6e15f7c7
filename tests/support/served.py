"""Agents as applications see them: reading served agents, and the parts of an agent."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api

FOR_GOLD = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}


def encoded(value: Any) -> str:
    """Return the base64 form in which `requestContext` travels."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def ask(api: Api, agent_id: str = "writer", context: Any = None, **query: str) -> Answer:
    """Read an agent as applications do, in a context if there is one."""
    if context is not None:
        query["requestContext"] = encoded(context)
    return api.get(AGENTS.url(agent_id).removeprefix("/stored"), **query)


def served(api: Api, agent_id: str = "writer", context: Any = None, **query: str) -> dict[str, Any]:
    """Return an agent as applications read it."""
    answer = ask(api, agent_id, context, **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def text(content: str) -> dict[str, Any]:
    """Return a block of plain text."""
    return {"type": "text", "content": content}


def reference(block_id: str) -> dict[str, Any]:
    """Return a block that refers to a stored prompt block."""
    return {"type": "prompt_block_ref", "id": block_id}


def published_block(api: Api, block_id: str, content: str, **more: Any) -> str:
    """Make a published prompt block and return its version's id."""
    made = PROMPT_BLOCKS.make(api, block_id, content, autoPublish=True, **more)
    return str(made["activeVersionId"])


def published_agent(api: Api, agent_id: str = "writer", instructions: Any = "one", **more: Any) -> str:
    """Make a published agent and return its version's id."""
    made = AGENTS.make(api, agent_id, instructions, autoPublish=True, **more)
    return str(made["activeVersionId"])
