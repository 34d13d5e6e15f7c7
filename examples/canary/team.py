"""A supervisor with two sub-agents, on the echo model; `EDITOR_FRAMEWORK` names the framework."""

from __future__ import annotations

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

ECHO = {"provider": "echo", "name": "echo"}

writer = Agent(
    id="writer",
    name="Writer",
    description="Writes the first version of a text.",
    instructions="Write in plain prose.",
    model=ECHO,
)
checker = Agent(
    id="checker",
    name="Checker",
    description="Checks the facts of a text.",
    instructions="List every fact that you doubt.",
    model=ECHO,
)
newsroom = Agent(
    id="newsroom",
    name="Newsroom",
    description="Lets a text be written and checked.",
    instructions="Let the writer write and the checker check.",
    model=ECHO,
    agents=[writer, checker],
)

framework = Framework(agents=[newsroom], editor=Editor())
