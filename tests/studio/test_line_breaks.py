"""A text that begins with a line break keeps it; browsers drop the first one in `<textarea>` and `<pre>`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(path for path in ROOT.glob("*/**/templates/**/*.html") if "/.venv/" not in str(path))
ELEMENT = re.compile(
    r"(?s)<(?P<tag>textarea|pre)\b(?:[^>{]|\{\{.*?\}\}|\{%.*?%\}|\{)*>(?P<content>.*?)</(?P=tag)>"
)


def without_line_break(markup: str) -> list[str]:
    """Return the elements whose content comes from a variable or a tag, and begins on the line of the tag."""
    return [
        found[0]
        for found in ELEMENT.finditer(markup)
        if re.search(r"\{[{%]", found["content"]) and not found["content"].startswith("\n")
    ]


def test_texts_begin_on_a_line_of_their_own() -> None:
    assert len(TEMPLATES) > 150
    found = {str(path.relative_to(ROOT)): without_line_break(path.read_text()) for path in TEMPLATES}
    assert {name: elements for name, elements in found.items() if elements} == {}


@pytest.mark.parametrize(
    ("markup", "is_found"),
    [
        ("<pre>{{ text }}</pre>", True),
        ('<textarea rows="{{ rows }}">{% if text %}{{ text }}{% endif %}</textarea>', True),
        ("<textarea{% if a > b %} required{% endif %}>{{ text }}</textarea>", True),
        ("<textarea{% if a > b %} required{% endif %}>\n{{ text }}</textarea>", False),
        ("<pre>Always the same.</pre>", False),
    ],
)
def test_what_counts_as_such_a_text(markup: str, is_found: bool) -> None:
    assert bool(without_line_break(markup)) is is_found
