"""A framework of a chain of three agents, which by default selects a version of the last."""

from __future__ import annotations

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

_ECHO = {"provider": "echo", "name": "echo"}

last = Agent(id="last", name="Last", instructions="code", model=_ECHO)
middle = Agent(id="middle", name="Middle", instructions="middle", model=_ECHO, agents=[last])
first = Agent(id="first", name="First", instructions="first", model=_ECHO, agents=[middle])

framework = Framework(
    agents=[first, middle, last],
    editor=Editor(),
    versions={"agents": {"last": {"label": "by-framework"}}},
)
