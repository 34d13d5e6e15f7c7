"""Check `requestContextSchema`, and check request contexts against it. Pure.

Members write the schemas and applications send the contexts; neither may keep a thread busy. So nothing is
fetched: references must stay inside the schema. Schemas and patterns have a maximum size, and patterns that
take more than linear time cannot be saved. Every keyword checks a deadline; exceeding it is refused.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any, Final, cast

from editor_client.shared import canonical
from editor_client.shared.clipping import brief
from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    ValidationError,
)
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY as METASCHEMAS
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from versioning.domain import patterns
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import Issue, Message
from versioning.domain.texts import clip

_ONE: Final = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTED: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED: Final = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
"""`dependencies` also holds lists of names, which are no schemas."""


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects that are schemas directly within a schema, each with its place: `properties.a`."""
    for keyword, value in schema.items():
        if keyword in _ONE and isinstance(value, Mapping):
            yield keyword, value
        elif keyword in _LISTED and isinstance(value, list):
            indexed = ((f"{keyword}.{index}", part) for index, part in enumerate(value))
            yield from ((place, part) for place, part in indexed if isinstance(part, Mapping))
        elif keyword in _NAMED and isinstance(value, Mapping):
            members = ((f"{keyword}.{name}", part) for name, part in value.items())
            yield from ((place, part) for place, part in members if isinstance(part, Mapping))


MAX_UNEVALUATED: Final = 1000
"""The maximum number of members or items for `unevaluated…`, which takes quadratic time."""


class TooSlow(Exception):
    """The check has run out of time."""


_deadline: ContextVar[float] = ContextVar("deadline")


@contextmanager
def time_for(seconds: float) -> Iterator[None]:
    """Set the deadline for this block, in seconds of processor time."""
    began = _deadline.set(time.thread_time() + seconds)
    try:
        yield
    finally:
        _deadline.reset(began)


def time_left() -> float:
    """Return the remaining seconds; raises `TooSlow` if there are none."""
    seconds = _deadline.get() - time.thread_time()
    if seconds <= 0:
        raise TooSlow
    return seconds


def make_validator(dialect: Any, schema: Mapping[str, Any]) -> Any:
    """Return a validator of the dialect for the schema; it raises `TooSlow` within `time_for`."""
    return _make_bounded_class(dialect)(brief(_without_dialect(schema)), registry=_metaschemas())


def _without_dialect(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without `$schema`, which would make the library use its own, unlimited validator."""
    return {name: value for name, value in schema.items() if name != "$schema"}


@cache
def _metaschemas() -> Any:
    """Return the meta-schemas that come with the library, so that they are checked under the deadline too."""
    contents = {uri: METASCHEMAS.contents(uri) for uri in METASCHEMAS}
    return Registry().with_resources(
        (uri, specification_with(schema["$schema"]).create_resource(_without_dialect(schema)))
        for uri, schema in contents.items()
    )


# Keywords that the library would match without a limit or in quadratic time, or without naming the wrong
# member. Members are checked in order of their names, so that contexts that differ in the order of their
# members are the same.


def matches_within(seconds: float, pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches; None if that takes longer, or if it cannot be used."""
    try:
        return patterns.matches(pattern, text, seconds)
    except (patterns.TooLong, patterns.PatternRefused):
        return None


def _matches(pattern: str, text: str) -> bool:
    try:
        return patterns.matches(pattern, text, time_left())
    except patterns.TooLong:
        raise TooSlow from None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(Message("does not match the pattern {pattern!r}", pattern=pattern))


def _member(validator: Any, value: Any, schema: Any, name: str) -> Iterator[ValidationError]:
    """Check a member of an object; jsonschema does not name the member that a schema `false` refuses."""
    if schema is False:
        yield ValidationError(Message("is not expected"), path=[name])
    else:
        yield from validator.descend(value, schema, path=name)


def _properties(validator: Any, by_name: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for name, inner in by_name.items():
            if name in instance:
                yield from _member(validator, instance[name], inner, name)


def _pattern_properties(validator: Any, by_pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for pattern, inner in by_pattern.items():
            for name, value in sorted(instance.items(), key=itemgetter(0)):
                if _matches(pattern, name):
                    yield from _member(validator, value, inner, name)


def _additional_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in sorted(instance.items(), key=itemgetter(0)):
        if name in properties or any(_matches(pattern, name) for pattern in patterns):
            continue
        yield from _member(validator, value, inner, name)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for name in names:
            if name not in instance:
                yield ValidationError(Message("is required"), path=[name])


def _unique_items(validator: Any, is_wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if is_wanted and validator.is_type(instance, "array"):
        item_texts: set[str] = set()
        for index, item in enumerate(instance):
            time_left()
            text = canonical.comparable(item)
            if text in item_texts:
                yield ValidationError(Message("is already in the list"), path=[index])
                return
            item_texts.add(text)


def _multiple_of(validator: Any, divisor: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Divide numbers as they are written: as binary floats, 19.99 is no multiple of 0.01."""
    if not validator.is_type(instance, "number"):
        return
    if (Fraction(str(instance)) / Fraction(str(divisor))).denominator != 1:
        yield ValidationError(Message("is not a multiple of {number}", number=divisor))


def _few(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return the keyword limited to objects and lists with few entries."""

    def check_few(validator: Any, inner: Any, instance: Any, schema: Any) -> Any:
        if isinstance(instance, dict | list) and len(instance) > MAX_UNEVALUATED:
            raise TooSlow
        return check(validator, inner, instance, schema)

    return check_few


_OWN: Final[Mapping[str, Callable[..., Any]]] = {
    "pattern": _pattern,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
}


@cache
def _make_bounded_class(dialect: Any) -> Any:
    """Return a validator of the dialect that checks the deadline at every keyword."""
    keywords = {**dialect.VALIDATORS, **_OWN}
    for name in ("unevaluatedItems", "unevaluatedProperties"):
        if name in keywords:
            keywords[name] = _few(keywords[name])
    timed = {name: _with_deadline(check) for name, check in keywords.items()}
    return extend(dialect, timed)  # type: ignore[no-untyped-call]


def _with_deadline(check: Callable[..., Any]) -> Callable[..., Any]:
    def check_in_time(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        time_left()
        yield from check(validator, value, instance, schema) or ()

    return check_in_time


MAX_SCHEMA: Final = 256 * 1024
"""The maximum size of a schema, in bytes of its canonical text."""
MAX_PATTERN: Final = 1000
"""The maximum length of a pattern, in characters."""
MAX_ISSUES: Final = 20
SECONDS: Final = 1.0
"""The limit of processor time for all checks of one request."""
SCHEMA_FIELD: Final = "requestContextSchema"
CONTEXT_FIELD: Final = "requestContext"
_DIALECTS: Final[Mapping[str, Any]] = {
    dialect.META_SCHEMA["$schema"].rstrip("#"): dialect
    for dialect in (
        Draft4Validator,
        Draft6Validator,
        Draft7Validator,
        Draft201909Validator,
        Draft202012Validator,
    )
}
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_LONGEST_MESSAGE: Final = 300
_VERSIONS: Final = "versions"
_PROBLEMS_CACHE_BYTES: Final = 2 * 1024 * 1024
_PROBLEM_BYTES: Final = 512  # bytes per entry
_VALIDATORS_CACHE_BYTES: Final = 16 * 1024 * 1024
_WEIGHT_OF_A_BYTE: Final = 20  # the size of the parsed objects, relative to the JSON text


class UnusableSchema(ValueError):
    """A stored schema that cannot be used, saved before schemas were checked."""


def schema_problem(schema: Any, *, field: str = SCHEMA_FIELD) -> Issue | None:
    """Return why the schema cannot be saved, or None if it can; `field` is the caller's name for it."""
    try:
        with time_for(SECONDS / 2):
            problem = _problem(canonical.dump(schema), is_stored=False)
    except TooSlow:
        return Issue(field, "is too complicated")
    return None if problem is None else replace(problem, field=field + problem.field[len(SCHEMA_FIELD) :])


def refusals(
    schema: Mapping[str, Any], context: Mapping[str, Any], *, seconds_spent: float = 0
) -> list[Issue]:
    """Return why a schema refuses a context, each reason with the member's name; empty if it does not.

    The member `versions` of a context holds selectors, which a schema need not declare. `seconds_spent` is
    the part of `SECONDS` that other schemas of the same request have used. Raises `UnusableSchema`.
    """
    knows_versions = _VERSIONS in (schema.get("properties") or {})
    values = {name: value for name, value in context.items() if knows_versions or name != _VERSIONS}
    return value_refusals(schema, values, field=CONTEXT_FIELD, seconds=SECONDS - seconds_spent)


def value_refusals(
    schema: Mapping[str, Any], value: Any, *, field: str, seconds: float = SECONDS
) -> list[Issue]:
    """Return why a schema refuses a value, each reason with the place in it, below `field`.

    Raises `UnusableSchema`.
    """
    text = canonical.dump(schema)
    try:
        with time_for(seconds):
            problem = _problem(text, is_stored=True)
            if problem is not None:
                raise UnusableSchema(
                    Message("{field} {problem}", field=problem.field, problem=problem.message)
                )
            errors = list(islice(_validator(text).iter_errors(brief(value)), MAX_ISSUES))
    except (TooSlow, RecursionError):
        slow = Message("cannot be checked within {seconds:g} s of processor time", seconds=SECONDS)
        return [Issue(field, slow)]
    except UnusableSchema:
        raise
    except Exception as exception:  # noqa: BLE001  of a library, about what callers send
        return [Issue(field, Message("cannot be checked: {reason}", reason=type(exception).__name__))]
    return [Issue(_path(field, error), _message(error)) for error in errors]


# Results of checking schemas, by the digest of their text and `is_stored`: a check takes longer than using
# the schema.
_problems: BoundedCache[tuple[str, bool], tuple[Issue | None]] = BoundedCache(_PROBLEMS_CACHE_BYTES)
_validators: BoundedCache[str, Any] = BoundedCache(_VALIDATORS_CACHE_BYTES)


def _problem(text: str, *, is_stored: bool) -> Issue | None:
    """Return the problem of the schema with this text, or None; raises `TooSlow`.

    Patterns of a stored schema may take more than linear time.
    """
    if len(text.encode()) > MAX_SCHEMA:
        return Issue(SCHEMA_FIELD, Message("must not be larger than {limit} KiB", limit=MAX_SCHEMA // 1024))
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = digest, is_stored
    cached = _problems.get(key)
    if cached is None:
        cached = (_find_problem(json.loads(text), is_stored=is_stored),)
        _problems.put(key, cached, _PROBLEM_BYTES)
    return cached[0]


def _find_problem(schema: dict[str, Any], *, is_stored: bool) -> Issue | None:
    dialect = _find_dialect(schema)
    if dialect is None:
        return Issue(f"{SCHEMA_FIELD}.$schema", "must name one of the drafts 4 to 2020-12 of JSON Schema")
    try:
        error = next(make_validator(dialect, dialect.META_SCHEMA).iter_errors(brief(schema)), None)
        if error is not None:
            return Issue(_path(SCHEMA_FIELD, error), _message(error))
        return _unsafe(schema, make_validator(dialect, schema), is_stored=is_stored)
    except TooSlow:
        raise
    except RecursionError:
        return Issue(SCHEMA_FIELD, "is too complicated")
    except Exception as exception:  # noqa: BLE001  of a library, about what callers send
        return Issue(
            SCHEMA_FIELD,
            Message("is not a JSON Schema that can be used: {reason}", reason=type(exception).__name__),
        )


def _find_dialect(schema: Mapping[str, Any]) -> Any:
    name = schema.get("$schema", Draft202012Validator.META_SCHEMA["$schema"])
    return _DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None


def _validator(text: str) -> Any:
    validator = _validators.get(text)
    if validator is None:
        schema = json.loads(text)
        validator = make_validator(_find_dialect(schema), schema)
        _validators.put(text, validator, _WEIGHT_OF_A_BYTE * len(text))
    return validator


def _unsafe(schema: Mapping[str, Any], validator: Any, *, is_stored: bool) -> Issue | None:
    """Return a part that refers to another document or may take too long, or None.

    The target of a reference is checked as a schema, wherever it is in the document.
    """
    pending: list[tuple[Mapping[str, Any], str]] = [(schema, SCHEMA_FIELD)]
    visited: set[int] = set()
    keywords: set[str] = set()
    while pending:
        part, place = pending.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        keywords.update(part)
        for name, value in part.items():
            reason = _unsafe_member(name, value, is_root=part is schema, is_stored=is_stored)
            if name in _REFERENCES and isinstance(value, str):
                target, reason = _target(value, validator)
                pending += [(target, f"{place}.{name}")] if isinstance(target, Mapping) else []
            if reason is not None:
                return Issue(f"{place}.{name}", reason)
        pending += [(inner, f"{place}.{where}") for where, inner in subschemas(part)]
    if {"unevaluatedProperties", "patternProperties"} <= keywords:
        return Issue(SCHEMA_FIELD, "must not contain both unevaluatedProperties and patternProperties")
    return None


def _unsafe_member(name: str, value: Any, *, is_root: bool, is_stored: bool) -> str | None:
    if name == "$schema" and isinstance(value, str) and not is_root:
        return Message("is allowed only at the top level")
    expressions = [value] if name == "pattern" and isinstance(value, str) else []
    if name == "patternProperties" and isinstance(value, dict):
        expressions = list(value)
    for pattern in expressions:
        time_left()
        if len(pattern) > MAX_PATTERN:
            return Message("must not be longer than {limit} characters", limit=MAX_PATTERN)
        try:
            (patterns.refuse_unusable if is_stored else patterns.compile_pattern)(pattern)
        except patterns.PatternRefused as error:
            return cast("Message", error.args[0])
    return None


def _target(reference: str, validator: Any) -> tuple[Any, str | None]:
    """Return the target of a reference, or why it has none."""
    if not reference.startswith("#"):
        return None, Message("must refer to something inside this schema")
    try:
        # The library has no public function for this.
        return validator._resolver.lookup(reference).contents, None  # noqa: SLF001
    except Unresolvable:
        return None, Message("refers to nothing in this schema")


def _message(error: ValidationError) -> str:
    message: str = error.message
    return clip(message, _LONGEST_MESSAGE)


def _path(start: str, error: ValidationError) -> str:
    return ".".join([start, *map(str, error.absolute_path)])
