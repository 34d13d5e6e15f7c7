"""The `config` of each type of scorer, and its check. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import re2
from editor_client.shared.brief import brief
from editor_client.shared.scores import ScorerType
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from versioning.domain.config import (
    UNCHANGED,
    Config,
    JsonObject,
    NotBlank,
    ResourceId,
    Shape,
    raise_for_issues,
)
from versioning.domain.context_schema import schema_problem
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.patterns import explain_error

MAX_PATTERN: Final = 1_000
"""The maximum length of a pattern, in characters."""
MAX_VALUES: Final = 50
Number = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def compiled(pattern: str, *, ignores_case: bool = False) -> Any:
    """Return the compiled pattern, which takes linear time; raises `re2.error`."""
    options = re2.Options()
    options.case_sensitive = not ignores_case
    options.log_errors = False
    return re2.compile(pattern, options)


def _pattern(value: str) -> str:
    try:
        compiled(value)
    except re2.error as error:
        reason = brief(explain_error(error))
        message = Message("is not a regular expression that can be used: {reason}", reason=reason)
        raise PydanticCustomError("pattern", "{reason}", {"reason": message}) from None
    return value


class Equals(Shape):
    """The answer is this value."""

    value: Any = UNCHANGED
    ignore_case: bool = UNCHANGED
    trim: bool = UNCHANGED


class Contains(Shape):
    """The answer contains all of these texts, or any of them."""

    values: Annotated[list[NotBlank], Field(min_length=1, max_length=MAX_VALUES)]
    mode: Literal["all", "any"] = UNCHANGED
    ignore_case: bool = UNCHANGED


class Affix(Shape):
    """The answer begins, or ends, with this text."""

    value: NotBlank
    ignore_case: bool = UNCHANGED


class Regex(Shape):
    """The answer has a part that matches the pattern."""

    pattern: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN), AfterValidator(_pattern)]
    ignore_case: bool = UNCHANGED


class JsonSchema(Shape):
    """The answer is JSON of this schema."""

    schema_: Annotated[JsonObject, Field(alias="schema")]


class JsonEquals(Shape):
    """The answer is JSON that has this value, at the path if one is given."""

    path: NotBlank = UNCHANGED
    value: Any = UNCHANGED
    tolerance: NotNegative = UNCHANGED


class Numeric(Shape):
    """The first number of the answer is this one; `decimal` is the sign between its digits and decimals."""

    value: Any = UNCHANGED
    tolerance: NotNegative = UNCHANGED
    decimal: Literal[".", ","] = UNCHANGED


class Similarity(Shape):
    """How similar the answer is to this text."""

    value: str = UNCHANGED
    algorithm: Literal["levenshtein", "tokens"] = UNCHANGED


class CalledTool(Shape):
    """The tool was called, with these arguments if some are given; or, with `not`, it was not."""

    name: NotBlank
    args: JsonObject = UNCHANGED
    not_: Annotated[bool, Field(alias="not")] = UNCHANGED


class Limit(Shape):
    """The most that is allowed."""

    value: Positive


class Choice(Shape):
    """A verdict that a judge can give."""

    label: NotBlank
    score: Number
    passes: bool


def _different(choices: list[Choice]) -> list[Choice]:
    if len({choice.label for choice in choices}) < len(choices):
        message = Message("must have labels that differ")
        raise PydanticCustomError("labels", "{reason}", {"reason": message})
    return choices


class Judge(Shape):
    """The verdicts of a model; its instructions are those of the scorer, or a prompt block."""

    choices: Annotated[list[Choice], Field(min_length=2, max_length=10), AfterValidator(_different)] = (
        UNCHANGED
    )
    prompt_block: ResourceId = UNCHANGED


class Code(Shape):
    """The function that the application registered under this name."""

    name: NotBlank


class Empty(Shape):
    """Nothing."""


CONFIGS: Final[Mapping[str, type[Shape]]] = {
    "equals": Equals,
    "contains": Contains,
    "startsWith": Affix,
    "endsWith": Affix,
    "regex": Regex,
    "jsonSchema": JsonSchema,
    "jsonEquals": JsonEquals,
    "numeric": Numeric,
    "similarity": Similarity,
    "calledTool": CalledTool,
    "maxTokens": Limit,
    "maxMilliseconds": Limit,
    "llm-judge": Judge,
    "code": Code,
    "external": Empty,
}
"""The shape of `config`, by type."""
PRESETS: Final = tuple(one for one in get_args(ScorerType) if one not in CONFIGS)
"""Types of other runtimes, which are stored for them and not run here."""


def config_problems(scorer: Config) -> Iterator[Issue]:
    """Yield what is wrong with the fields of a scorer that depend on each other."""
    given = scorer.get("config", {})
    shape = CONFIGS.get(str(scorer.get("type")))
    if shape is not None:
        try:
            raise_for_issues(shape, given)
        except Invalid as error:
            yield from (_below(issue) for issue in error.issues)
    elif given:
        yield Issue("config", Message("must be empty for a scorer that is not run here"))
    schema = given.get("schema") if shape is JsonSchema else None
    problem = schema_problem(schema, field="config.schema") if isinstance(schema, dict) else None
    if problem is not None:
        yield problem
    yield from _range_problems(scorer, ("scoreRange", "passIf"))


def _below(issue: Issue) -> Issue:
    # A missing object is reported as the object itself.
    return Issue("config" if issue.field == "body" else f"config.{issue.field}", issue.message)


def _range_problems(scorer: Config, names: tuple[str, ...]) -> Iterator[Issue]:
    comparisons: Mapping[str, Callable[[float, float], bool]] = {
        "scoreRange": lambda low, high: low < high,
        "passIf": lambda low, high: low <= high,
    }
    for name in names:
        given = scorer.get(name) or {}
        low, high = given.get("min"), given.get("max")
        if name == "scoreRange":
            low, high = low or 0, 1 if high is None else high
        if low is not None and high is not None and not comparisons[name](low, high):
            yield Issue(f"{name}.max", Message("must be above min"))
