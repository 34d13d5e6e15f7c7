"""The titles of the fields and their help texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from versioning.runtime.known_providers import KNOWN_PROVIDERS


@dataclass(frozen=True, kw_only=True)
class Words:
    """The title and the help text of a field."""

    title: str
    help: str = ""


_WORDS: Final = {
    "name": Words(title="Name"),
    "description": Words(title="Description", help="What it is for, in a sentence."),
    "instructions": Words(title="Instructions", help="What the agent is told before anything else."),
    "content": Words(
        title="Text", help="{{ path }} is filled in from the context; {{ path || 'text' }} has a fallback."
    ),
    "rules": Words(title="When it is shown"),
    "model": Words(title="Model"),
    "tools": Words(
        title="Tools", help="What the agent can use. A description of your own replaces the tool's."
    ),
    "agents": Words(title="Sub-agents", help="Whom the agent can delegate to."),
    "workflows": Words(title="Workflows"),
    "scorers": Words(title="Scorers"),
    "integrationTools": Words(title="Integration tools"),
    "toolProviders": Words(title="Tool providers"),
    "mcpClients": Words(title="MCP clients"),
    "defaultOptions": Words(title="Default options", help="Options of every run, such as maxSteps."),
    "inputProcessors": Words(title="Input processors"),
    "outputProcessors": Words(title="Output processors"),
    "memory": Words(title="Memory"),
    "skills": Words(title="Skills"),
    "workspace": Words(
        title="Runtime folder", help="The agent's own folder at run time; not the team's workspace."
    ),
    "browser": Words(title="Browser"),
    "requestContextSchema": Words(
        title="Context schema",
        help="A JSON Schema of the context. Makes the form of the preview, and suggests names to conditions.",
    ),
}

_PLACES: Final = {name: place for place, name in enumerate(_WORDS)}


def words_of(name: str) -> Words:
    """Return the words of a field; of one that has none of its own, the words in its name."""
    return _WORDS.get(name) or Words(title=re.sub(r"([A-Z])", r" \1", name).capitalize())


def titles(names: Iterable[str]) -> list[str]:
    """Return what the fields are called on the page."""
    return [words_of(name).title for name in names]


def in_reading_order(names: Iterable[str]) -> list[str]:
    """Return the names of fields in the order in which people read them; those without words come last."""
    return sorted(names, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))


IN_CODE = "The code of this agent decides this; an override cannot change it."
WITHHELD = "The code of this agent keeps this to itself."

OPERATORS = {
    "equals": "is",
    "not_equals": "is not",
    "contains": "contains",
    "not_contains": "does not contain",
    "in": "is one of",
    "not_in": "is none of",
    "exists": "is there",
    "not_exists": "is not there",
    "greater_than": "is greater than",
    "greater_than_or_equal": "is at least",
    "less_than": "is less than",
    "less_than_or_equal": "is at most",
}

OPERANDS = {
    "text": "text",
    "number": "number",
    "boolean": "true or false",
    "list": "list",
    "json": "JSON",
    "none": "nothing",
}

PROVIDERS = tuple(sorted({"echo", *KNOWN_PROVIDERS}))
"""Suggestions; any other can be typed, and does not run."""

REASONS = {
    "rules": "its conditions do not hold in this context",
    "blank": "there is no text in it",
    "missing": "there is no such prompt block that you can read",
    "unpublished": "the prompt block is not published",
}
"""Why a block was left out."""
