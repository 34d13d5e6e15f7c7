"""The titles of the fields and their help texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from versioning.runtime.known_providers import KNOWN_PROVIDERS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, kw_only=True)
class Words:
    """The title and the help text of a field."""

    title: str
    help: str = ""


def _words(title: StrOrPromise, help_text: StrOrPromise = "") -> tuple[StrOrPromise, StrOrPromise]:
    """Return the title and the help of a field, translated when they are shown."""
    return title, help_text


_WORDS: Final[Mapping[str, tuple[StrOrPromise, StrOrPromise]]] = {
    "name": _words(_("Name")),
    "description": _words(_("Description"), _("What it is for, in a sentence.")),
    "instructions": _words(_("Instructions"), _("What the agent is told before anything else.")),
    "content": _words(
        _("Text"), _("{{ path }} is filled in from the context; {{ path || 'text' }} has a fallback.")
    ),
    "rules": _words(_("When it is shown")),
    "model": _words(_("Model")),
    "tools": _words(_("Tools"), _("What the agent can use. A description of your own replaces the tool's.")),
    "agents": _words(_("Sub-agents"), _("Whom the agent can delegate to.")),
    "workflows": _words(_("Workflows")),
    "scorers": _words(_("Scorers")),
    "integrationTools": _words(_("Integration tools")),
    "toolProviders": _words(_("Tool providers")),
    "mcpClients": _words(_("MCP clients")),
    "defaultOptions": _words(_("Default options"), _("Options of every run, such as maxSteps.")),
    "inputProcessors": _words(_("Input processors")),
    "outputProcessors": _words(_("Output processors")),
    "memory": _words(_("Memory")),
    "skills": _words(_("Skills")),
    "workspace": _words(
        _("Runtime folder"), _("The agent's own folder at run time; not the team's workspace.")
    ),
    "browser": _words(_("Browser")),
    "requestContextSchema": _words(
        _("Context schema"),
        _("A JSON Schema of the context. Makes the form of the preview, and suggests names to conditions."),
    ),
}

_PLACES: Final = {name: place for place, name in enumerate(_WORDS)}


def words_of(name: str) -> Words:
    """Return the words of a field; of one that has none of its own, the words in its name."""
    if name not in _WORDS:
        return Words(title=re.sub(r"([A-Z])", r" \1", name).capitalize())
    title, help_text = _WORDS[name]
    return Words(title=str(title), help=str(help_text))


def place_of(path: str) -> str:
    """Return where on the page a value is, by its path in the configuration: `Instructions, block 5`."""
    name, _dot, rest = path.partition(".")
    title, parts = words_of(name).title, rest.split(".")
    if not rest:
        return title
    if name == "instructions" and parts[0].isdecimal():
        return gettext("%(field)s, block %(number)d") % {"field": title, "number": int(parts[0]) + 1}
    return f"{title}, {parts[-1]}"


def titles(names: Iterable[str]) -> list[str]:
    """Return what the fields are called on the page."""
    return [words_of(name).title for name in names]


def in_reading_order(names: Iterable[str]) -> list[str]:
    """Return the names of fields in the order in which people read them; those without words come last."""
    return sorted(names, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))


IN_CODE = _("The code of this agent decides this; an override cannot change it.")
WITHHELD = _("The code of this agent keeps this to itself.")

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
"""Conditions as they stand after "when", where languages may have an order of their own."""

OPERANDS: Final[Mapping[str, StrOrPromise]] = {
    "text": _("text"),
    "number": _("number"),
    "boolean": _("true or false"),
    "list": _("list"),
    "json": _("JSON"),
    "none": pgettext_lazy("a value", "nothing"),
}

PROVIDERS = tuple(sorted({"echo", *KNOWN_PROVIDERS}))
"""Suggestions; any other can be typed, and does not run."""

REASONS: Final[Mapping[str, StrOrPromise]] = {
    "rules": _("its conditions do not hold in this context"),
    "blank": _("there is no text in it"),
    "missing": _("it does not exist, or you may not read it"),
    "unpublished": _("the prompt block is not published"),
}
"""Why a block was left out."""


@dataclass(frozen=True, kw_only=True)
class RowWords:
    """What the buttons of a row say to those who hear them."""

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
