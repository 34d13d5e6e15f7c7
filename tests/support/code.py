"""Agents defined in code: `framework`, and others whose `answers` is private or less overridable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

ECHO = {"provider": "echo", "name": "echo"}
TOOLS = {"look_up": {"description": "Look it up."}}
"""The tools of `answers`, as they are served."""


def look_up(question: str) -> str:
    """Look it up."""
    return f"nothing about {question}"


def clock() -> str:
    """Tell the time."""
    return "noon"


def _answers(editor: Literal[False] | Mapping[str, Any] | None = None, **more: Any) -> Agent:
    return Agent(
        id="answers",
        name="Answers",
        description="Answers questions.",
        instructions="code",
        model=ECHO,
        tools=[look_up],
        editor=editor,
        default_options={"maxSteps": 4},
        metadata={"team": "red"},
        **more,
    )


def _limited(editor: Literal[False] | Mapping[str, Any]) -> Framework:
    return Framework(agents=[_answers(editor)], tools=[clock], editor=Editor())


answers = _answers()
framework = Framework(
    agents=[
        answers,
        Agent(id="leads-answers", name="Lead", instructions="lead", model=ECHO, agents=[answers]),
        Agent(id="leads-notes", name="Lead of notes", instructions="lead", model=ECHO, agents=["notes"]),
        Agent(
            id="hidden",
            name="Hidden",
            instructions="hidden code",
            model=ECHO,
            agents=[answers, "notes"],
            visibility="private",
        ),
    ],
    tools=[clock],
    editor=Editor(),
)

nothing = _limited(False)  # noqa: FBT003  that is how it is spelt
wording = _limited({"instructions": True})
tooling = _limited({"tools": True})
descriptions = _limited({"tools": {"description": True}})
private = Framework(agents=[_answers(visibility="private")], editor=Editor())

_unworded = Agent(id="answers", name="Answers", model=ECHO, editor={"instructions": True})
unworded = Framework(
    agents=[
        _unworded,
        Agent(id="leads-answers", name="Lead", instructions="lead", model=ECHO, agents=[_unworded]),
    ],
    editor=Editor(),
)
"""`answers` leaves its instructions to the editor."""
