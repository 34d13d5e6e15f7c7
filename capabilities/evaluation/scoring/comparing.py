"""The scorers that compare an answer with what is known. Pure; each takes its config and an attempt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import placeholders, render, split
from editor_client.shared.text_keys import caseless

from capabilities.evaluation.scoring.configs import compiled
from capabilities.evaluation.scoring.numbers import AmbiguousNumber, first_number, whole_number
from capabilities.evaluation.scoring.outcomes import (
    MISSING,
    Attempt,
    NotScorable,
    ScorerError,
    parsed,
    text_of,
)
from versioning.domain.context_schema import UnusableSchema, value_refusals

MAX_SIMILAR: Final = 20_000
"""The maximum length of texts whose similarity is measured, in characters."""
GROUND_TRUTH: Final = "{{groundTruth}}"
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

Config = Mapping[str, Any]


def reference(template: Any, attempt: Attempt) -> Any:
    """Return the value of a template; one placeholder alone gives the JSON value itself.

    Raises `NotScorable` for a placeholder that has neither a value nor a fallback.
    """
    if not isinstance(template, str):
        return template
    evaluation = Evaluation.of(attempt.context)
    named = list(placeholders(template))
    values = [evaluation.value_at(path, fallback) for path, fallback in named]
    missing = next((path for (path, _), value in zip(named, values, strict=True) if value is None), None)
    if missing is not None:
        raise NotScorable(f"There is no {missing}.")
    pieces = [piece for piece in split(template) if piece[1] or piece[0].strip()]
    return values[0] if len(pieces) == len(named) == 1 else render(template, evaluation)


def _folded(text: str, config: Config) -> str:
    return caseless(text) if config.get("ignoreCase") else text


def equals(config: Config, attempt: Attempt) -> bool:
    """Compare with the value: texts as texts, other JSON by value."""
    wanted = reference(config.get("value", GROUND_TRUTH), attempt)
    if not isinstance(wanted, str):
        actual = attempt.json
        return actual is not MISSING and canonical.same(actual, wanted)
    texts = (_folded(text, config) for text in (attempt.text, wanted))
    left, right = (text.strip() if config.get("trim", True) else text for text in texts)
    return left == right


def contains(config: Config, attempt: Attempt) -> bool:
    """Look for all of the values, or for any."""
    text = _folded(attempt.text, config)
    wanted = (_folded(text_of(reference(value, attempt)), config) for value in config["values"])
    found = [value in text for value in wanted]
    return any(found) if config.get("mode") == "any" else all(found)


def starts_with(config: Config, attempt: Attempt) -> bool:
    """Compare the beginning."""
    wanted = text_of(reference(config["value"], attempt))
    return _folded(attempt.text, config).startswith(_folded(wanted, config))


def ends_with(config: Config, attempt: Attempt) -> bool:
    """Compare the end."""
    wanted = text_of(reference(config["value"], attempt))
    return _folded(attempt.text, config).endswith(_folded(wanted, config))


def regex(config: Config, attempt: Attempt) -> bool:
    """Search for the pattern."""
    pattern = compiled(config["pattern"], ignores_case=bool(config.get("ignoreCase")))
    return pattern.search(attempt.text) is not None


def json_schema(config: Config, attempt: Attempt) -> bool:
    """Check against the schema; text that is no JSON does not pass."""
    if attempt.json is MISSING:
        return False
    try:
        return not value_refusals(config["schema"], attempt.json, field="output")
    except UnusableSchema as error:
        raise ScorerError("invalid_schema", str(error)) from None


def json_equals(config: Config, attempt: Attempt) -> bool:
    """Compare by value what is at a path of the JSON."""
    wanted = reference(config.get("value", GROUND_TRUTH), attempt)
    actual = _at(config.get("path", ""), attempt.json)
    if actual is MISSING:
        return False
    # A reference that comes as text may be the JSON itself, as in a column of a table.
    either = [wanted, parsed(wanted)] if isinstance(wanted, str) else [wanted]
    return any(_near(actual, one, config.get("tolerance", 0)) for one in either if one is not MISSING)


def _at(path: str, value: Any) -> Any:
    for segment in path.split(".") if path else ():
        if isinstance(value, list) and segment.isdecimal() and segment.isascii():
            value = value[int(segment)] if len(segment) < 10 and int(segment) < len(value) else MISSING
        else:
            value = value.get(segment, MISSING) if isinstance(value, dict) else MISSING
    return value


def _near(actual: Any, wanted: Any, tolerance: float) -> bool:
    left, right = _decimal(actual), _decimal(wanted)
    if tolerance and left is not None and right is not None:
        return _within(left, right, tolerance)
    return canonical.same(actual, wanted)


def numeric(config: Config, attempt: Attempt) -> bool:
    """Compare the first number of the answer, as people write numbers (see `numbers` in this package)."""
    wanted = reference(config.get("value", GROUND_TRUTH), attempt)
    comma = config.get("decimal") == ","
    number = whole_number(wanted, comma=comma) if isinstance(wanted, str) else _decimal(wanted)
    if number is None:
        raise NotScorable("The reference is no number.")
    try:
        actual = first_number(attempt.text, comma=comma)
    except AmbiguousNumber as error:
        raise NotScorable(f"It is not clear which number {error} is.") from None
    return actual is not None and _within(actual, number, config.get("tolerance", 0))


def _decimal(value: Any) -> Decimal | None:
    """Return a number exactly as it is written, or None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        number = Decimal(str(value))
        return number if number.is_finite() else None
    except (InvalidOperation, ValueError):
        return None


def _within(left: Decimal, right: Decimal, tolerance: float) -> bool:
    try:
        return abs(left - right) <= Decimal(str(tolerance))
    except ArithmeticError:  # one of them is too large to be near
        return False


def similarity(config: Config, attempt: Attempt) -> float:
    """Measure how similar the texts are, from 0 to 1."""
    wanted = text_of(reference(config.get("value", GROUND_TRUTH), attempt))
    if max(len(wanted), len(attempt.text)) > MAX_SIMILAR:
        raise ScorerError("too_long", f"Only texts of up to {MAX_SIMILAR} characters are compared.")
    if config.get("algorithm") == "tokens":
        return _common_words(Counter(caseless(wanted).split()), Counter(caseless(attempt.text).split()))
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415  12 MiB, only for comparisons

    return Levenshtein.normalized_similarity(wanted, attempt.text)


def _common_words(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def called_tool(config: Config, attempt: Attempt) -> bool:
    """Look for a call of the tool."""
    if attempt.tool_calls is None:
        raise NotScorable("The calls of tools are not known.")
    wanted = config.get("args", {})
    called = any(
        call.get("toolName") == config["name"] and _has(call.get("args") or {}, wanted)
        for call in attempt.tool_calls
    )
    return called is not bool(config.get("not", False))


def _has(args: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in args and canonical.same(args[name], value) for name, value in wanted.items())


def max_tokens(config: Config, attempt: Attempt) -> bool:
    """Compare the number of tokens."""
    if attempt.tokens is None:
        raise NotScorable("The number of tokens is not known.")
    return bool(attempt.tokens <= config["value"])


def max_milliseconds(config: Config, attempt: Attempt) -> bool:
    """Compare how long the answer took."""
    if attempt.milliseconds is None:
        raise NotScorable("How long it took is not known.")
    return bool(attempt.milliseconds <= config["value"])


COMPARING: Final[Mapping[str, Callable[[Config, Attempt], float]]] = {
    "equals": equals,
    "contains": contains,
    "startsWith": starts_with,
    "endsWith": ends_with,
    "regex": regex,
    "jsonSchema": json_schema,
    "jsonEquals": json_equals,
    "numeric": numeric,
    "similarity": similarity,
    "calledTool": called_tool,
    "maxTokens": max_tokens,
    "maxMilliseconds": max_milliseconds,
}
"""By type; a boolean is a score of 1 or 0."""
