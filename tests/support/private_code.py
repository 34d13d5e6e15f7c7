"""A framework with one agent that code defines and that is nobody's to read outside its workspace."""

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
