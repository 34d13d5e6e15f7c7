"""JSON Lines: one item a line, with the members of the API. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from editor_client.shared import canonical

from capabilities.evaluation.datasets.formats.rows import Format, Items, Row, row_of
from versioning.domain.errors import Invalid, Message


def _read(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield row_of(number, partial(_item, line))


def _item(line: str) -> dict[str, Any]:
    value = canonical.parse(line, field="row")
    if not isinstance(value, dict):
        raise Invalid.field("row", Message("must be a JSON object"))
    return value


def _write(items: Items) -> Iterator[str]:
    return (canonical.dump(item) + "\n" for item in items())


JSON_LINES: Final = Format(media_type="application/x-ndjson", suffix="jsonl", read=_read, write=_write)
