"""Changes by another caller between two queries of a request, deterministic and without threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import connection

from tests.support.api import Answer


class _AfterQuery:
    """Does something once, right after the query of this number."""

    def __init__(self, number: int, action: Callable[[], object]) -> None:
        self.left = number
        self.action = action
        self.done = False

    def __call__(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if not self.done:
            self.left -= 1
            if self.left == 0:
                self.done = True
                self.action()
        return result


def interrupted(
    prepare: Callable[[int], tuple[Callable[[], Answer], Callable[[], object]]],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[Answer]:
    """Yield the answers to a request that is interrupted after its first, second, third … query.

    `prepare` makes the request and the change, separately for each query; `around` may undo both.
    """
    number = 1
    while True:
        request, action = prepare(number)
        meanwhile = _AfterQuery(number, action)
        with around(), connection.execute_wrapper(meanwhile):
            answer = request()
        if not meanwhile.done:
            return
        yield answer
        number += 1
