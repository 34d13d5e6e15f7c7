"""Sub-agents as tools, and the limits that prevent endless delegation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import Tool

from versioning.runtime.calls import REQUEST_LIMIT
from versioning.runtime.errors import DelegationStopped

MAX_DEPTH = 8
DELEGATES_TO = "delegates_to"
"""The key in a tool's metadata that marks it as a delegation; its value is the sub-agent's id."""

Chain = tuple[str, ...]
"""The chain of agents waiting for one another, starting with the called one."""

_LONGEST_NAME = 64
_PREFIX = "agent-"


def tool_name(agent_id: str) -> str:
    """Return a tool name for delegating to an agent that every provider accepts.

    If the id has other characters or is too long, a digest makes the name unique. Function names contain no
    hyphen, so tools and delegations cannot clash.
    """
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", agent_id)
    name = f"{_PREFIX}{plain}"
    if plain == agent_id and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(agent_id.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_NAME - 9]}-{digest}"


async def _delegate(message: str) -> str:
    """Hand the message to another agent and return its answer.

    Args:
        message: What the agent should do, with everything it needs to know.

    """
    return message  # never called: the tools of sub-agents are made from the signature


_PATTERN: Tool[Any] = Tool(_delegate)


def delegation_tool(agent_id: str, description: str, delegate: Callable[[str], Awaitable[str]]) -> Tool[Any]:
    """Return the tool that hands a message to a sub-agent and returns its answer."""

    async def run(message: str) -> str:
        return await delegate(message)

    name = tool_name(agent_id)
    # Describing a function costs more than a run, and all delegations have the same signature.
    schema = replace(_PATTERN.function_schema, function=run, name=name, description=description)
    metadata = {DELEGATES_TO: agent_id}
    return Tool(run, name=name, description=description, function_schema=schema, metadata=metadata)


def refusal(agent_id: str, chain: Chain) -> str | None:
    """Return why the last agent of the chain may not delegate to another, or None if it may.

    The reason is an answer for the model, not an error for the caller: a model that tries to go round in a
    circle can still finish on its own.
    """
    if agent_id in chain:
        return f"Delegation stopped: {agent_id!r} waits for this answer already ({_drawn(chain, agent_id)})."
    if len(chain) >= MAX_DEPTH:
        return f"Delegation stopped: more than {MAX_DEPTH} agents deep ({_drawn(chain, agent_id)})."
    return None


@dataclass
class Budget:
    """The number of model requests that a run, with all its sub-agents, may still make."""

    limit: int = REQUEST_LIMIT
    used: int = 0

    def spend(self, chain: Chain) -> None:
        """Count one request; raises `DelegationStopped` if the limit is reached.

        This is an error for the caller, because no further model request is allowed.
        """
        if self.used >= self.limit:
            raise DelegationStopped(f"The run was stopped after {self.limit} model requests", chain=chain)
        self.used += 1


def _drawn(chain: Chain, agent_id: str) -> str:
    return " → ".join((*chain, agent_id))
