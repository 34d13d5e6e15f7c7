"""Check `requestContextSchema`, and check request contexts against it. Pure.

Members write the schemas and applications send the contexts; neither may keep a thread busy. So nothing is
fetched: references must stay inside the schema. Schemas and patterns have a maximum size, and patterns that
take more than linear time cannot be saved. Every keyword checks a deadline; exceeding it is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
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
from referencing.exceptions import Unresolvable

from versioning.domain import patterns
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.bounded_validation import TooSlow, time_for, time_left, validator_of
from versioning.domain.errors import Issue, Message
from versioning.domain.subschemas import subschemas
from versioning.domain.texts import clipped

MAX_SCHEMA: Final = 256 * 1024
"""The maximum size of a schema, in bytes of its canonical text."""
MAX_PATTERN: Final = 1000
"""The maximum length of a pattern, in characters."""
MAX_ISSUES: Final = 20
SECONDS: Final = 1.0
"""The processor time that all checks of one request may take together."""
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
    known = _problems.get(key)
    if known is None:
        known = (_find_problem(json.loads(text), is_stored=is_stored),)
        _problems.put(key, known, _PROBLEM_BYTES)
    return known[0]


def _find_problem(schema: dict[str, Any], *, is_stored: bool) -> Issue | None:
    dialect = _dialect_of(schema)
    if dialect is None:
        return Issue(f"{SCHEMA_FIELD}.$schema", "must name one of the drafts 4 to 2020-12 of JSON Schema")
    try:
        error = next(validator_of(dialect, dialect.META_SCHEMA).iter_errors(brief(schema)), None)
        if error is not None:
            return Issue(_path(SCHEMA_FIELD, error), _message(error))
        return _unsafe(schema, validator_of(dialect, schema), is_stored=is_stored)
    except TooSlow:
        raise
    except RecursionError:
        return Issue(SCHEMA_FIELD, "is too complicated")
    except Exception as exception:  # noqa: BLE001  of a library, about what callers send
        return Issue(
            SCHEMA_FIELD,
            Message("is not a JSON Schema that can be used: {reason}", reason=type(exception).__name__),
        )


def _dialect_of(schema: Mapping[str, Any]) -> Any:
    name = schema.get("$schema", Draft202012Validator.META_SCHEMA["$schema"])
    return _DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None


def _validator(text: str) -> Any:
    validator = _validators.get(text)
    if validator is None:
        schema = json.loads(text)
        validator = validator_of(_dialect_of(schema), schema)
        _validators.put(text, validator, _WEIGHT_OF_A_BYTE * len(text))
    return validator


def _unsafe(schema: Mapping[str, Any], validator: Any, *, is_stored: bool) -> Issue | None:
    """Return a part that refers to another document or may take too long, or None.

    What a reference leads to is a schema, wherever it stands.
    """
    pending: list[tuple[Mapping[str, Any], str]] = [(schema, SCHEMA_FIELD)]
    seen: set[int] = set()
    keywords: set[str] = set()
    while pending:
        part, place = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
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
        return Issue(SCHEMA_FIELD, "must not hold both unevaluatedProperties and patternProperties")
    return None


def _unsafe_member(name: str, value: Any, *, is_root: bool, is_stored: bool) -> str | None:
    if name == "$schema" and isinstance(value, str) and not is_root:
        return Message("is allowed only at the top level")
    found = [value] if name == "pattern" and isinstance(value, str) else []
    if name == "patternProperties" and isinstance(value, dict):
        found = list(value)
    for pattern in found:
        time_left()
        if len(pattern) > MAX_PATTERN:
            return Message("must not be longer than {limit} characters", limit=MAX_PATTERN)
        try:
            (patterns.refuse_unusable if is_stored else patterns.compile_pattern)(pattern)
        except patterns.PatternRefused as error:
            return cast("Message", error.args[0])
    return None


def _target(reference: str, validator: Any) -> tuple[Any, str | None]:
    """Return what a reference leads to, or why it leads nowhere."""
    if not reference.startswith("#"):
        return None, Message("must refer to something inside this schema")
    try:
        # The library has no other way to ask.
        return validator._resolver.lookup(reference).contents, None  # noqa: SLF001
    except Unresolvable:
        return None, Message("refers to nothing in this schema")


def _message(error: ValidationError) -> str:
    message: str = error.message
    return clipped(message, _LONGEST_MESSAGE)


def _path(start: str, error: ValidationError) -> str:
    return ".".join([start, *map(str, error.absolute_path)])
