"""What a framework adds to a run: `generate` against pydantic-ai alone, on the echo model.

    python -m benchmarks.generate [REPETITIONS]

Both ask the same model with the same instructions and the same tool, and take turns in random order. The
processor time is shown next to the clock time, because other load does not distort it. The target is a factor
of at most 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

import pydantic_ai

from benchmarks.timing import in_turns
from versioning.runtime import Agent, Framework
from versioning.runtime.providers import echo_model

INSTRUCTIONS = "You answer questions about orders. Be brief and kind."
MESSAGE = "Where is my order?"
ECHO = {"provider": "echo", "name": "echo"}
WARM_UP = 20
TARGET = 2.0


def find_order(number: int) -> str:
    """Return what is known about an order."""
    return f"order {number}"


def main(repetitions: int) -> None:
    """Measure and print."""
    bare = pydantic_ai.Agent(echo_model(), instructions=INSTRUCTIONS, tools=[find_order], name="support")
    agent = Agent(id="support", name="Support", instructions=INSTRUCTIONS, model=ECHO, tools=[find_order])
    Framework(agents=[agent])
    contenders: list[Callable[[], object]] = [lambda: bare.run_sync(MESSAGE), lambda: agent.generate(MESSAGE)]
    for work in contenders * WARM_UP:
        work()
    times = in_turns(contenders, repetitions)
    for position, name in enumerate(("clock", "processor")):
        alone, framework = (median(one[position] for one in measured) for measured in times)
        print(
            f"{name:9}  pydantic-ai {alone:5.2f} ms   framework {framework:5.2f} ms   "
            f"factor {framework / alone:4.2f} (target: at most {TARGET})"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
