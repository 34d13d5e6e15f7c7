"""Agents in Python: define them, serve them at any version, run them.

    writer = Agent(id="writer", name="Writer", instructions="…", model={"provider": "echo", "name": "echo"})
    framework = Framework(agents=[writer], editor=Editor())
    framework.get_agent_by_id("writer", status="draft").generate("…").text

Imports no Django. Storage is an `AgentStore`, such as `versioning.editor.Editor`.
"""

from versioning.runtime.agent import Agent, SelectedAgent
from versioning.runtime.calls import RequestContext
from versioning.runtime.errors import (
    DelegationStopped,
    NoModel,
    ProviderFailed,
    ProviderUnavailable,
    ToolFailed,
    VersionUnresolved,
)
from versioning.runtime.framework import Framework
from versioning.runtime.preloading import preload
from versioning.runtime.results import EventStream, Result
from versioning.runtime.store import AgentStore

__all__ = [
    "Agent",
    "AgentStore",
    "DelegationStopped",
    "EventStream",
    "Framework",
    "NoModel",
    "ProviderFailed",
    "ProviderUnavailable",
    "RequestContext",
    "Result",
    "SelectedAgent",
    "ToolFailed",
    "VersionUnresolved",
    "preload",
]
