"""The fields of a snapshot and their shapes, for both kinds. A new field is one line here.

Storage, API, OpenAPI document, comparison and export follow from these classes. Pure pydantic, used to
validate only: the caller's value is stored unchanged.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, Literal

from editor_client.shared import ids
from editor_client.shared.conditions import OPERATORS
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError
from typing_extensions import TypeAliasType

from versioning.domain import model_names
from versioning.domain.errors import Message

# Tags of union branches, which pydantic adds to the path of a problem; they are removed again. No key of a
# caller can equal them because of the NUL.
_VALUE, _VARIANTS, _TEXT, _BLOCKS = "\0value", "\0variants", "\0text", "\0blocks"
_RULE, _GROUP, _OBJECT, _LIST = "\0rule", "\0group", "\0object", "\0list"
_BLOCK_TYPES = ("text", "prompt_block", "prompt_block_ref")


class Shape(BaseModel):
    """A JSON object with exactly these members, in camelCase, without coercion."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)


def _not_blank(value: Any) -> Any:
    if isinstance(value, str):
        blank = not value.strip()
    else:
        blank = not any(isinstance(block, PromptBlockRef) or block.content.strip() for block in value)
    if blank:
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _resource_id(value: str) -> str:
    problem = ids.problem(value)
    if problem is not None:
        raise PydanticCustomError("id", "{reason}", {"reason": problem})
    return value


def _model_name(value: str) -> str:
    problem = model_names.problem(_not_blank(value))
    if problem is not None:
        raise PydanticCustomError("model_name", "{reason}", {"reason": problem})
    return value


NOT_BLANK: Any = Field(json_schema_extra={"minLength": 1, "pattern": r"[^\s\u001c-\u001f\u0085]"})
"""Documents that a text is not blank; `NotBlank` also checks it."""

NotBlank = Annotated[str, AfterValidator(_not_blank), NOT_BLANK]
ResourceId = Annotated[
    str,
    AfterValidator(_resource_id),
    Field(json_schema_extra={"minLength": 1, "maxLength": ids.MAX_BYTES, "pattern": ids.PATTERN}),
]
ModelName = Annotated[
    str,
    AfterValidator(_model_name),
    Field(json_schema_extra={"minLength": 1, "pattern": model_names.PATTERN}),
]
JsonObject = TypeAliasType(
    "JsonObject", Annotated[dict[str, Any], Field(description="A JSON object, kept as given.")]
)
Visibility = TypeAliasType("Visibility", Literal["private", "public"])
Operator = TypeAliasType("Operator", Literal[OPERATORS])  # type: ignore[valid-type]
Junction = TypeAliasType("Junction", Literal["AND", "OR"])


class Rule(Shape):
    """A condition on one value of the request context."""

    field: Annotated[str, Field(min_length=1)]
    operator: Operator
    value: Any = None


def _rule_or_group(value: Any) -> str | None:
    if isinstance(value, dict):
        return _GROUP if "conditions" in value else _RULE
    return _GROUP if isinstance(value, RuleGroup2 | RuleGroup3) else _RULE


class RuleGroup3(Shape):
    """The third level of rules, which cannot hold further groups."""

    operator: Junction
    conditions: list[Rule]


class RuleGroup2(Shape):
    """The second level of rules."""

    operator: Junction
    conditions: list[
        Annotated[
            Annotated[Rule, Tag(_RULE)] | Annotated[RuleGroup3, Tag(_GROUP)], Discriminator(_rule_or_group)
        ]
    ]


class RuleGroup(Shape):
    """Conditions joined by AND or OR, at most three levels deep; an empty list always holds."""

    operator: Junction
    conditions: list[
        Annotated[
            Annotated[Rule, Tag(_RULE)] | Annotated[RuleGroup2, Tag(_GROUP)], Discriminator(_rule_or_group)
        ]
    ]


class TextBlock(Shape):
    """A piece of instructions that is always included."""

    type: Literal["text"]
    content: str


class InlinePromptBlock(Shape):
    """A piece of instructions that is included when its rules hold."""

    type: Literal["prompt_block"]
    content: str
    rules: RuleGroup | None = None


class PromptBlockRef(Shape):
    """A reference to a stored prompt block, by id."""

    type: Literal["prompt_block_ref"]
    id: ResourceId


def _block_tag(value: Any) -> str | None:
    block_type = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"\0{block_type}" if block_type in _BLOCK_TYPES else None


UNKNOWN_BLOCK: Final = Message(
    "must be an object whose type is one of {types}", types=", ".join(_BLOCK_TYPES)
)
"""What is wrong with a block of another type."""
InstructionBlock = TypeAliasType(
    "InstructionBlock",
    Annotated[
        Annotated[TextBlock, Tag("\0text")]
        | Annotated[InlinePromptBlock, Tag("\0prompt_block")]
        | Annotated[PromptBlockRef, Tag("\0prompt_block_ref")],
        Discriminator(
            _block_tag,
            custom_error_type="block_type",
            custom_error_message=str(UNKNOWN_BLOCK),
        ),
    ],
)


def _list_or(single: str, several: str) -> Discriminator:
    return Discriminator(lambda value: several if isinstance(value, list) else single)


# Optional in an edit but never null; the default only marks that it is absent.
UNCHANGED: Any = Field(default="")


Instructions = TypeAliasType(
    "Instructions",
    Annotated[
        Annotated[str, Tag(_TEXT), NOT_BLANK]
        | Annotated[list[InstructionBlock], Tag(_BLOCKS), Field(json_schema_extra={"minItems": 1})],
        _list_or(_TEXT, _BLOCKS),
        AfterValidator(_not_blank),
        Field(description="A text, or blocks that are joined by blank lines."),
    ],
)


class MayVary:
    """Marks a field that holds either a plain value or a list of variants.

    A variant is `{"value", "rules"?}` and counts when its rules hold. `variant` is the type of its value,
    if that differs from the type of the field. `name` gives the names in the OpenAPI document:
    `<name>OrVariants` and `<name>Variant`.
    """

    def __init__(self, name: str, variant: Any = None) -> None:
        self.name = name
        self.variant = variant

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema for a plain value or a list of variants; whether it is a list tells them apart."""
        return handler.generate_schema(_value_or_variants(self.name, source, self.variant or source))


@cache
def _value_or_variants(name: str, value: Any, varied: Any) -> TypeAliasType:
    variant = create_model(
        f"{name}Variant", __base__=Shape, value=(varied, ...), rules=(RuleGroup | None, None)
    )
    either = Annotated[value, Tag(_VALUE)] | Annotated[list[variant], Tag(_VARIANTS)]
    description = Field(description="The value itself, or variants of it: those count whose rules hold.")
    return TypeAliasType(f"{name}OrVariants", Annotated[either, _list_or(_VALUE, _VARIANTS), description])


class Model(Shape):
    """A model, by provider and name; other members are specific to the provider."""

    model_config = ConfigDict(extra="allow")

    provider: NotBlank
    name: ModelName


class Usage(Shape):
    """When a tool, a sub-agent or a workflow is offered, and with which description."""

    description: str | None = None
    rules: RuleGroup | None = None


class Scorer(Usage):
    """How a scorer is used."""

    sampling: JsonObject | None = None


_Key = Annotated[str, Field(min_length=1)]
Usages = TypeAliasType("Usages", dict[_Key, Usage])
Scorers = TypeAliasType("Scorers", dict[_Key, Scorer])
SubAgents = TypeAliasType("SubAgents", dict[ResourceId, Usage])

# A JSON object stored as given, for whichever runtime reads it. Its variants may also hold lists; the lists
# of matching variants are concatenated.
ObjectOrList = TypeAliasType(
    "ObjectOrList",
    Annotated[
        Annotated[JsonObject, Tag(_OBJECT)] | Annotated[list[Any], Tag(_LIST)], _list_or(_OBJECT, _LIST)
    ],
)
OpaqueJson = Annotated[JsonObject, MayVary("Object", ObjectOrList)]


class SharedFields(Shape):
    """The fields that both kinds share; in an edit, each of them may be absent."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    request_context_schema: JsonObject | None = None


class AgentFields(SharedFields):
    """The fields of an agent in an edit; an absent field is unchanged."""

    instructions: Instructions = UNCHANGED
    model: Annotated[Model, MayVary("Model")] | None = None
    tools: Annotated[Usages, MayVary("Usages")] | None = None
    agents: Annotated[SubAgents, MayVary("SubAgents")] | None = None
    workflows: Annotated[Usages, MayVary("Usages")] | None = None
    scorers: Annotated[Scorers, MayVary("Scorers")] | None = None
    integration_tools: OpaqueJson | None = None
    tool_providers: OpaqueJson | None = None
    mcp_clients: OpaqueJson | None = None
    default_options: OpaqueJson | None = None
    input_processors: OpaqueJson | None = None
    output_processors: OpaqueJson | None = None
    memory: OpaqueJson | None = None
    skills: OpaqueJson | None = None
    workspace: OpaqueJson | None = None
    browser: OpaqueJson | None = None


class AgentConfig(AgentFields):
    """The complete configuration of a stored agent."""

    name: NotBlank
    instructions: Instructions


class PromptBlockFields(SharedFields):
    """The fields of a prompt block in an edit; an absent field is unchanged."""

    content: str = UNCHANGED
    rules: RuleGroup | None = None


class PromptBlockConfig(PromptBlockFields):
    """The complete configuration of a prompt block."""

    name: NotBlank
    content: str
