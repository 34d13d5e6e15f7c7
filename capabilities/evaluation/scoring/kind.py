"""The kind of scorers: their fields and their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import re2
from editor_client.shared import ids, scores
from editor_client.shared.clipping import brief
from editor_client.shared.configurations import keys
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from versioning.domain.agents import Model
from versioning.domain.config import (
    UNCHANGED,
    Config,
    ConfigSchema,
    JsonObject,
    NotBlank,
    ResourceId,
    RuleGroup,
    Shape,
    raise_for_issues,
)
from versioning.domain.context_schema import schema_problem
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.patterns import explain_error

MAX_PATTERN: Final = 1_000
"""The maximum length of a pattern, in characters."""
MAX_VALUES: Final = 50
MAX_SCORE: Final = 2**53
"""Scores are smaller, in either direction: sums and squares of any number of them are finite."""
Score = Annotated[float, Field(gt=-MAX_SCORE, lt=MAX_SCORE, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def compile_pattern(pattern: str, *, ignores_case: bool = False) -> Any:
    """Return the compiled pattern, which takes linear time; raises `re2.error`."""
    options = re2.Options()
    options.case_sensitive = not ignores_case
    options.log_errors = False
    return re2.compile(pattern, options)


def _pattern(value: str) -> str:
    try:
        compile_pattern(value)
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
    """The similarity of the answer to this text."""

    value: str = UNCHANGED
    algorithm: Literal["levenshtein", "tokens"] = UNCHANGED


class CalledTool(Shape):
    """The tool was called, with these arguments if some are given; or, with `not`, it was not."""

    name: NotBlank
    args: JsonObject = UNCHANGED
    not_: Annotated[bool, Field(alias="not")] = UNCHANGED


class Limit(Shape):
    """The maximum."""

    value: Positive


class Choice(Shape):
    """A verdict that a judge can give."""

    label: NotBlank
    score: Score
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
PRESETS: Final = tuple(name for name in get_args(scores.ScorerType) if name not in CONFIGS)
"""Types of other runtimes, which are stored but not run here."""


def config_problems(scorer: Config) -> Iterator[Issue]:
    """Yield the issues of interdependent fields of a scorer."""
    config = scorer.get("config", {})
    shape = CONFIGS.get(str(scorer.get("type")))
    if shape is not None:
        try:
            raise_for_issues(shape, config)
        except Invalid as error:
            for issue in error.issues:  # a missing object is reported as the object itself
                yield Issue("config" if issue.field == "body" else f"config.{issue.field}", issue.message)
    elif config:
        yield Issue("config", Message("must be empty for a scorer that is not run here"))
    schema = config.get("schema") if shape is JsonSchema else None
    problem = schema_problem(schema, field="config.schema") if isinstance(schema, dict) else None
    if problem is not None:
        yield problem
    for name in ("scoreRange", "passIf"):
        limits = scorer.get(name) or {}
        low, high = limits.get("min"), limits.get("max")
        if name == "scoreRange":
            low, high = low or 0, 1 if high is None else high
        if low is None or high is None:
            continue
        if low > high or (low == high and name == "scoreRange"):
            yield Issue(f"{name}.max", Message("must be above min"))


ScorerType = TypeAliasType("ScorerType", scores.ScorerType)


class NoSampling(Shape):
    """No answers of applications are scored."""

    type: Literal["none"]


class RatioSampling(Shape):
    """A share of the answers of applications is scored."""

    type: Literal["ratio"]
    rate: Annotated[float, Field(ge=0, le=1)]


Sampling = TypeAliasType("Sampling", Annotated[NoSampling | RatioSampling, Field(discriminator="type")])


class ScoreRange(Shape):
    """The range of the scores."""

    min: Score = UNCHANGED
    max: Score = UNCHANGED


class PassIf(Shape):
    """The scores that pass, both limits included."""

    min: Score = UNCHANGED
    max: Score = UNCHANGED


class ScorerFields(Shape):
    """The fields of a scorer in an edit; an absent field is unchanged."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    type: ScorerType = UNCHANGED
    config: (
        Annotated[JsonObject, Field(description=("The configuration for the type; see the guide."))] | None
    ) = None
    instructions: str | None = None
    model: Model | None = None
    score_range: ScoreRange | None = None
    pass_if: PassIf | None = None
    tie: NotNegative | None = None
    applies_if: RuleGroup | None = None
    default_sampling: Sampling | None = None
    preset_config: JsonObject | None = None


class ScorerConfig(ScorerFields):
    """The complete configuration of a scorer."""

    name: NotBlank
    type: ScorerType


def referenced_scorers(config: Config) -> list[tuple[str, str]]:
    """Return (field, id) for every stored scorer that an agent may name, conditional variants included."""
    return [(field, key) for field, key in keys(config, "scorers") if ids.problem(key) is None]


SCORER: Final = ResourceKind(
    slug="scorer",
    id_member="scorerDefinitionId",
    namespace="scorer",
    singular="scorer",
    plural="scorers",
    path="scorers",
    icon="rule",
    text_field="instructions",
    schema=ConfigSchema(edit=ScorerFields, whole=ScorerConfig, problems=config_problems),
    studio_words="capabilities.evaluation.studio.scorers.SCORER_WORDS",
    views="capabilities.evaluation.scoring.api.ScorerViews",
    own_words=ids.RESERVED_FOR_SCORERS,
    list_member="scorerDefinitions",
    judges_with_model=lambda config: config.get("type") == "llm-judge",
)
