"""Validators of JSON Schema that stop at a deadline and reveal little of the values. Pure.

Every keyword checks the deadline first. Patterns take linear time or can be interrupted, and keywords that
would take quadratic time have their own implementation here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from operator import itemgetter
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.clipping import brief
from jsonschema import ValidationError
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY as METASCHEMAS
from referencing import Registry
from referencing.jsonschema import specification_with

from versioning.domain import patterns
from versioning.domain.errors import Message

MAX_UNEVALUATED: Final = 1000
"""The maximum number of members or items for `unevaluated…`, which takes quadratic time."""


class TooSlow(Exception):
    """The time for the check has run out."""


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
    left = _deadline.get() - time.thread_time()
    if left <= 0:
        raise TooSlow
    return left


def validator_of(dialect: Any, schema: Mapping[str, Any]) -> Any:
    """Return a validator of the dialect for the schema; it raises `TooSlow` within `time_for`."""
    return _bounded(dialect)(brief(_undeclared(schema)), registry=_metaschemas())


def _undeclared(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without `$schema`, which would make the library use its own, unlimited validator."""
    return {name: value for name, value in schema.items() if name != "$schema"}


@cache
def _metaschemas() -> Any:
    """Return the meta-schemas that come with the library, so that they are checked under the deadline too."""
    contents = {uri: METASCHEMAS.contents(uri) for uri in METASCHEMAS}
    return Registry().with_resources(
        (uri, specification_with(schema["$schema"]).create_resource(_undeclared(schema)))
        for uri, schema in contents.items()
    )


# Keywords that the library would match without a limit or in quadratic time, or for which it would not name
# the member that is wrong. Members are checked in order of their names, so that contexts that differ in the
# order of their members are the same.


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
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in sorted(instance.items(), key=itemgetter(0)):
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        yield from _member(validator, value, inner, name)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for name in names:
            if name not in instance:
                yield ValidationError(Message("is required"), path=[name])


def _unique_items(validator: Any, is_wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if is_wanted and validator.is_type(instance, "array"):
        found: set[str] = set()
        for index, item in enumerate(instance):
            time_left()
            text = canonical.comparable(item)
            if text in found:
                yield ValidationError(Message("is already in the list"), path=[index])
                return
            found.add(text)


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
def _bounded(dialect: Any) -> Any:
    """Return a validator of the dialect that checks the deadline at every keyword."""
    keywords = {**dialect.VALIDATORS, **_OWN}
    for name in ("unevaluatedItems", "unevaluatedProperties"):
        if name in keywords:
            keywords[name] = _few(keywords[name])
    timed = {name: _timed(check) for name, check in keywords.items()}
    return extend(dialect, timed)  # type: ignore[no-untyped-call]


def _timed(check: Callable[..., Any]) -> Callable[..., Any]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        time_left()
        yield from check(validator, value, instance, schema) or ()

    return timed
