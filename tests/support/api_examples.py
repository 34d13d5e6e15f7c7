"""The examples of the OpenAPI document: real requests and answers, with replacements for what varies.

`make api-reference` records them, and a test sends every request again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from versioning.api import openapi

PATH: Final = Path(openapi.__file__).with_name(openapi.EXAMPLES)

_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_VARYING: Final = (
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "2026-11-28T09:00:00.000Z"),
    (r'"20\d\d-\d\d-\d\d"', '"2026-11-28"'),
    (r"ek_[\w-]{20,}", "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"),
    (r'"((?:keyP|createdByKey|p)refix|createdByKey)": "ek_[\w-]+"', r'"\1": "ek_01234567"'),
    (r"whsec_[\w+/=-]+", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    (r"/welcome/[\w-]+", "/welcome/0123456789abcdef"),
    (r"erased-[0-9a-f]{8}", "erased-3f2a91c7"),
    (r'"(signature|epoch)": "[^"]+"', r'"\1": "0123456789abcdef"'),
    (r"\b[0-9a-f]{64}\b", "0123456789abcdef" * 4),
    (r'"(seed|runId|requestId)": "[^"]+"', r'"\1": "0123456789abcdef"'),
    (r'"(position|next|oldest|newest|milliseconds)": \d+', r'"\1": 100'),
)


class Fixer:
    """Replaces what varies; ids get numbers in the order in which they occur."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def fixed(self, value: Any) -> Any:
        """Return a JSON value as it always is."""
        text = json.dumps(value, ensure_ascii=False)
        for pattern, always in _VARYING:
            text = re.sub(pattern, always, text)
        return json.loads(_UUID.sub(lambda found: self._numbered(found[0]), text))

    def _numbered(self, uuid: str) -> str:
        return self._known.setdefault(uuid, f"00000000-0000-4000-8000-{len(self._known) + 1:012d}")
