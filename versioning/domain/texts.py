"""Texts: which can be stored, invisible characters, grapheme clusters, values as people write them. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import regex
from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Message

MAX_QUOTE: Final = 1_000
"""The maximum length of a comment's quotation from a version, in characters."""


def checked_text(field: str, text: str, longest: int) -> str:
    """Return a text; raises `Invalid`, naming the field, if it is too long or cannot be stored.

    NUL and lone surrogates cannot be stored; Python and forms can pass them although JSON cannot.
    """
    if len(text) > longest:
        raise Invalid.field(field, Message("must not be longer than {limit} characters", limit=longest))
    try:
        canonical.check(text)
    except ValueError as error:
        raise Invalid.field(field, error.args[0]) from None
    return text


REPLACEMENT: Final = "\ufffd"


def storable_text(text: str) -> str:
    """Return a text with the halves of surrogate pairs put together, and unstorable characters replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", REPLACEMENT)


def storable_json(value: Any) -> Any:
    """Return a value of JSON's types with its texts and numbers storable; other types stay as they are."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= canonical.MAX_BITS else None
    if isinstance(value, Mapping):
        return {
            storable_text(key) if isinstance(key, str) else key: storable_json(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    return value


class StorablePieces:
    """Makes a streamed text storable, with the same result as `storable_text` for the whole."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Return the next piece; the first half of a surrogate pair waits for the second one."""
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return storable_text(text)

    def end(self) -> str:
        """Return the pending half at the end of the text."""
        half, self._half = self._half, ""
        return storable_text(half)


_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls")
)
_SCRIPTS: Final = (
    "Adlam Arabic Balinese Bengali Brahmi Chakma Devanagari Grantha Gujarati Gurmukhi "
    "Hanifi_Rohingya Javanese Kaithi Kannada Khmer Malayalam Mandaic Manichaean Modi Mongolian "
    "Myanmar Newa Nko Oriya Phags_Pa Sinhala Sogdian Sundanese Syriac Tai_Tham Tamil Telugu Tibetan "
    "Tirhuta"
)
_JOINING: Final = (
    "".join(rf"\p{{Script={name}}}" for name in _SCRIPTS.split(" ")) + r"\u064B-\u0655\u0670\u0951-\u0954"
)
"""Scripts that write with joiners, and the marks that several of them share."""
_IGNORED: Final = (
    r"\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F"
    r"\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF"
)
"""Unicode's default ignorable characters, except for soft hyphens."""
_CONTROLS: Final = r"\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u2028\u2029\uFFF9-\uFFFB"
# Every alternative begins with the character itself, so the engine skips all others quickly.
_VISIBLE: Final = (
    rf"\U0001F3F4(?:{_FLAGS})\U000E007F",
    r"[\uFE0E\uFE0F](?<=(?:[\p{Emoji}\u20E3]|\p{Emoji}\p{Emoji_Modifier}).)",
    r"[\uFE00-\uFE02\U000E0100-\U000E01EF](?<=[\p{Unified_Ideograph}\p{Script=Han}].)",
    r"\u200D(?<=[\p{Emoji}\p{Emoji_Modifier}\uFE0F\u20E3].)(?=\p{Emoji})",
    rf"[\u200C\u200D](?:(?<=[{_JOINING}].)(?![\u200C\u200D])|(?<![\u200C\u200D].)(?=[{_JOINING}]))",
    r"[\u180B-\u180F](?<=\p{Script=Mongolian}.)",
    r"[\u115F\u1160](?:(?<=\p{Script=Hangul}.)|(?=\p{Script=Hangul}))",
)
"""The characters below that scripts, emoji and flags need."""
_INVISIBLE: Final = rf"(?:[{_IGNORED}{_CONTROLS}]|\r(?!\n))+"
_RUN: Final = regex.compile(
    "|".join([*(f"{pattern}(*SKIP)(*FAIL)" for pattern in _VISIBLE), _INVISIBLE]), regex.DOTALL
)
_CANDIDATE: Final = re.compile(rf"[{_IGNORED}{_CONTROLS}\r]")
_CANDIDATE_IN_JSON: Final = re.compile(rf"[{_IGNORED}{_CONTROLS}]|\\[bfru]")


class InvisibleRun(NamedTuple):
    """Consecutive invisible characters."""

    position: int
    """The number of characters before it."""
    text: str

    @property
    def code_point(self) -> str:
        """The first of the characters, such as `U+E0041`."""
        return code_point(self.text[0])


def code_point(character: str) -> str:
    """Return the name of a character by its number, such as `U+200B`."""
    return f"U+{ord(character):04X}"


def script_pattern() -> str:
    """Return the rule as a regular expression of JavaScript, with the flags `gsu`.

    It also matches visible characters; invisible ones are in the group `run`.
    """
    whole = "|".join([*_VISIBLE, f"(?<run>{_INVISIBLE})"])
    whole = re.sub(r"[^\x00-\x7F]", lambda match: f"\\U{ord(match[0]):08X}", whole)
    return re.sub(r"\\U000?([0-9A-F]{5})", r"\\u{\1}", whole)


def invisible_runs(text: str) -> Iterator[InvisibleRun]:
    if _CANDIDATE.search(text) is None:
        return
    for match in _RUN.finditer(text):
        yield InvisibleRun(match.start(), match[0])


def may_have_invisible_runs(text: str) -> bool:
    """Return False if `invisible_runs_in` yields nothing for the value with this canonical JSON text."""
    return _CANDIDATE_IN_JSON.search(text) is not None


def invisible_runs_in(value: Any, field: str = "") -> Iterator[tuple[str, InvisibleRun]]:
    """Yield the runs in all texts and names of a JSON value, each with the dotted path of its text."""
    if isinstance(value, str):
        for run in invisible_runs(value):
            yield field, run
    elif isinstance(value, Mapping | list):
        for name, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            place = f"{field}.{name}" if field else str(name)
            if isinstance(name, str):
                for run in invisible_runs(name):
                    yield place, run
            yield from invisible_runs_in(member, place)


_CLUSTER: Final = regex.compile(r"\X")
_LOOK_BACK: Final = 1_000
"""How far before a cut to look for the beginning of its cluster; longer clusters are cut."""


def clusters(text: str) -> list[str]:
    return list(text) if text.isascii() and "\r\n" not in text else _CLUSTER.findall(text)


def boundary_before(text: str, position: int) -> int:
    """Return the last boundary between clusters that is not behind a position."""
    if not 0 < position < len(text) or _is_boundary(text, position):
        return max(0, min(position, len(text)))
    start = position - 1
    while start > max(0, position - _LOOK_BACK) and not _is_boundary(text, start):
        start -= 1
    ends = (match.end() for match in _CLUSTER.finditer(text, start))
    before = start
    for end in ends:
        if end > position:
            break
        before = end
    return before


def boundary_after(text: str, position: int) -> int:
    """Return the first boundary between clusters that is not before a position."""
    before = boundary_before(text, position)
    if before >= min(position, len(text)):
        return before
    return next(_CLUSTER.finditer(text, before)).end()


def clip(text: str, limit: int) -> str:
    """Return the beginning of a text of at most this many code points, cut between clusters.

    A cluster that is longer than the limit is cut.
    """
    if len(text) <= limit:
        return text
    return text[: boundary_before(text, limit) or limit]


def _is_boundary(text: str, position: int) -> bool:
    """Return whether two characters are surely apart, without looking at those around them."""
    before, after = text[position - 1], text[position]
    return _is_simple(before) and _is_simple(after) and before + after != "\r\n"


def _is_simple(character: str) -> bool:
    """Return whether it is Latin, Greek, Cyrillic or Chinese and no mark, so it never joins a cluster."""
    return character < "\u0300" or "\u0370" <= character < "\u0483" or "\u4e00" <= character < "\ua000"


_MAY_BE_JSON: Final = re.compile(
    r"[ \t\n\r]*+(?:[{\[\"]|true|false|null|-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?[ \t\n\r]*+\Z)"
)
"""The beginning of JSON, or a whole number: a cheap test that rules out most texts."""


def format_value(value: Any) -> str:
    """Return the text of a value, in quotation marks if it is empty or would be read as JSON."""
    is_itself = isinstance(value, str) and value and not _reads_as_json(value)
    text: str = value if is_itself else canonical.dump(value)
    return text


def parse_value(text: str) -> Any:
    """Return the value that a person has written: JSON, or else the text itself."""
    try:
        return canonical.parse(text)
    except Invalid:
        return text


def typed_cell(text: str) -> Any:
    """Return the value of a cell that a person has written, without losing any of the text.

    A number in another form than JSON's, such as `3.10` or `1e5`, may be a version or a code, so it stays a
    text.
    """
    value = parse_value(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return text if is_number and canonical.dump(value) != text.strip() else value


def _reads_as_json(text: str) -> bool:
    if _MAY_BE_JSON.match(text) is None:
        return False
    try:
        canonical.parse(text)
    except Invalid:
        return False
    return True
