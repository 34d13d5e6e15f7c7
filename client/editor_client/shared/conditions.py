"""Display rules and conditional variants in a context, and the limit on the work of evaluating them.

Pure: a rule depends only on the given context, a JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid, Message

T = TypeVar("T")

MAX_STEPS = 64 * 1024 * 1024
"""The maximum number of steps of a request. A step is roughly one character that is printed or compared."""
STEPS_OF_A_LOOK_UP = 32
"""The cost of finding a value in the context, besides the length of its path."""
STEPS_OF_AN_ITEM = 16
"""The cost of comparing with one item of a list."""
STEPS_OF_A_SEARCHED_CHARACTER = 2
"""The cost of one character of a text that is searched for another text."""
MAX_CHARACTERS_READ = 64 * 1024 * 1024
"""The number of characters of prompt blocks that may be read for a request, in addition to the steps."""


class Evaluation:
    """A context, the remaining steps for evaluating in it, and intermediate results."""

    def __init__(self, context: Mapping[str, Any], *, steps: int = MAX_STEPS) -> None:
        self.context = context
        self.steps = steps
        self.steps_left = steps
        self.characters_left = MAX_CHARACTERS_READ
        self.field = "context"
        """The field being evaluated, under the caller's name; errors name it."""
        self.seconds_checking = 0.0
        """The seconds spent on checking the context against schemas, whose patterns cannot be counted in
        steps."""
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

    def once(self, kind: str, value: Any, work_out: Callable[[], T]) -> T:
        """Return a value computed for this very object, computing it only the first time."""
        key = (kind, id(value))
        if key not in self._worked_out:
            # The object itself is stored too, so that no other can be found under its id.
            self._worked_out[key] = (value, work_out())
        return cast("T", self._worked_out[key][1])


Operator = Callable[[Any, Any, Evaluation], bool]
"""Returns whether the rule holds, given the value in the context and the value of the rule."""

_MISSING = object()


def holds(rules: Mapping[str, Any] | None, context: Mapping[str, Any] | Evaluation) -> bool:
    """Return whether a rule group holds; a missing group, or one without conditions, always holds.

    `rules` has been validated by `versioning.domain.config`: `{"operator": "AND"|"OR", "conditions": [rule

    group]}`. Raises `Invalid` if the evaluation would take more work than allowed.
    """
    if not rules or not rules["conditions"]:
        return True
    evaluation = Evaluation.of(context)
    met = (
        holds(condition, evaluation)
        if "conditions" in condition
        else _OPERATORS[condition["operator"]](
            evaluation.value_at(condition["field"], _MISSING), condition.get("value"), evaluation
        )
        for condition in rules["conditions"]
    )
    return all(met) if rules["operator"] == "AND" else any(met)


def choose(value: Any, context: Mapping[str, Any] | Evaluation) -> Any:
    """Return the value of a conditional field in this context.

    A plain value is returned unchanged. From a list of variants the matching ones apply: objects are merged
    shallowly in order, lists are concatenated. Returns None if no variant matches. Raises as `holds` does.
    """
    if not isinstance(value, list):
        return value
    evaluation = Evaluation.of(context)
    chosen: Any = None
    for variant in value:
        if not holds(variant.get("rules"), evaluation):
            continue
        variant_value = variant["value"]
        # One copy for all: a new one for every variant would take quadratic time.
        if isinstance(chosen, dict) and isinstance(variant_value, dict):
            chosen.update(variant_value)
        elif isinstance(chosen, list) and isinstance(variant_value, list):
            chosen.extend(variant_value)
        else:
            chosen = variant_value.copy() if isinstance(variant_value, dict | list) else variant_value
    return chosen


def same_value(left: Any, right: Any) -> bool:
    """Compare as JSON does: strict in type, but 1 equals 1.0, and True equals neither."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return type(left) is type(right) and bool(left == right)


def _contains(actual: Any, expected: Any, evaluation: Evaluation) -> bool:
    if isinstance(actual, str) and isinstance(expected, str):
        evaluation.spend(STEPS_OF_A_SEARCHED_CHARACTER * len(actual))
        return expected in actual
    if not isinstance(actual, list):
        return False
    items = evaluation.once("items", actual, lambda: _fingerprints(actual, evaluation))
    return _fingerprint(expected) in items


def _is_in(actual: Any, expected: Any, evaluation: Evaluation) -> bool:
    if not isinstance(expected, list):
        return False
    evaluation.spend(STEPS_OF_AN_ITEM * len(expected))
    return any(same_value(actual, item) for item in expected)


def _fingerprints(items: list[Any], evaluation: Evaluation) -> set[str]:
    evaluation.spend(STEPS_OF_AN_ITEM * len(items))
    return set(map(_fingerprint, items))


def _fingerprint(value: Any) -> str:
    """Return a text that is equal for two JSON values exactly if `same_value` holds for them.

    It is a text because the hash of a text is randomised. Numbers with the same hash can be chosen by the
    thousands, which makes a set of them quadratic.
    """
    if type(value) is str:
        return f'"{value}'
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        exact = _by_value(value)
        return f"{exact:x}" if isinstance(exact, int) else repr(exact)
    try:
        return canonical.dump(_by_value(value))
    except (TypeError, ValueError):
        return "what JSON cannot express, and no rule can name"


def _by_value(value: Any) -> Any:
    """Return an equal value in which equal numbers have the same notation."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _by_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _equals(actual: Any, expected: Any, _evaluation: Evaluation) -> bool:
    return same_value(actual, expected)


def _exists(actual: Any, _expected: Any, _evaluation: Evaluation) -> bool:
    return actual is not _MISSING and actual is not None


def _not(operator: Operator) -> Operator:
    return lambda actual, expected, evaluation: not operator(actual, expected, evaluation)


def _numbers(compare: Callable[[Any, Any], bool]) -> Operator:
    def both_numbers_and(actual: Any, expected: Any, _evaluation: Evaluation) -> bool:
        return _is_number(actual) and _is_number(expected) and compare(actual, expected)

    return both_numbers_and


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_OPERATORS: dict[str, Operator] = {
    "equals": _equals,
    "not_equals": _not(_equals),
    "contains": _contains,
    "not_contains": _not(_contains),
    "greater_than": _numbers(lambda actual, expected: actual > expected),
    "less_than": _numbers(lambda actual, expected: actual < expected),
    "greater_than_or_equal": _numbers(lambda actual, expected: actual >= expected),
    "less_than_or_equal": _numbers(lambda actual, expected: actual <= expected),
    "in": _is_in,
    "not_in": lambda actual, expected, evaluation: (
        isinstance(expected, list) and not _is_in(actual, expected, evaluation)
    ),
    "exists": _exists,
    "not_exists": _not(_exists),
}
OPERATORS = tuple(_OPERATORS)
