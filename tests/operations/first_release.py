"""Data and answers of an installation of the first release; it stays as it is for all later ones.

Its rows are in first_release.sql, made by that release at work: history with labels, a restored and a deleted
version, references, an override, an unpublished block, keys. Its answers then are in first_release.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

_HERE = Path(__file__).parent
_RECORDED: Any = json.loads((_HERE / "first_release.json").read_text())

ROWS = (_HERE / "first_release.sql").read_text()
KEYS: dict[str, str] = _RECORDED["keys"]
"""By who holds them: an admin, and a viewer."""
ANSWERS: dict[str, dict[str, dict[str, Any]]] = _RECORDED["answers"]
"""By who asked, and what: the status and the body."""

framework = Framework(
    agents=[
        Agent(
            id="support",
            name="Support",
            instructions="You help.",
            model={"provider": "echo", "name": "echo"},
        )
    ],
    editor=Editor(),
)
