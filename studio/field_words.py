"""The titles of the fields and their help texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.kind_words import FieldWords
from studio.kinds import KINDS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, kw_only=True)
class Words:
    title: str
    help: str = ""
    options: Mapping[str, StrOrPromise] = field(default_factory=dict)


_FIRST: Final = {
    "name": FieldWords(title=_("Name")),
    "description": FieldWords(title=_("Description"), help=_("What it is for, in a sentence.")),
}
_LAST: Final = {
    "requestContextSchema": FieldWords(
        title=_("Context schema"),
        help=_(
            "A JSON Schema of the context. It makes the form of the preview, and suggests names in "
            "conditions."
        ),
    ),
}


@cache
def fields_with_words() -> Mapping[str, FieldWords]:
    words_by_name = dict(_FIRST)
    for kind in KINDS:  # the first kind's words about a field apply to all kinds without their own
        words_by_name |= {
            name: words for name, words in kind.words.fields.items() if name not in words_by_name
        }
    return {**words_by_name, **_LAST}


def words_of(name: str, own: Mapping[str, FieldWords] = MappingProxyType({})) -> Words:
    """Return the words of a field, which its kind may define; by default, those in its name."""
    words = own.get(name) or fields_with_words().get(name)
    if words is None:
        return Words(title=re.sub(r"([A-Z])", r" \1", name).capitalize())
    return Words(title=str(words.title), help=str(words.help), options=words.options)


def place_of(path: str) -> str:
    """Return the place of a value on the page, by its path in the configuration: `Instructions, block 5`."""
    name, _dot, rest = path.partition(".")
    if name == "given":  # a field of a context
        return rest
    title, parts = gettext("Context") if path == "context" else words_of(name).title, rest.split(".")
    if not rest:
        return title
    if name == "instructions" and parts[0].isdecimal():
        return gettext("%(field)s, block %(number)d") % {"field": title, "number": int(parts[0]) + 1}
    return f"{title}, {parts[-1]}"


def titles(names: Iterable[str]) -> list[str]:
    return [words_of(name).title for name in names]


def in_reading_order(names: Iterable[str]) -> list[str]:
    """Return names of fields in reading order; fields without words come last."""
    places = {name: place for place, name in enumerate(fields_with_words())}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


IN_CODE = _("The code of this agent decides this; an override cannot change it.")
WITHHELD = _("The code of this agent does not let an override change this.")

OPERATORS: Final[Mapping[str, StrOrPromise]] = {
    "equals": _("is"),
    "not_equals": _("is not"),
    "contains": _("contains"),
    "not_contains": _("does not contain"),
    "in": _("is one of"),
    "not_in": _("is none of"),
    "exists": _("is present"),
    "not_exists": _("is missing"),
    "greater_than": _("is greater than"),
    "greater_than_or_equal": _("is at least"),
    "less_than": _("is less than"),
    "less_than_or_equal": _("is at most"),
}

CONDITIONS: Final[Mapping[str, StrOrPromise]] = {
    "equals": _("%(field)s is %(value)s"),
    "not_equals": _("%(field)s is not %(value)s"),
    "contains": _("%(field)s contains %(value)s"),
    "not_contains": _("%(field)s does not contain %(value)s"),
    "in": _("%(field)s is one of %(value)s"),
    "not_in": _("%(field)s is none of %(value)s"),
    "exists": _("%(field)s is present"),
    "not_exists": _("%(field)s is missing"),
    "greater_than": _("%(field)s is greater than %(value)s"),
    "greater_than_or_equal": _("%(field)s is at least %(value)s"),
    "less_than": _("%(field)s is less than %(value)s"),
    "less_than_or_equal": _("%(field)s is at most %(value)s"),
}
"""Conditions after "when", where languages may use another order."""

OPERANDS: Final[Mapping[str, StrOrPromise]] = {
    "text": _("text"),
    "number": _("number"),
    "boolean": _("true or false"),
    "list": _("list"),
    "json": _("JSON"),
    "none": pgettext_lazy("a value", "nothing"),
}

REASONS: Final[Mapping[str, StrOrPromise]] = {
    "rules": _("its conditions do not hold in this context"),
    "blank": _("there is no text in it"),
    "missing": _("it does not exist, or you may not read it"),
    "unpublished": _("the prompt block is not published"),
}
"""The reasons for omitting a block."""


@dataclass(frozen=True, kw_only=True)
class RowWords:
    remove: StrOrPromise
    up: StrOrPromise = ""
    down: StrOrPromise = ""


ROWS: Final[Mapping[str, RowWords]] = {
    "block": RowWords(
        remove=_("Remove this block"), up=_("Move this block up"), down=_("Move this block down")
    ),
    "condition": RowWords(remove=_("Remove this condition")),
    "group": RowWords(remove=_("Remove this group")),
    "tool": RowWords(remove=_("Remove this tool")),
    "sub-agent": RowWords(remove=_("Remove this sub-agent")),
    "variant": RowWords(
        remove=_("Remove this variant"), up=_("Move this variant up"), down=_("Move this variant down")
    ),
}
