"""Examples of requests and answers by operation: `make api-reference` records them, a test repeats them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

FILE: Final = "examples.json"
_JSON: Final = "application/json"


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to the operations of an OpenAPI document."""
    for methods in document.get("paths", {}).values():
        for operation in methods.values():
            example = _examples().get(operation["operationId"], {})
            if "request" in example:
                operation["requestBody"]["content"][_JSON]["example"] = example["request"]
            for status, answer in example.get("answers", {}).items():
                operation["responses"][status]["content"][_JSON]["example"] = answer


@cache
def _examples() -> dict[str, Any]:
    """Return the examples by operation id: `request`, and `answers` by status, as far as they are JSON."""
    return dict(json.loads((files(__package__) / FILE).read_text(encoding="utf-8")))
