"""Functions of an application that are called by name, each within a time limit."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Iterable, Mapping
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from types import MappingProxyType
from typing import Any, Final

MAX_RUNNING: Final = 32
"""How many such functions may run in a process; Python cannot end one that never returns."""

_running = BoundedSemaphore(MAX_RUNNING)


class FunctionTimedOut(Exception):
    """The function did not return in time, or too many have not returned at all."""


def by_name(functions: Iterable[Callable[..., Any]], *, what: str) -> Mapping[str, Callable[..., Any]]:
    """Return the functions by name.

    Raises `ValueError` if one has no name or is asynchronous, and if two have the same name; `what` says
    what they are.
    """
    found: dict[str, Callable[..., Any]] = {}
    for function in functions:
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise ValueError(f"a {what} must be a named function, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise ValueError(f"the {what} {name!r} must not be asynchronous")
        if name in found:
            raise ValueError(f"there are two {what}s with the name {name!r}")
        found[name] = function
    return MappingProxyType(found)


def call_within(seconds: float, function: Callable[..., Any], **arguments: Any) -> Any:
    """Call the function in a thread of its own and return its result.

    Raises what it raises, and `FunctionTimedOut` after so many seconds; then it goes on without anyone who
    waits for it.
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
    if error is not None:  # such as SystemExit, which is not to end the caller
        raise RuntimeError(f"it raised {type(error).__name__}") from error
    return result
