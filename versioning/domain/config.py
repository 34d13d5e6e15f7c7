"""Fields of snapshots: their types, checks and comparison.

Each kind declares its fields as classes. Storage, API, OpenAPI document, comparison and export follow from
them. Pure pydantic, used to validate only: the caller's value is stored unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, groupby
from typing import Annotated, Any, Literal

from editor_client.shared import canonical, ids
from editor_client.shared.conditions import OPERATORS
from editor_client.shared.configurations import changed_fields, merge_changes
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    ValidationError,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError
from typing_extensions import TypeAliasType

from versioning.domain.context_schema import SCHEMA_FIELD, schema_problem
from versioning.domain.errors import MAX_ISSUES, Invalid, Issue, Message
from versioning.domain.texts import clip

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
    """Return the tag that distinguishes a list from a single value in a union."""
    return Discriminator(lambda value: several if isinstance(value, list) else single)


# Optional in an edit but never null; the default only marks that it is absent.
UNCHANGED: Any = Field(default="")


class MayVary:
    """Marks a field that holds either a plain value or a list of variants.

    A variant is `{"value", "rules"?}` and applies when its rules hold. `variant` is the type of its value, if
    that differs from the type of the field. `name` gives the names in the OpenAPI document:
    `<name>OrVariants` and `<name>Variant`.
    """

    def __init__(self, name: str, variant: Any = None) -> None:
        self.name = name
        self.variant = variant

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a union schema of a plain value and a list of variants."""
        return handler.generate_schema(_value_or_variants(self.name, source, self.variant or source))


@cache
def _value_or_variants(name: str, value: Any, varied: Any) -> TypeAliasType:
    variant = create_model(
        f"{name}Variant", __base__=Shape, value=(varied, ...), rules=(RuleGroup | None, None)
    )
    either = Annotated[value, Tag(_VALUE)] | Annotated[list[variant], Tag(_VARIANTS)]
    description = Field(description="The value itself, or variants, which apply when their rules hold.")
    return TypeAliasType(f"{name}OrVariants", Annotated[either, list_or(_VALUE, _VARIANTS), description])


class SharedFields(Shape):
    """The fields that all kinds share; in an edit, each of them may be absent."""

    name: NotBlank = UNCHANGED
    description: str | None = None
    request_context_schema: JsonObject | None = None


Config = dict[str, Any]

EXCERPT_LENGTH = 240
_TEXT_FIELDS_OF_0013 = ("instructions", "content")


@dataclass(frozen=True)
class ConfigSchema:
    """The fields of the snapshots of one kind."""

    edit: type[Shape]
    """The shape of an edit, where every field may be absent."""
    whole: type[Shape]
    problems: Callable[[Config], Iterable[Issue]] | None = None
    """Yields the problems of fields that depend on each other, in a configuration of the right shape."""

    @cached_property
    def names(self) -> list[str]:
        """The JSON names of the fields, in the order of declaration."""
        return [str(field.alias) for field in self.edit.model_fields.values()]

    @cached_property
    def _required_fields(self) -> frozenset[str]:
        return frozenset(
            str(field.alias) for field in self.whole.model_fields.values() if field.is_required()
        )

    @cached_property
    def _clearable(self) -> frozenset[str]:
        return frozenset(self.names) - self._required_fields

    def edit_config(self, current: Config, changes: Mapping[str, Any]) -> Config:
        """Return the configuration after an edit, as `edit_fields` does."""
        return self.edit_fields(current, changes)[0]

    def edit_fields(self, current: Config, changes: Mapping[str, Any]) -> tuple[Config, list[str]]:
        """Return the configuration after an edit, and the names of the fields that the edit changes.

        An absent field is unchanged, a null one is cleared. Raises `Invalid` with every problem of the
        changed fields. Fields saved before a rule existed do not prevent edits of other fields.
        """
        try:
            canonical.check(changes)
        except ValueError as error:
            raise Invalid.field("body", error.args[0]) from None
        config = self.merge(current, changes)
        unknown = config.keys() - self._required_fields - self._clearable
        changed = changed_fields((*self.names, *unknown), current, config)
        checked = self._required_fields.union(changed)
        raise_for_issues(self.whole, {name: value for name, value in config.items() if name in checked})
        schema = changes.get(SCHEMA_FIELD)
        schema_issue = None if schema is None else schema_problem(schema)
        issues = [] if schema_issue is None else [schema_issue]
        if self.problems is not None:
            issues += self.problems(config)
        if issues:
            raise Invalid(issues)
        return config, changed

    def read(self, value: Mapping[str, Any]) -> Config:
        """Return a configuration read from storage; raises `Invalid` if its shape is wrong."""
        config = self.merge({}, value)
        raise_for_issues(self.whole, config)
        return config

    def merge(self, current: Config, changes: Mapping[str, Any]) -> Config:
        """Return the configuration with the changes applied, without validating the result."""
        return merge_changes(current, changes, self._clearable)

    def list_changes(self, before: Config, after: Config) -> list[str]:
        return changed_fields(self.names, before, after)


def raise_for_issues(shape: type[BaseModel], value: Any) -> None:
    """Raise `Invalid` with the problems of `value`, each under the name that the caller used for the field.

    Problems beyond `MAX_ISSUES` are only counted.
    """
    try:
        shape.model_validate(value)
    except ValidationError as error:
        listed = error.errors(include_url=False)[:MAX_ISSUES]
        issues = _make_issues([_locate(problem, value) for problem in listed])
        raise Invalid(issues, more=error.error_count() - len(listed)) from None


def make_excerpt(config: Config, text_field: str | None = None) -> str:
    """Return the beginning of a configuration's text, in one line of at most `EXCERPT_LENGTH` characters.

    References to prompt blocks appear as their ids in square brackets. Only migration 0013 does not name the
    field with the text.
    """
    fields = _TEXT_FIELDS_OF_0013 if text_field is None else (text_field,)
    text: Any = next((config[name] for name in fields if name in config), "")
    blocks = text if isinstance(text, list) else [{"content": text}]
    line = ""
    for block in blocks:
        part = block["content"] if "content" in block else f"[{block.get('id', '')}]"
        # Most of a text can be white space, so enough is read to fill the line anyway.
        line = f"{line} {' '.join(part[: 8 * EXCERPT_LENGTH].split())}".strip()
        if len(line) >= EXCERPT_LENGTH:
            break
    return clip(line, EXCERPT_LENGTH).rstrip()


@dataclass(frozen=True)
class _Problem:
    """A problem of pydantic's, and its place in the caller's input."""

    error: ErrorDetails
    path: tuple[str, ...]
    branches: tuple[tuple[int, str], ...]
    """The branches of unions that pydantic tried: the length of `path` at the union, and pydantic's name."""


def _locate(error: ErrorDetails, value: Any) -> _Problem:
    # pydantic reports a problem of a key as the key followed by "[key]"; a caller's own key may look like
    # that.
    about_key = len(error["loc"]) > 1 and error["loc"][-1] == "[key]" and error["loc"][-2] == error["input"]
    parts = error["loc"][:-1] if about_key else error["loc"]

    dead_ends: set[tuple[int, int]] = set()

    def follow(index: int, value: Any) -> list[int] | None:
        """Return the indices of the parts that lead from `value` to the input of the error, if they do."""
        if index == len(parts):
            return [] if about_key or value is error["input"] else None
        if (index, id(value)) in dead_ends:
            return None
        part: Any = parts[index]
        is_last = index == len(parts) - 1
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and part in range(len(value))
        ):
            inner = value[part]
        elif isinstance(value, dict) and error["type"] == "missing" and is_last and value is error["input"]:
            return [index]
        else:
            return follow(index + 1, value)
        # The name of a branch can be the value of the discriminator, and the object have such a member.
        is_branch = isinstance(value, dict) and any(part == text for text in value.values())
        for enters in (False, True) if is_branch else (True, False):
            rest = follow(index + 1, inner if enters else value)
            if rest is not None:
                return [index, *rest] if enters else rest
        dead_ends.add((index, id(value)))
        return None

    own = follow(0, value)
    if own is None:
        own = [index for index, part in enumerate(parts) if not str(part).startswith("\0")]
    path: list[str] = []
    branches: list[tuple[int, str]] = []
    for index, part in enumerate(parts):
        if index in own:
            path.append(str(part))
        elif not str(part).startswith("\0"):
            branches.append((len(path), str(part)))
    if error["type"] == "block_type" and isinstance(error["input"], dict):
        path.append("type")
    return _Problem(error, tuple(path), tuple(branches))


def _make_issues(problems: Iterable[_Problem]) -> list[Issue]:
    """Return one issue for each field; of a union, those of the branch that the value is closest to."""
    issues: dict[str, Issue] = {}
    for union, group in groupby(problems, _union_of):
        for issue in map(_issue, group) if union is None else _union_issues(union, group):
            issues.setdefault(issue.field, issue)
    return list(issues.values())


def _union_of(problem: _Problem) -> tuple[str, ...] | None:
    return problem.path[: problem.branches[0][0]] if problem.branches else None


def _union_issues(union: tuple[str, ...], problems: Iterable[_Problem]) -> list[Issue]:
    by_branch: dict[str, list[_Problem]] = {}
    for problem in problems:
        inner = replace(problem, branches=problem.branches[1:])
        by_branch.setdefault(problem.branches[0][1], []).append(inner)
    # A branch of another type has one problem, which is the value itself.
    entered = [branch for branch in by_branch.values() if any(problem.path != union for problem in branch)]
    if entered:
        closest: list[_Problem] = min(entered, key=len)
        return _make_issues(closest)
    errors = {problem.error["type"]: problem for problem in chain(*by_branch.values())}
    if errors.keys() - _WRONG_TYPE:
        errors = {name: problem for name, problem in errors.items() if name not in _WRONG_TYPE}
    elif "float_type" in errors:
        errors.pop("int_type", None)
    first, *more = map(_issue, errors.values())
    message = first.message
    for other in more:
        message = Message("{problem}, or {other}", problem=message, other=other.message)
    return [Issue(first.field, message)]


def _issue(problem: _Problem) -> Issue:
    error = problem.error
    values = error.get("ctx", {})
    if "expected" in values:  # pydantic lists values as "'a', 'b' or 'c'", which is English
        values = {**values, "expected": values["expected"].replace("' or '", "', '")}
    is_long_text = error["type"] == "too_long" and isinstance(error["input"], str)
    message = _MESSAGES.get("string_too_long" if is_long_text else error["type"])
    own = values.get("reason", error["msg"])
    return Issue(
        ".".join(problem.path) or "body", own if message is None else Message(message.template, **values)
    )


# The parameters of the templates are pydantic's.
_MESSAGES = {
    "blank": Message("must not be blank"),
    "bool_type": Message("must be true or false"),
    "dict_type": Message("must be an object"),
    "greater_than": Message("must be greater than {gt}"),
    "greater_than_equal": Message("must be at least {ge}"),
    "int_type": Message("must be a whole number"),
    "less_than": Message("must be less than {lt}"),
    "less_than_equal": Message("must be at most {le}"),
    "literal_error": Message("must be one of: {expected}"),
    "float_type": Message("must be a number"),
    "extra_forbidden": Message("is not a field that can be set here"),
    "list_type": Message("must be a list"),
    "missing": Message("is required"),
    "model_attributes_type": Message("must be an object"),
    "model_type": Message("must be an object"),
    "string_pattern_mismatch": Message("does not match the pattern {pattern!r}"),
    "string_too_long": Message("must have at most {max_length} characters"),
    "string_too_short": Message("must not be empty"),
    "string_type": Message("must be text"),
    "too_long": Message("must have at most {max_length} entries"),
    "too_short": Message("must not be empty"),
    "union_tag_invalid": Message("{discriminator} must be one of: {expected_tags}"),
    "union_tag_not_found": Message("{discriminator} is required"),
}
_WRONG_TYPE = frozenset(name for name in _MESSAGES if name.endswith("_type")) | {"literal_error"}
