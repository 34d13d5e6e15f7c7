"""Tools: Python functions that agents can call, by name."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import TypeAdapter

from versioning.runtime.calls import LIVE, AnswersTool

if TYPE_CHECKING:
    from pydantic_ai import Tool


class Toolbox(Mapping[str, "Tool[Any]"]):
    """The tools for some functions, by name.

    Name, docstring and type hints describe a tool. They are read only once, because that costs more than a
    run, and not before a tool is needed: names do not need the agent library, which takes 50 MiB. Raises
    `ValueError` at once if two functions have the same name and if a function cannot be described.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        for function in functions:
            name = getattr(function, "__name__", "")
            if not name.isidentifier():
                raise ValueError(f"a tool must be a named function, not {function!r}")
            if name in self._functions:
                raise ValueError(f"there are two tools with the name {name!r}")
            try:
                TypeAdapter[Any](cast("Any", function)).json_schema()
            except Exception:  # noqa: BLE001  pydantic recognises most; the agent library decides about the others
                _describe_tool(name, function)  # raises `ValueError` with the reason
            self._functions[name] = function

    def __getitem__(self, name: str) -> Tool[Any]:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def descriptions(self) -> Mapping[str, str]:
        """The descriptions by name; the agent library parses those of more than one line."""
        return {
            name: _one_line(function) or self[name].description or ""
            for name, function in self._functions.items()
        }

    @cached_property
    def _tools(self) -> Mapping[str, Tool[Any]]:
        return {name: _describe_tool(name, function) for name, function in self._functions.items()}


def _one_line(function: Callable[..., Any]) -> str:
    """Return the docstring of a function if it is a single line, and so the tool's description."""
    text = (function.__doc__ or "").strip()
    return "" if "\n" in text or text.startswith(":") else text


def _describe_tool(name: str, function: Callable[..., Any]) -> Tool[Any]:
    from pydantic_ai import Tool  # noqa: PLC0415  a worker that runs nothing does not need its memory

    try:
        return Tool(function)
    except Exception as error:
        raise ValueError(f"the tool {name!r} cannot be described: {error}") from error


def substitute_tool(tool: Tool[Any], instead: AnswersTool) -> Tool[Any]:
    """Return a tool that looks the same to a model but can be answered by `answers_tool`."""
    from pydantic_ai import RunContext, Tool  # noqa: PLC0415  a worker that runs nothing does not need its memory

    schema = tool.function_schema

    async def answer(context: RunContext[Any], **args: Any) -> Any:
        result = instead(tool.name, args)
        if result is not LIVE:
            return result
        return await schema.call(schema.validator.validate_python(args), context)

    return Tool.from_schema(answer, tool.name, tool.description, dict(schema.json_schema), takes_ctx=True)


MAX_RUNNING: Final = 32
"""The maximum number of such functions running in a process; Python cannot end one that never returns."""
_running = BoundedSemaphore(MAX_RUNNING)


class FunctionTimedOut(Exception):
    """The function did not return in time, or too many functions are still running."""


def by_name(functions: Iterable[Callable[..., Any]], *, noun: str) -> Mapping[str, Callable[..., Any]]:
    """Return the functions by name.

    Raises `ValueError` if one has no name or is asynchronous, and if two have the same name; `noun` is the
    noun for them in errors.
    """
    functions_by_name: dict[str, Callable[..., Any]] = {}
    for function in functions:
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise ValueError(f"a {noun} must be a named function, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise ValueError(f"the {noun} {name!r} must not be asynchronous")
        if name in functions_by_name:
            raise ValueError(f"there are two {noun}s with the name {name!r}")
        functions_by_name[name] = function
    return MappingProxyType(functions_by_name)


def call_within(seconds: float, function: Callable[..., Any], **arguments: Any) -> Any:
    """Call the function in its own thread and return its result.

    Raises its exception, and `FunctionTimedOut` after this many seconds; the function then continues in the
    background.
    """
    if not _running.acquire(blocking=False):
        raise FunctionTimedOut(f"{MAX_RUNNING} functions have not returned yet")
    results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.put((context.run(function, **arguments), None))
        except BaseException as error:  # noqa: BLE001  it is raised where the function was called
            results.put((None, error))
        finally:
            _running.release()

    Thread(target=run, name="versioning.functions", daemon=True).start()
    try:
        result, error = results.get(timeout=seconds)
    except Empty:
        raise FunctionTimedOut(f"it did not return within {seconds:g} s") from None
    if isinstance(error, Exception):
        raise error
    if error is not None:  # such as SystemExit, which must not end the caller
        raise RuntimeError(f"it raised {type(error).__name__}") from error
    return result
