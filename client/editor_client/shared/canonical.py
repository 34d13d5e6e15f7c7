"""The canonical form of JSON, and the only parser for JSON from outside.

Equal configurations give the same text in any order of their keys. The text and its digest determine
whether anything has changed (`{"a": 1} == {"a": True}` in Python, but not here), and they are used for
exports and entity tags. Numbers are compared by value and stored as given.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import Any

from editor_client.shared.errors import Invalid, Message

MAX_DEPTH = 64
_LONG = 22  # digits; a whole number of so many or more is written with an exponent if it is a float
# Numbers that the comparable text writes in another form than the canonical text: 1.0, 1e+20, and long
# integers.
_MAY_DIFFER = (  # each begins with few characters, which is searched several times as fast as all in one
    re.compile(r"\.0(?![0-9])"),
    re.compile(r"e\+(?:1[0-9]|20)(?![0-9])"),
    re.compile(rf"[:,\[-][0-9]{{{_LONG}}}"),
)
_TEXT_OR_NUMBER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.e+-]*')
_TEXT_OR_EXPONENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9](?:\.[0-9]+)?e\+[0-9]+')
MAX_BITS = 14_000  # about 4 200 digits: Python refuses to print more than 4 300
# Made once: `json.dumps` makes a new one for every value, and lists are compared item by item.
_COMPACT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class _NotJson(ValueError):
    """A value that JSON text can express but that is not allowed in a JSON document."""


def parse(text: bytes | str, *, field: str = "body") -> Any:
    """Return the value of a JSON text.

    Raises `Invalid` naming `field` for anything that is not exact, storable JSON: broken UTF-8, NaN and
    infinities, `1e999`, lone surrogates, NUL, repeated keys, more than 64 levels.
    """
    try:
        value = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object_without_repeats,
        )
        check(value)
    except RecursionError:
        raise Invalid.field(field, Message("is nested deeper than {limit} levels", limit=MAX_DEPTH)) from None
    except UnicodeDecodeError:
        raise Invalid.field(field, "is not valid UTF-8") from None
    except _NotJson as error:
        raise Invalid.field(field, error.args[0]) from None
    except ValueError as error:  # json.JSONDecodeError, and integers of thousands of digits
        raise Invalid.field(field, Message("is not valid JSON: {reason}", reason=str(error))) from None
    return value


def parse_file(content: bytes, *, field: str = "file") -> Any:
    """Return the value of a JSON file as `parse` does; it may begin with a byte order mark."""
    return parse(content.removeprefix(codecs.BOM_UTF8), field=field)


def check(value: Any) -> None:
    """Raise `ValueError` with the reason unless `value` is made of JSON's types and storable.

    Walks with a list and not by recursion, so that no depth can exhaust the stack.
    """
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, str):
            _check_text(item)
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise _NotJson(Message("holds a number that is not finite"))
        elif isinstance(item, Mapping | list | tuple):
            if depth >= MAX_DEPTH:
                raise _NotJson(Message("is nested deeper than {limit} levels", limit=MAX_DEPTH))
            pending.extend(zip(_children(item), repeat(depth + 1)))
        elif isinstance(item, int) and item.bit_length() > MAX_BITS:
            raise _NotJson(Message("holds a number of too many digits"))
        elif item is not None and not isinstance(item, int):
            raise _NotJson(Message("holds a {type}, which JSON cannot express", type=type(item).__name__))


def fault(value: Any) -> tuple[str, str] | None:
    """Return the place of a value that `check` refuses, such as `input.0.name`, and the reason, or None.

    If the name of a member is refused, the place is that of the object.
    """
    reason = _refusal(value)
    if reason is None:
        return None
    place: list[str] = []
    while isinstance(value, Mapping | list | tuple):
        members = value.items() if isinstance(value, Mapping) else enumerate(value)
        problems = ((name, item, why) for name, item in members if (why := _refusal(item)) is not None)
        inner = next(problems, None)
        if inner is None:
            break
        name, value, reason = inner
        place.append(str(name))
    return ".".join(place), reason


def _refusal(value: Any) -> str | None:
    """Return why `check` refuses a value, or None."""
    try:
        check(value)
    except ValueError as error:
        reason: str = error.args[0]
        return reason
    return None


def dump(value: Any, *, indent: int | None = None) -> str:
    """Return the canonical text: keys by code point at every level, UTF-8 unescaped, numbers as given."""
    if indent is None:
        return _COMPACT.encode(value)
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent, separators=(",", ": ")
    )


def file_text(value: Any) -> str:
    """Return the text of an export or override file: canonical, indented by two, a final newline."""
    return dump(value, indent=2) + "\n"


def display_text(value: Any) -> str:
    """Return the canonical text with numbers as JavaScript prints them: `1` for 1.0, `1e-7`, `1e+21`.

    All numbers are doubles there. A whole number that is too large for one keeps its digits.
    """
    return _TEXT_OR_NUMBER.sub(_as_in_javascript, dump(value))


def _as_in_javascript(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith('"'):
        return text
    number = float(text)
    if math.isinf(number):
        return text
    if number == 0:
        return "0"  # also for -0.0
    # `repr` gives the same digits as JavaScript, the shortest ones, in another notation.
    if 1e-6 <= abs(number) < 1e21:
        return format(Decimal(repr(number)), "f").removesuffix(".0")
    return repr(number).replace("e-0", "e-")


def comparable(value: Any) -> str:
    """Return a text that is the same for equal values, with numbers by value: `1` is `1.0`, not `true`.

    It is the canonical text except for whole numbers: up to 21 digits have neither a fraction nor an exponent
    (`1`); longer ones that floats can represent have an exponent (`1e+308`).
    """
    return _comparable_text(dump(value))


def _comparable_text(text: str) -> str:
    """Return the comparable text of the value with this canonical text."""
    if not text[0].isdigit():
        for pattern in _MAY_DIFFER:
            if pattern.search(text):
                break
        else:
            return text
    return dump(json.loads(text, parse_float=_whole_or_float, parse_int=_long_or_int))


def digest(value: Any) -> str:
    """Return the digest of a value, 64 hexadecimal digits: equal values have equal digests."""
    return digest_of_text(dump(value))


def digest_of_text(text: str) -> str:
    """Return the digest of the value with this canonical text."""
    return digest_of(_comparable_text(text))


def digest_of(text: str) -> str:
    """Return the digest of the value with this comparable text: SHA-256, with all whole numbers in digits.

    Digests are stored, also in locks, so they must stay the same as before comparable texts had exponents.
    """
    if "e+" in text:
        text = _TEXT_OR_EXPONENT.sub(_with_digits, text)
    return hashlib.sha256(text.encode()).hexdigest()


def sorted_by_key(value: Any) -> Any:
    """Return an equal value whose objects have their keys in the canonical order."""
    return json.loads(dump(value))


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal at every level: of the same type, numbers by value."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return comparable(left) == comparable(right)


def is_utf8(text: bytes) -> bool:
    """Return whether the bytes are UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# Exact in all cases, because a float has one exact value, which an integer may equal or be next to.


def _whole_or_float(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 10 ** (_LONG - 1) else number


def _long_or_int(text: str) -> int | float:
    number = int(text)
    if len(text) >= _LONG and abs(number) >= 10 ** (_LONG - 1):
        with suppress(OverflowError):
            return float(number) if float(number) == number else number
    return number


def _with_digits(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else _in_digits(match[0])


@lru_cache(maxsize=256)
def _in_digits(number: str) -> str:
    return str(int(float(number)))


def _refuse_constant(name: str) -> Any:
    raise _NotJson(Message("holds {value}, which is not JSON", value=name))


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # json.loads keeps the last of two equal keys, and the caller would never learn of the dropped one.
    result = dict(pairs)
    if len(result) != len(pairs):
        keys: set[str] = set()
        repeated = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]
        raise _NotJson(Message("holds the key {key!r} twice in one object", key=repeated))
    return result


def _children(item: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    if not isinstance(item, Mapping):
        return item
    for key in item:
        if not isinstance(key, str):
            raise _NotJson(Message("holds the key {key!r}, which is not text", key=key))
        _check_text(key)
    return item.values()


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _NotJson(Message("contains a NUL character"))
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _NotJson(Message("holds half of a surrogate pair")) from None
