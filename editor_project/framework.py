"""The agents that this installation defines in code, with its editor.

There are two, short enough to read as documentation. Point `EDITOR_FRAMEWORK` at your own.
"""

from __future__ import annotations

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

ECHO = {"provider": "echo", "name": "echo"}


def order_status(order_number: str) -> str:
    """Look up where an order is."""
    return f"Order {order_number} left the warehouse this morning."


support = Agent(
    id="support",
    name="Support",
    description="Answers questions about orders.",
    instructions="You help customers with their orders. Look up the order before you answer.",
    model=ECHO,
    tools=[order_status],
)

supervisor = Agent(
    id="supervisor",
    name="Supervisor",
    description="Decides who answers, and has the last word.",
    instructions="You lead a small team. Let support answer what is about orders.",
    model=ECHO,
    agents=[support],
)

framework = Framework(agents=[support, supervisor], editor=Editor())
