"""Changes in the middle of a request: just before one of its queries, for each query in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from django.db import connection, models

from tests.support.studio import Visitor


def read_while(
    visitor: Visitor, address: str, model: type[models.Model], change: Callable[[int], Any]
) -> Iterator[tuple[int, str]]:
    """Yield a page, read once for each of its queries about a model, with the number of the query.

    `change` is called with that number just before the query is sent.
    """
    for number in count():
        waits = Countdown(number)

        def interrupt(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if model._meta.db_table in sql and waits.is_over():  # noqa: B023  it is of this round
                change(number)  # noqa: B023
            return execute(sql, params, many, context)

        with connection.execute_wrapper(interrupt):
            shown = visitor.get(address).markup
        if waits.left >= 0:
            return
        yield number, shown


class Countdown:
    """Counts queries; is over once, at the one after `left` others."""

    def __init__(self, left: int) -> None:
        self.left = left

    def is_over(self) -> bool:
        """Count one more, and return whether it is the one."""
        self.left -= 1
        return self.left == -1
