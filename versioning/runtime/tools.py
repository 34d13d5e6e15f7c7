"""Tools: plain typed functions, described once, handed to the agent library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic_ai import Tool

from versioning.domain.resolved_agent import Notice, ResolvedAgent

Toolbox = Mapping[str, Tool[Any]]


def toolbox(functions: Iterable[Callable[..., Any]]) -> Toolbox:
    """Return the tools that the functions make, by name.

    Name, docstring and type hints describe a tool; they are read here, once, because that costs
    more than a whole run. Raises `ValueError` for two functions of one name and for a function
    that cannot be described.
    """
    tools: dict[str, Tool[Any]] = {}
    for function in functions:
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise ValueError(f"a tool must be a named function, not {function!r}")
        if name in tools:
            raise ValueError(f"there are two tools with the name {name!r}")
        try:
            tools[name] = Tool(function)
        except Exception as error:
            raise ValueError(f"the tool {name!r} cannot be described: {error}") from error
    return MappingProxyType(tools)


def chosen_tools(
    served: ResolvedAgent, own: Toolbox, shared: Toolbox
) -> tuple[tuple[Tool[Any], ...], tuple[Notice, ...]]:
    """Return the tools that the agent lists, described as it says, and a notice for each unknown one."""
    tools: list[Tool[Any]] = []
    notices: list[Notice] = []
    for name, usage in served.tools.items():
        tool = own.get(name) or shared.get(name)
        if tool is None:
            notices.append(
                Notice("unknown_tool", f"There is no tool {name!r}; it is left out.", f"tools.{name}")
            )
            continue
        tools.append(described(tool, usage.get("description")))
    return tuple(tools), tuple(notices)


def described(tool: Tool[Any], description: str | None) -> Tool[Any]:
    """Return the tool under another description; the tool itself when there is none, or it is the same."""
    if not description or description == tool.description:
        return tool
    return Tool(tool.function, name=tool.name, description=description, function_schema=tool.function_schema)
