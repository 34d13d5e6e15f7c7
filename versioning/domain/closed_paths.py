"""Paths that a `requestContextSchema` closes off: no context that it accepts has a value there. Pure.

Only certain cases count: an unknown keyword closes nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from versioning.domain.context_schema import matches_within, subschemas

MAX_STEPS: Final = 100_000
"""How many schemas are examined for one configuration; remaining paths count as open."""
_SECONDS: Final = 0.1
"""How long all patterns together may take."""
_INDEX: Final = re.compile("[0-9]{1,9}")
"""A position in an array of a JSON pointer: digits of other scripts, and superscripts, are names."""
_MAX_DEPTH: Final = 50
_EARLY_DRAFTS: Final = ("draft-04", "draft-06", "draft-07")
"""The drafts in which a schema with `$ref` is that reference alone, and which know no `unevaluated…`."""
_VERSIONS: Final = "versions"


class _OutOfSteps(Exception):
    """The schema and the paths are too many."""


def closed_paths(schema: Mapping[str, Any], paths: Iterable[str]) -> Iterator[str]:
    """Yield those of the dotted paths that the schema closes off.

    A context may hold the selectors of `versions`, which a schema need not declare.
    """
    search = _Search(schema)
    declares_versions = _VERSIONS in (schema.get("properties") or {})
    try:
        for path in paths:
            segments = tuple(path.split("."))
            if (segments[0] != _VERSIONS or declares_versions) and search.closes(schema, segments):
                yield path
    except (_OutOfSteps, RecursionError):
        return


class _Search:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        dialect = str(root.get("$schema", ""))
        self._is_early = any(name in dialect for name in _EARLY_DRAFTS)
        self._knows_const = "draft-04" not in dialect
        self._steps = MAX_STEPS
        self._seconds = _SECONDS
        self._results: dict[tuple[int, tuple[str, ...]], bool] = {}

    def closes(self, schema: Any, segments: tuple[str, ...]) -> bool:
        """Return whether no value that the schema accepts has a value at the path; nothing is below `[]`."""
        if isinstance(schema, bool):
            return not schema
        if not isinstance(schema, Mapping):
            return False
        key = (id(schema), segments)
        if key not in self._results:
            self._steps -= 1
            if self._steps < 0:
                raise _OutOfSteps
            self._results[key] = False  # a schema that refers to itself closes nothing by that
            self._results[key] = self._any_keyword_closes(schema, segments)
        return self._results[key]

    def _any_keyword_closes(self, schema: Mapping[str, Any], segments: tuple[str, ...]) -> bool:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if self.closes(self._target(reference), segments):
                return True
            if self._is_early:
                return False
        return (
            any(self.closes(part, segments) for part in _list(schema, "allOf"))
            or self._all_close(schema, "anyOf", segments)
            or self._all_close(schema, "oneOf", segments)
            or self._values_close(schema, segments)
            or (bool(segments) and self._object_closes(schema, segments))
        )

    def _all_close(self, schema: Mapping[str, Any], keyword: str, segments: tuple[str, ...]) -> bool:
        parts = _list(schema, keyword)
        return bool(parts) and all(self.closes(part, segments) for part in parts)

    def _object_closes(self, schema: Mapping[str, Any], segments: tuple[str, ...]) -> bool:
        """Return whether the member is impossible, or its schema closes the rest of the path."""
        types = schema.get("type")
        if isinstance(types, str | list) and "object" not in ([types] if isinstance(types, str) else types):
            return True
        name, rest = segments[0], segments[1:]
        about = list(self._about(schema, name))
        is_unevaluated = not about and not self._is_early and "unevaluatedProperties" in schema
        if is_unevaluated and not self._may_evaluate(schema, name):
            about = [schema["unevaluatedProperties"]]
        return any(self.closes(inner, rest) for inner in about)

    def _about(self, schema: Mapping[str, Any], name: str) -> Iterator[Any]:
        """Yield the schemas that certainly apply to a member of this name."""
        properties = _object(schema, "properties")
        patterns = _object(schema, "patternProperties")
        matches = {pattern: self._matches(pattern, name) for pattern in patterns}
        if name in properties:
            yield properties[name]
        for pattern, is_match in matches.items():
            if is_match:
                yield patterns[pattern]
        is_additional = name not in properties and all(match is False for match in matches.values())
        if is_additional and "additionalProperties" in schema:
            yield schema["additionalProperties"]

    def _may_evaluate(self, schema: Any, name: str, depth: int = 0) -> bool:
        """Return whether a part of the schema may know the member, so that it is not unevaluated."""
        self._steps -= 1
        if self._steps < 0 or depth > _MAX_DEPTH:
            raise _OutOfSteps
        if not isinstance(schema, Mapping):
            return False
        patterns = _object(schema, "patternProperties")
        if (
            name in _object(schema, "properties")
            or any(self._matches(pattern, name) is not False for pattern in patterns)
            or (depth and {"additionalProperties", "unevaluatedProperties"} & schema.keys())
            or {"$dynamicRef", "$recursiveRef"} & schema.keys()
        ):
            return True
        parts = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
        parts += [part for keyword in ("allOf", "anyOf", "oneOf") for part in _list(schema, keyword)]
        parts += _object(schema, "dependentSchemas").values()
        if isinstance(reference := schema.get("$ref"), str):
            parts.append(self._target(reference))
        return any(self._may_evaluate(part, name, depth + 1) for part in parts)

    def _matches(self, pattern: str, name: str) -> bool | None:
        began = time.thread_time()
        is_match = matches_within(self._seconds, pattern, name)
        self._seconds -= time.thread_time() - began
        if self._seconds <= 0:
            raise _OutOfSteps
        return is_match

    def _target(self, reference: str) -> Any:
        """Return the schema at a JSON pointer within this schema; True, which closes nothing, for others."""
        # With other addresses, a reference may begin at another schema than the root.
        return True if self._has_own_ids else self._at(reference)

    def _at(self, reference: Any) -> Any:
        if not isinstance(reference, str):
            return True
        if reference != "#" and (not reference.startswith("#/") or "%" in reference):
            return True
        target: Any = self._root
        for token in reference[1:].split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and name in target:
                target = target[name]
            elif isinstance(target, list) and _INDEX.fullmatch(name) and int(name) < len(target):
                target = target[int(name)]
            else:
                return True
        return target

    def _values_close(self, schema: Mapping[str, Any], segments: tuple[str, ...]) -> bool:
        """Return whether the only values that `const` or `enum` allow have nothing at the path."""
        is_const = self._knows_const and "const" in schema
        allowed = [schema["const"]] if is_const else schema.get("enum")
        if not segments or not isinstance(allowed, list):
            return False
        return not any(_has(value, segments) for value in allowed)

    @cached_property
    def _has_own_ids(self) -> bool:
        """Whether a schema within the root has an address of its own."""
        pending = [inner for _place, inner in subschemas(self._root)]
        target = self._at(self._root.get("$ref"))
        pending += [target] if isinstance(target, Mapping) else []
        visited = {id(self._root)}
        while pending:
            schema = pending.pop()
            if id(schema) in visited:
                continue
            visited.add(id(schema))
            if isinstance(schema.get("$id"), str) or isinstance(schema.get("id"), str):
                return True
            target = self._at(schema.get("$ref"))
            pending += [target] if isinstance(target, Mapping) else []
            pending.extend(inner for _place, inner in subschemas(schema))
        return False


def _has(value: Any, segments: tuple[str, ...]) -> bool:
    for name in segments:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _object(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, Mapping) else {}


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []
