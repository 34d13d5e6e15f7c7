"""The fields of a snapshot and their shapes, for both kinds. A new field is one line here.

Storage, API, OpenAPI document, comparison and export follow from these classes. Pure pydantic:
it checks, and the caller's own value is kept untouched.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, get_args

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
from pydantic_core.core_schema import tagged_union_schema

from versioning import ids
from versioning.conditions import OPERATORS

# Names that pydantic puts into the path of a fault to tell the branches of a union apart. They
# are not the caller's, so they are taken out again; with the NUL no key of a caller can be alike.
_VALUE, _VARIANTS, _TEXT, _BLOCKS = "\0value", "\0variants", "\0text", "\0blocks"
_RULE, _GROUP, _OBJECT, _LIST = "\0rule", "\0group", "\0object", "\0list"
_BLOCK_TYPES = ("text", "prompt_block", "prompt_block_ref")


class Shape(BaseModel):
    """A JSON object with exactly these members, in camelCase, nothing coerced."""

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
    fault = ids.fault(value)
    if fault is not None:
        raise PydanticCustomError("id", "{reason}", {"reason": fault})
    return value


NotBlank = Annotated[str, AfterValidator(_not_blank)]
ResourceId = Annotated[str, AfterValidator(_resource_id)]
JsonObject = dict[str, Any]


class Rule(Shape):
    """A condition on one value of the context."""

    field: Annotated[str, Field(min_length=1)]
    operator: Literal[OPERATORS]  # type: ignore[valid-type]
    value: Any = None


def _rule_or_group(value: Any) -> str | None:
    if isinstance(value, dict):
        return _GROUP if "conditions" in value else _RULE
    return _GROUP if isinstance(value, RuleGroup2 | RuleGroup3) else _RULE


class RuleGroup3(Shape):
    """The third level of rules, which holds no further group."""

    operator: Literal["AND", "OR"]
    conditions: list[Rule]


class RuleGroup2(Shape):
    """The second level of rules."""

    operator: Literal["AND", "OR"]
    conditions: list[
        Annotated[
            Annotated[Rule, Tag(_RULE)] | Annotated[RuleGroup3, Tag(_GROUP)], Discriminator(_rule_or_group)
        ]
    ]


class RuleGroup(Shape):
    """Conditions joined by AND or OR; no conditions hold always; three levels at most."""

    operator: Literal["AND", "OR"]
    conditions: list[
        Annotated[
            Annotated[Rule, Tag(_RULE)] | Annotated[RuleGroup2, Tag(_GROUP)], Discriminator(_rule_or_group)
        ]
    ]


class TextBlock(Shape):
    """A piece of instructions that is always shown."""

    type: Literal["text"]
    content: str


class InlinePromptBlock(Shape):
    """A piece of instructions that is shown when its rules hold."""

    type: Literal["prompt_block"]
    content: str
    rules: RuleGroup | None = None


class PromptBlockRef(Shape):
    """A stored prompt block, by id."""

    type: Literal["prompt_block_ref"]
    id: ResourceId


def _block_tag(value: Any) -> str | None:
    block_type = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"\0{block_type}" if block_type in _BLOCK_TYPES else None


Block = Annotated[
    Annotated[TextBlock, Tag("\0text")]
    | Annotated[InlinePromptBlock, Tag("\0prompt_block")]
    | Annotated[PromptBlockRef, Tag("\0prompt_block_ref")],
    Discriminator(
        _block_tag,
        custom_error_type="block_type",
        custom_error_message=f"must be an object whose type is one of {', '.join(_BLOCK_TYPES)}",
    ),
]


def _list_or(single: str, several: str) -> Discriminator:
    return Discriminator(lambda value: several if isinstance(value, list) else single)


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


# Not required in an edit, yet never null; the default only marks the absence.
UNCHANGED: Any = Field(default="", json_schema_extra=_without_default)


Instructions = Annotated[
    Annotated[str, Tag(_TEXT)] | Annotated[list[Block], Tag(_BLOCKS)],
    _list_or(_TEXT, _BLOCKS),
    AfterValidator(_not_blank),
]

T = TypeVar("T")


class MayVary:
    """Marks a field that is either the value itself or a list of variants of it.

    A variant is `{"value", "rules"?}` and counts when its rules hold; `variant` is the type of its
    value where that is not the type of the field.
    """

    def __init__(self, variant: Any = None) -> None:
        self.variant = variant

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a value or of a list of variants, told apart by being a list."""
        variant = _variant_of(self.variant or source)
        return tagged_union_schema(
            {_VALUE: handler(source), _VARIANTS: handler.generate_schema(list[variant])},  # type: ignore[valid-type]
            discriminator=lambda value: _VARIANTS if isinstance(value, list) else _VALUE,
        )


def _variant_of(value: Any) -> type[Shape]:
    # A class made by hand, because the name of a generic one is not fit for the OpenAPI document.
    *_, innermost = get_args(value) or (value,)
    name = f"VariantOf{getattr(innermost, '__name__', 'Object')}"
    return create_model(name, __base__=Shape, value=(value, ...), rules=(RuleGroup | None, None))


Conditional = Annotated[T, MayVary()]


class Model(Shape):
    """A model, by provider and name; further members are the provider's own."""

    model_config = ConfigDict(extra="allow")

    provider: NotBlank
    name: NotBlank


class Usage(Shape):
    """How a tool, a sub-agent or a workflow is offered: a description override, and when."""

    description: str | None = None
    rules: RuleGroup | None = None


class Scorer(Usage):
    """How a scorer is used."""

    sampling: JsonObject | None = None


Usages = dict[Annotated[str, Field(min_length=1)], Usage]
Scorers = dict[Annotated[str, Field(min_length=1)], Scorer]
SubAgents = dict[ResourceId, Usage]

# An object that the service keeps as given, for the runtime that reads it. Its variants may hold
# lists too: those of the matching variants are concatenated.
_ObjectOrList = Annotated[
    Annotated[JsonObject, Tag(_OBJECT)] | Annotated[list[Any], Tag(_LIST)], _list_or(_OBJECT, _LIST)
]
Kept = Annotated[JsonObject, MayVary(_ObjectOrList)]


class SharedFields(Shape):
    """The fields that the snapshots of both kinds have; as an edit, all of them may be absent."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    request_context_schema: JsonObject | None = None


class AgentFields(SharedFields):
    """The fields of an agent's snapshot as an edit names them: absent means unchanged."""

    instructions: Instructions = UNCHANGED
    model: Conditional[Model] | None = None
    tools: Conditional[Usages] | None = None
    agents: Conditional[SubAgents] | None = None
    workflows: Conditional[Usages] | None = None
    scorers: Conditional[Scorers] | None = None
    integration_tools: Kept | None = None
    tool_providers: Kept | None = None
    mcp_clients: Kept | None = None
    default_options: Kept | None = None
    input_processors: Kept | None = None
    output_processors: Kept | None = None
    memory: Kept | None = None
    skills: Kept | None = None
    workspace: Kept | None = None
    browser: Kept | None = None


class AgentConfig(AgentFields):
    """The whole configuration of a stored agent."""

    name: NotBlank
    instructions: Instructions


class PromptBlockFields(SharedFields):
    """The fields of a prompt block's snapshot as an edit names them: absent means unchanged."""

    content: str = UNCHANGED
    rules: RuleGroup | None = None


class PromptBlockConfig(PromptBlockFields):
    """The whole configuration of a prompt block."""

    name: NotBlank
    content: str
