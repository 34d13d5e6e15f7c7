r"""The patterns of JSON Schemas, matched in linear time and bounded memory. Pure.

RE2 matches them: no look-around, no back-references, no recursion, and programs of a limited size. `\d`, `\w`
and `\s` cover all of Unicode, as in Python; `\b` only ASCII. Patterns that were stored before this was
required are matched by a library that can be interrupted, in short texts only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import re2
import regex

from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import Message

MAX_OLD_TEXT: Final = 10_000
"""The maximum length of a text for a pattern that takes more than linear time, in characters."""
MAX_STEPS: Final = 400_000_000
"""The maximum product of the size of a program and the length of a text: about two seconds, at worst."""
MEMORY: Final = (256 * 1024, 1024 * 1024, 4 * 1024 * 1024)
"""The memory that a pattern may use, in bytes; it gets the minimum for its program."""

_CACHE_BYTES: Final = 32 * 1024 * 1024
_WORD: Final = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}"
_SPACE: Final = r"\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NO_SPACE: Final = (
    r"\x00-\x08\x0e-\x1f\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_OUTSIDE: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "Z": r"\z",
}
# RE2 has no complement within a class, so `\W` covers ASCII only there.
_INSIDE: Final = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": _WORD, "s": _SPACE, "S": _NO_SPACE}
_CODE_POINT: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_NAMED_CLASS: Final = re.compile(r"\[:\^?[a-z]+:\]")
_RECURSION: Final = re.compile(r"\(\?(?:R|[-+]?[0-9]|&|P>|P&)")


class PatternRefused(ValueError):
    """A pattern is invalid or takes more than linear time; the argument is the reason, a `Message`."""


class TooLong(Exception):
    """Matching would take too long."""


_compiled: BoundedCache[str, Any] = BoundedCache(_CACHE_BYTES)


def explain_error(error: re2.error) -> str:
    """Return why RE2 refuses a pattern; its errors hold bytes."""
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def compile_pattern(pattern: str) -> Any:
    """Return a pattern that takes linear time; raises `PatternRefused`."""
    cached = _compiled.get(pattern)
    if cached is not None:
        return cached
    translated = _translate(pattern)
    for memory in MEMORY:
        options = re2.Options()
        options.max_mem = memory
        options.log_errors = False
        try:
            compiled = re2.compile(translated, options)
        except re2.error as error:
            reason = explain_error(error)
            if "too large" in reason and memory != MEMORY[-1]:
                continue
            message = Message("is not a regular expression that takes linear time: {reason}", reason=reason)
            raise PatternRefused(message) from None
        break
    _compiled.put(pattern, compiled, memory)
    return compiled


def refuse_unusable(pattern: str) -> None:
    """Raise `PatternRefused` for a stored pattern that cannot be matched within the memory limit."""
    try:
        compile_pattern(pattern)
    except PatternRefused as error:
        if _RECURSION.search(pattern):
            raise
        try:
            _compile_old(pattern)
        except (regex.error, RecursionError):
            raise error from None


def matches(pattern: str, text: str, seconds: float) -> bool:
    """Return whether a pattern matches a part of the text.

    `seconds` limits old patterns. Raises `TooLong`, and `PatternRefused` for a pattern that cannot be used.
    """
    try:
        linear = compile_pattern(pattern)
    except PatternRefused:
        refuse_unusable(pattern)
        if len(text) > MAX_OLD_TEXT:
            raise TooLong from None
        try:
            return _compile_old(pattern).search(text, timeout=seconds, concurrent=True) is not None
        except TimeoutError:
            raise TooLong from None
    if linear.programsize * len(text) > MAX_STEPS:
        raise TooLong
    return linear.search(text) is not None


@lru_cache(maxsize=256)
def _compile_old(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


def _translate(pattern: str) -> str:
    """Return the pattern in the syntax of RE2, with the classes of Unicode."""
    parts: list[str] = []
    position, is_inside = 0, False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\" and position + 1 < len(pattern):
            point = _CODE_POINT.match(pattern, position)
            if point is not None:
                parts.append(rf"\x{{{point[1] or point[2]}}}")
                position = point.end()
                continue
            escaped = pattern[position + 1]
            parts.append((_INSIDE if is_inside else _OUTSIDE).get(escaped, f"\\{escaped}"))
            position += 2
            continue
        parts.append(character)
        position += 1
        if not is_inside and character == "[":
            is_inside = True
            for first in ("^", "]"):  # a bracket in first position is a literal
                if pattern.startswith(first, position):
                    parts.append(first)
                    position += 1
        elif (
            is_inside and pattern.startswith("[:", position - 1) and (end := pattern.find(":]", position)) > 0
        ):
            parts.append(pattern[position : end + 2])
            position = end + 2
        elif character == "]":
            is_inside = False
    return "".join(parts)
