"""A framework with one code-defined agent, which is readable only in its workspace."""

from __future__ import annotations

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

hidden = Agent(
    id="hidden",
    name="Hidden",
    instructions="in code",
    model={"provider": "echo", "name": "echo"},
    visibility="private",
)
framework = Framework(agents=[hidden], editor=Editor())
