"""The kind of scorers: their fields and their names."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from editor_client.shared import ids, scores
from editor_client.shared.configurations import keys
from pydantic import Field
from typing_extensions import TypeAliasType

from capabilities.evaluation.scoring.configs import NotNegative, Number, config_problems
from versioning.domain.agents import Model
from versioning.domain.config import (
    UNCHANGED,
    Config,
    ConfigSchema,
    JsonObject,
    NotBlank,
    RuleGroup,
    Shape,
)
from versioning.domain.kinds import ResourceKind

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

    min: Number = UNCHANGED
    max: Number = UNCHANGED


class PassIf(Shape):
    """The scores that pass, both limits included."""

    min: Number = UNCHANGED
    max: Number = UNCHANGED


class ScorerFields(Shape):
    """The fields of a scorer in an edit; an absent field is unchanged."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    type: ScorerType = UNCHANGED
    config: Annotated[JsonObject, Field(description="What the type needs; see the guide.")] | None = None
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
    studio_words="capabilities.evaluation.studio.words.SCORER",
    views="capabilities.evaluation.scoring.api.ScorerViews",
    own_words=ids.RESERVED_FOR_SCORERS,
    list_member="scorerDefinitions",
    judges_with_model=lambda config: config.get("type") == "llm-judge",
)
