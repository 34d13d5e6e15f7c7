"""What people write in Arabic or Hebrew is laid out from right to left, wherever they type it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Cast
from tests.support.studio import Visitor

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(path for path in ROOT.glob("*/**/templates/**/*.html") if "/.venv/" not in str(path))
NO_TEXT = {"hidden", "checkbox", "radio", "range", "number", "datetime-local", "password", "file"}
CONTROL = re.compile(r"<(?:input|textarea)\b(?:[^>{]|\{\{.*?\}\}|\{%.*?%\})*>")


def without_direction(markup: str) -> list[str]:
    """Return the controls for text whose direction does not follow from what is typed."""
    found = []
    for control in CONTROL.findall(markup):
        kind = re.search(r'\btype="([^"{]*)"', control)
        is_text = kind is None or kind[1] not in NO_TEXT
        if is_text and not re.search(r'\bdir="(auto|ltr)"', control) and "aria-hidden" not in control:
            found.append(control)
    return found


def test_every_control_for_text_has_a_direction() -> None:
    assert len(TEMPLATES) > 150
    found = {path.name: without_direction(path.read_text()) for path in TEMPLATES}
    assert {name: controls for name, controls in found.items() if controls} == {}


@pytest.mark.parametrize("address", ["/studio/versioning/agent/", "/studio/activity/"])
def test_the_filters_of_a_list_have_a_direction(cast: Cast, address: str) -> None:
    assert without_direction(Visitor("edgar").get(address).markup) == []
