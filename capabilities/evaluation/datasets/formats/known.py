"""The formats of files, by their names. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from capabilities.evaluation.datasets.formats.json_lines import JSON_LINES
from capabilities.evaluation.datasets.formats.promptfoo import PROMPTFOO
from capabilities.evaluation.datasets.formats.rows import Format
from capabilities.evaluation.datasets.formats.tables import TABLE

FORMATS: Final[Mapping[str, Format]] = {"jsonl": JSON_LINES, "csv": TABLE, "promptfoo": PROMPTFOO}
