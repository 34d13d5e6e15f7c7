"""Iterating through lists whose pages are too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from editor_client.errors import ValidationFailed
from editor_client.methods import Pages

SIZES = [1] * 30 + [10] * 5 + [1] * 17 + [40, 1]
"""How long each entry of a list is."""
DEFAULT, LONGEST = 24, 30


@dataclass
class Entry:
    """An entry of the list."""

    id: str


@dataclass
class Part:
    """A page."""

    entries: list[Entry]
    page: int
    per_page: int
    has_more: bool


def answer(page: int, per_page: int = DEFAULT) -> Part:
    """Answer as the server does; raise the client's error for a 400."""
    start, stop = page * per_page, min((page + 1) * per_page, len(SIZES))
    sizes = SIZES[start:stop]
    if len(sizes) > 1 and sum(sizes) > LONGEST:
        fits = max([n for n in range(len(sizes)) if sum(sizes[:n]) <= LONGEST][-1], 1)
        details = {"perPage": fits}
        raise ValidationFailed("too long", status=400, code="page_too_large", details=details)
    entries = [Entry(str(number)) for number in range(start, stop)]
    return Part(entries, page, per_page, stop < len(SIZES))


def test_pages_get_smaller_if_they_would_be_too_long() -> None:
    for asked in ({}, {"per_page": 7}, {"per_page": 1000}, {"per_page": 1}):
        pages: Any = Pages(lambda asked=asked, **part: {**asked, **part})  # type: ignore[misc]
        found = []
        while (call := pages.next_call()) is not None:
            try:
                part = answer(**call)
            except ValidationFailed as error:
                pages.shrink(error)
            else:
                found += [entry.id for entry in pages.new_entries(part)]
        assert found == [str(number) for number in range(len(SIZES))]


def test_an_error_that_no_smaller_page_avoids_is_raised() -> None:
    pages: Any = Pages(lambda **part: part)  # type: ignore[arg-type, return-value]
    for details in ({}, {"perPage": 0}, {"perPage": "5"}):
        with pytest.raises(ValidationFailed):
            pages.shrink(ValidationFailed("too long", code="page_too_large", details=details))
    with pytest.raises(ValidationFailed):
        pages.shrink(ValidationFailed("no", details={"perPage": 5}))
