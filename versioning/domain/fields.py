"""What the fields of snapshots are made of, and the fields that every kind has.

Storage, API, OpenAPI document, comparison and export follow from the classes of a kind. Pure pydantic, used
to validate only: the caller's value is stored unchanged.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

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

# Tags of union branches, which pydantic adds to the path of a problem; they are removed again. No key of a
# caller can equal them because of the NUL.
_VALUE, _VARIANTS, _RULE, _GROUP = "\0value", "\0variants", "\0rule", "\0group"


class Shape(BaseModel):
    """A JSON object with exactly these members, in camelCase, without coercion."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)


def not_blank(value: str) -> str:
    """Return a text that is not blank; raises `PydanticCustomError` for any other."""
    if not value.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _resource_id(value: str) -> str:
    problem = ids.problem(value)
    if problem is not None:
        raise PydanticCustomError("id", "{reason}", {"reason": problem})
    return value


NOT_BLANK: Any = Field(json_schema_extra={"minLength": 1, "pattern": r"[^\s\u001c-\u001f\u0085]"})
"""Documents that a text is not blank; `NotBlank` also checks it."""

NotBlank = Annotated[str, AfterValidator(not_blank), NOT_BLANK]
ResourceId = Annotated[
    str,
    AfterValidator(_resource_id),
    Field(json_schema_extra={"minLength": 1, "maxLength": ids.MAX_BYTES, "pattern": ids.PATTERN}),
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


def list_or(single: str, several: str) -> Discriminator:
    """Return what tells a list from a single value, as tags of a union."""
    return Discriminator(lambda value: several if isinstance(value, list) else single)


# Optional in an edit but never null; the default only marks that it is absent.
UNCHANGED: Any = Field(default="")


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
    return TypeAliasType(f"{name}OrVariants", Annotated[either, list_or(_VALUE, _VARIANTS), description])


class SharedFields(Shape):
    """The fields that all kinds share; in an edit, each of them may be absent."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    request_context_schema: JsonObject | None = None
