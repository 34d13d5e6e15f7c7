"""Numbers as people write them. Pure.

    number  = [sign] [currency [space]] (digits | groups) [point digits] [exponent]
            | [sign] [currency [space]] point digits [exponent]
    sign    = "-" | "\u2212" | "+", and no letter or digit before it
    groups  = one to three digits, then groups of three, each after the same separator
    point   = ".", and the separator is "," or a narrow or no-break space;
              with `comma`, the point is "," and the separator "." or such a space

Digits may be those of any script. What does not belong to a number, such as units, is not read. Digits that
go on after a separator otherwise than a number does, as in `1.2.3` or `12,34`, are ambiguous.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final

import regex

_SPACES: Final = "\u00a0\u2009\u202f"
_SIGNS: Final = str.maketrans({"\u2212": "-"})


def _pattern(point: str, separator: str) -> regex.Pattern[str]:
    return regex.compile(
        rf"(?P<sign>(?<![\p{{L}}\p{{N}}])[-+\u2212])?+(?:\p{{Sc}}[ {_SPACES}]?)?+"
        rf"(?P<whole>\p{{Nd}}{{1,3}}(?:(?P<separator>[{separator}{_SPACES}])\p{{Nd}}{{3}}"
        rf"(?:(?P=separator)\p{{Nd}}{{3}})*+)(?!\p{{Nd}})|\p{{Nd}}++|(?<![\p{{L}}\p{{N}}])(?=[{point}]\p{{Nd}}))"
        rf"(?:[{point}](?P<fraction>\p{{Nd}}++))?+(?P<exponent>[eE][-+\u2212]?\p{{Nd}}++)?+"
    )


_NUMBERS: Final = {False: _pattern(r"\.", ","), True: _pattern(",", r"\.")}
_GOES_ON: Final = regex.compile(r"[.,]\p{Nd}")


class AmbiguousNumber(ValueError):
    """Digits and separators that are no number of this grammar; its text is what was written."""


def first_number(text: str, *, comma: bool) -> Decimal | None:
    """Return the first number of a text, or None if it has none; raises `AmbiguousNumber`."""
    found = _NUMBERS[comma].search(text)
    if found is None:
        return None
    if _GOES_ON.match(text, found.end()):
        written = regex.match(r"[\p{Nd}.,]*\p{Nd}", text[found.start("whole") : found.end() + 40])
        raise AmbiguousNumber(written[0] if written else found[0])
    return _value(found)


def whole_number(text: str, *, comma: bool) -> Decimal | None:
    """Return the number that a text is, or None for any other text."""
    found = _NUMBERS[comma].fullmatch(text.strip())
    return None if found is None else _value(found)


def _value(found: regex.Match[str]) -> Decimal | None:
    digits = "".join(one for one in found["whole"] if one.isdecimal()) or "0"
    written = f"{found['sign'] or ''}{digits}.{found['fraction'] or '0'}{found['exponent'] or ''}"
    try:
        number = Decimal(written.translate(_SIGNS))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
