"""The agents of the shop, as the developers define them. No Django: the check imports this, too."""

from __future__ import annotations

from versioning.runtime import Agent

ECHO = {"provider": "echo", "name": "echo"}


def order_status(order_number: str) -> str:
    """Look up where an order is."""
    return f"Order {order_number} left the warehouse this morning."


support = Agent(
    id="support",
    name="Support",
    instructions="You help customers with their orders.",
    model=ECHO,
    tools=[order_status],
)
sales = Agent(
    id="shop/sales",
    name="Sales",
    instructions="You advise customers who look for something.",
    model=ECHO,
    editor={"instructions": True},  # its tools stay the developers'
)

AGENTS = [support, sales]
