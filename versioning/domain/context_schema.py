"""Check `requestContextSchema`, and check request contexts against it. Pure.

Members write the schemas and applications send the contexts; neither may keep a thread busy. So nothing is
fetched: references have to stay inside the schema. Schemas and patterns have a maximum size, and patterns
are matched by a library that can be interrupted. There is a deadline, checked at every keyword; whatever
exceeds it is refused.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final

import regex
from editor_client.shared import canonical
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

from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import Issue

MAX_SCHEMA: Final = 256 * 1024
"""The maximum size of a schema, in bytes of its canonical text."""
MAX_PATTERN: Final = 1000
"""The maximum length of a pattern, in characters."""
MAX_UNEVALUATED: Final = 1000
"""The maximum number of members or items for `unevaluated…`, which takes quadratic time."""
MAX_ISSUES: Final = 20
SECONDS: Final = 1.0
"""The processor time that all checks of one request may take together."""
SCHEMA_FIELD: Final = "requestContextSchema"
CONTEXT_FIELD: Final = "requestContext"

_DIALECTS: Final[Mapping[str, Any]] = {
    dialect.ID_OF(dialect.META_SCHEMA).rstrip("#"): dialect
    for dialect in (
        Draft4Validator,
        Draft6Validator,
        Draft7Validator,
        Draft201909Validator,
        Draft202012Validator,
    )
}
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_SHOWN: Final = 60  # characters of a value that a message shows
_LONGEST_MESSAGE: Final = 300
_VERSIONS: Final = "versions"
_PROBLEMS_CACHE_BYTES: Final = 2 * 1024 * 1024
_PROBLEM_BYTES: Final = 512  # bytes per entry
_VALIDATORS_CACHE_BYTES: Final = 16 * 1024 * 1024
_WEIGHT_OF_A_BYTE: Final = 20  # the size of the parsed objects, relative to the JSON text


class UnusableSchema(ValueError):
    """A stored schema that cannot be used, saved before schemas were checked."""


class _TooSlow(Exception):
    """The time for the check is over."""


def schema_problem(schema: Any) -> Issue | None:
    """Return why the schema cannot be saved, or None if it can."""
    try:
        with _time_for(SECONDS / 2):
            return _problem(canonical.dump(schema))
    except _TooSlow:
        return Issue(SCHEMA_FIELD, "is too complicated")


def refusals(
    schema: Mapping[str, Any], context: Mapping[str, Any], *, seconds_spent: float = 0
) -> list[Issue]:
    """Return why a schema refuses a context, each reason with the member's name; empty if it does not.

    The member `versions` of a context holds selectors, which a schema need not declare. `seconds_spent` is
    what other schemas of the same request have used of `SECONDS`. Raises `UnusableSchema`.
    """
    text = canonical.dump(schema)
    try:
        with _time_for(SECONDS - seconds_spent):
            _refuse_unusable(text)
            knows_versions = _VERSIONS in (schema.get("properties") or {})
            values = {name: value for name, value in context.items() if knows_versions or name != _VERSIONS}
            errors = list(islice(_validator(text).iter_errors(_brief(values)), MAX_ISSUES))
    except (_TooSlow, RecursionError):
        return [Issue(CONTEXT_FIELD, f"cannot be checked within {SECONDS:g} s of processor time")]
    except UnusableSchema:
        raise
    except Exception as exception:  # noqa: BLE001  of a library, over whatever anybody may send
        return [Issue(CONTEXT_FIELD, f"cannot be checked: {type(exception).__name__}")]
    return [Issue(_path(CONTEXT_FIELD, error), error.message[:_LONGEST_MESSAGE]) for error in errors]


_deadline: ContextVar[float] = ContextVar("deadline")
# Results of checking schemas, by the digest of their text: a check takes longer than using the schema.
_problems: BoundedCache[str, tuple[Issue | None]] = BoundedCache(_PROBLEMS_CACHE_BYTES)
_validators: BoundedCache[str, Any] = BoundedCache(_VALIDATORS_CACHE_BYTES)


@contextmanager
def _time_for(seconds: float) -> Iterator[None]:
    began = _deadline.set(time.thread_time() + seconds)
    try:
        yield
    finally:
        _deadline.reset(began)


def _time_left() -> float:
    """Return the seconds that are left; raises `_TooSlow` if there are none."""
    left = _deadline.get() - time.thread_time()
    if left <= 0:
        raise _TooSlow
    return left


def _problem(text: str) -> Issue | None:
    """Return what is wrong with the schema that has this text; raises `_TooSlow`."""
    if len(text.encode()) > MAX_SCHEMA:
        return Issue(SCHEMA_FIELD, f"must not be larger than {MAX_SCHEMA // 1024} KiB")
    digest = hashlib.sha256(text.encode()).hexdigest()
    known = _problems.get(digest)
    if known is None:
        known = (_find_problem(json.loads(text)),)
        _problems.put(digest, known, _PROBLEM_BYTES)
    return known[0]


def _find_problem(schema: dict[str, Any]) -> Issue | None:
    dialect = _dialect_of(schema)
    if dialect is None:
        return Issue(f"{SCHEMA_FIELD}.$schema", "must name one of the drafts 4 to 2020-12 of JSON Schema")
    try:
        error = next(_checking(dialect, dialect.META_SCHEMA).iter_errors(_brief(schema)), None)
        if error is not None:
            return Issue(_path(SCHEMA_FIELD, error), error.message[:_LONGEST_MESSAGE])
        return _unsafe(schema, _checking(dialect, schema))
    except _TooSlow:
        raise
    except RecursionError:
        return Issue(SCHEMA_FIELD, "is too complicated")
    except Exception as exception:  # noqa: BLE001  of a library, over whatever anybody may send
        return Issue(SCHEMA_FIELD, f"is not a JSON Schema that can be used: {type(exception).__name__}")


def _refuse_unusable(text: str) -> None:
    problem = _problem(text)
    if problem is not None:
        raise UnusableSchema(f"{problem.field} {problem.message}")


def _dialect_of(schema: Mapping[str, Any]) -> Any:
    name = schema.get("$schema", Draft202012Validator.META_SCHEMA["$schema"])
    return _DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None


def _validator(text: str) -> Any:
    validator = _validators.get(text)
    if validator is None:
        schema = json.loads(text)
        validator = _checking(_dialect_of(schema), schema)
        _validators.put(text, validator, _WEIGHT_OF_A_BYTE * len(text))
    return validator


def _checking(dialect: Any, schema: Mapping[str, Any]) -> Any:
    return _bounded(dialect)(_brief(_undeclared(schema)), registry=_metaschemas())


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


def _unsafe(schema: Any, validator: Any) -> Issue | None:
    """Return what refers to another document or cannot be interrupted; None if nothing does."""
    pending: list[tuple[Any, str]] = [(schema, SCHEMA_FIELD)]
    keywords: set[str] = set()
    while pending:
        part, place = pending.pop()
        if isinstance(part, list):
            pending.extend((item, f"{place}.{index}") for index, item in enumerate(part))
            continue
        if not isinstance(part, dict):
            continue
        keywords.update(part)
        for name, value in part.items():
            reason = _unsafe_member(name, value, validator, is_root=part is schema)
            if reason is not None:
                return Issue(f"{place}.{name}", reason)
            pending.append((value, f"{place}.{name}"))
    if {"unevaluatedProperties", "patternProperties"} <= keywords:
        return Issue(SCHEMA_FIELD, "must not hold both unevaluatedProperties and patternProperties")
    return None


def _unsafe_member(name: str, value: Any, validator: Any, *, is_root: bool) -> str | None:
    if name == "$schema" and isinstance(value, str) and not is_root:
        return "may stand at the top only"
    if name in _REFERENCES and isinstance(value, str):
        return _reference_problem(value, validator)
    patterns = [value] if name == "pattern" and isinstance(value, str) else []
    if name == "patternProperties" and isinstance(value, dict):
        patterns = list(value)
    return next(filter(None, map(_pattern_problem, patterns)), None)


def _reference_problem(reference: str, validator: Any) -> str | None:
    if not reference.startswith("#"):
        return "must refer to something inside of this schema"
    try:
        validator._resolver.lookup(reference)  # noqa: SLF001  the library has no other way to ask
    except Unresolvable:
        return "refers to nothing in this schema"
    return None


def _pattern_problem(pattern: str) -> str | None:
    if len(pattern) > MAX_PATTERN:
        return f"must not be longer than {MAX_PATTERN} characters"
    try:
        _expression(pattern)
    except regex.error as error:
        return f"is not a regular expression: {error}"
    return None


# Keywords that the library would match without a limit or in quadratic time, or for which it would not name
# the member that is wrong.


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> Any:
    return regex.compile(pattern)


def _matches(pattern: str, text: str) -> bool:
    try:
        return _expression(pattern).search(text, timeout=_time_left(), concurrent=True) is not None
    except TimeoutError:
        raise _TooSlow from None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(f"does not match the pattern {pattern!r}")


def _pattern_properties(validator: Any, by_pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for pattern, inner in by_pattern.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if inner is False:
            yield ValidationError("is not expected", path=[name])
        else:
            yield from validator.descend(value, inner, path=name)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for name in names:
            if name not in instance:
                yield ValidationError("is required", path=[name])


def _unique_items(validator: Any, is_wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if is_wanted and validator.is_type(instance, "array"):
        found: set[str] = set()
        for index, item in enumerate(instance):
            _time_left()
            text = canonical.comparable(item)
            if text in found:
                yield ValidationError("is in the list already", path=[index])
                return
            found.add(text)


def _few(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return the keyword limited to objects and lists with few entries."""

    def check_few(validator: Any, inner: Any, instance: Any, schema: Any) -> Any:
        if isinstance(instance, dict | list) and len(instance) > MAX_UNEVALUATED:
            raise _TooSlow
        return check(validator, inner, instance, schema)

    return check_few


_OWN: Final[Mapping[str, Callable[..., Any]]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
    "uniqueItems": _unique_items,
}


@cache
def _bounded(dialect: Any) -> Any:
    """Return a validator of the dialect that checks the deadline at every keyword."""
    keywords = {**dialect.VALIDATORS, **_OWN}
    for name in ("unevaluatedItems", "unevaluatedProperties"):
        if name in keywords:
            keywords[name] = _few(keywords[name])
    return extend(dialect, {name: _timed(check) for name, check in keywords.items()})


def _timed(check: Callable[..., Any]) -> Callable[..., Any]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _time_left()
        yield from check(validator, value, instance, schema) or ()

    return timed


# The library's messages show the whole wrong value, and thousands of them can be in memory at once; so a
# value shows only its beginning.


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= _SHOWN else f"{self[:_SHOWN]!r}…"


class _List(list[Any]):
    def __repr__(self) -> str:
        return f"a list of {len(self)}"


class _Object(dict[str, Any]):
    def __repr__(self) -> str:
        return f"an object of {len(self)}"


def _brief(value: Any) -> Any:
    """Return an equal value whose text form is short; anything that is not JSON is returned unchanged."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, Mapping):
        return _Object((_brief(name), _brief(member)) for name, member in value.items())
    if isinstance(value, list | tuple):
        return _List(map(_brief, value))
    return value


def _path(start: str, error: ValidationError) -> str:
    return ".".join([start, *map(str, error.absolute_path)])
