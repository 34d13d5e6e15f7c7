"""The context for evaluating rules and templates, and a limit on the work that it takes.

A body of a megabyte can contain thousands of conditions, and a context a list or a text of a hundred thousand
items. Each is within its limit, but their product is minutes of work. So the product is limited: one
`Evaluation` is passed through everything that a request evaluates, and everything that multiplies is charged
to its one budget. Pure: there is no state beyond the request, and time has no influence, so that the same
request always has the same result, here and in the client, which evaluates without the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from editor_client.shared.errors import Invalid, Message

T = TypeVar("T")

MAX_STEPS = 64 * 1024 * 1024
"""The maximum number of steps of a request. A step is about one character that is printed, or compared."""
STEPS_OF_A_LOOK_UP = 32
"""The cost of finding a value in the context, besides the length of its path."""
STEPS_OF_AN_ITEM = 16
"""The cost of comparing with one item of a list."""
STEPS_OF_A_SEARCHED_CHARACTER = 2
"""The cost of one character of a text that is searched for another text."""
MAX_CHARACTERS_READ = 64 * 1024 * 1024
"""How many characters of prompt blocks may be read for a request, in addition to the steps."""

_MISSING = object()


class Evaluation:
    """A context, the steps that are left for evaluating in it, and intermediate results."""

    def __init__(self, context: Mapping[str, Any], *, steps: int = MAX_STEPS) -> None:
        self.context = context
        self.steps = steps
        self.steps_left = steps
        self.characters_left = MAX_CHARACTERS_READ
        self.field = "context"
        """What is being evaluated, under the caller's name; a refusal names it."""
        self.seconds_checking = 0.0
        """What checking the context against schemas has taken: their patterns cannot be counted in steps."""
        self._worked_out: dict[tuple[str, int], tuple[Any, Any]] = {}

    @classmethod
    def of(cls, context: Mapping[str, Any] | Evaluation) -> Evaluation:
        """Return an evaluation for the context; an existing one is returned with its budget."""
        return context if isinstance(context, Evaluation) else cls(context)

    def spend(self, steps: int) -> None:
        """Charge some work before it is done.

        Raises `Invalid` with the code `evaluation_too_costly` if it exceeds the remaining budget.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            message = Message(
                "takes more than {steps} steps to evaluate: use fewer conditions, placeholders, prompt "
                "blocks or sub-agents, or shorter lists and texts in the context",
                steps=self.steps,
            )
            raise Invalid.field(self.field, message, code="evaluation_too_costly")

    def read(self, characters: int) -> None:
        """Charge stored text that was read; raises `Invalid` as `spend` does.

        It does not count as steps, since a client evaluates its cached parts without reading.
        """
        self.characters_left -= characters
        if self.characters_left < 0:
            message = Message(
                "refers to prompt blocks of more than {limit} characters: use fewer",
                limit=MAX_CHARACTERS_READ,
            )
            raise Invalid.field(self.field, message, code="evaluation_too_costly")

    def value_at(self, path: str, default: Any) -> Any:
        """Return the value at a dotted path, or the default; only objects are entered."""
        self.spend(STEPS_OF_A_LOOK_UP + len(path))
        value: Any = self.context
        for segment in path.split("."):
            value = value.get(segment, _MISSING) if isinstance(value, Mapping) else _MISSING
            if value is _MISSING:
                return default
        return value

    def once(self, what: str, value: Any, work_out: Callable[[], T]) -> T:
        """Return a value computed for this very object, computing it only the first time."""
        key = (what, id(value))
        if key not in self._worked_out:
            # The object itself is stored too, so that no other can be found under its id.
            self._worked_out[key] = (value, work_out())
        return cast("T", self._worked_out[key][1])
