"""Pages on which prompts are read mark their placeholders, and only where they are filled in."""

from __future__ import annotations

from typing import Any

import pytest

from studio.templatetags.edit import MAX_PIECES, with_placeholders
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.window import Window, page_of

MARKED = '<span class="prompt-variable">{{ name || &quot;you&quot; }}</span>'
TEXT = 'Dear {{ name || "you" }}, <b>{{ not one }'


@pytest.mark.parametrize(
    ("kind", "fields", "is_marked"),
    [
        (AGENTS, {"instructions": TEXT}, False),
        (AGENTS, {"instructions": [{"type": "text", "content": TEXT}]}, True),
        (PROMPT_BLOCKS, {"content": TEXT}, True),
    ],
    ids=["one text", "blocks", "prompt block"],
)
def test_a_viewer_sees_what_is_filled_in(
    cast: Cast, kind: Kind, fields: dict[str, Any], is_marked: bool
) -> None:
    kind.make(cast.paula, autoPublish=True, **fields)
    markup = Window.of("vera").get(page_of(kind, "change")).markup
    assert (MARKED in markup) is is_marked
    assert "&lt;b&gt;{{ not one }" in markup


def test_so_many_that_a_page_cannot_hold_them_are_left_unmarked() -> None:
    text = "{{ a }}<" * MAX_PIECES
    marked = with_placeholders(text)
    assert marked.count("<span") == MAX_PIECES // 2
    plain = marked.replace('<span class="prompt-variable">', "").replace("</span>", "")
    assert plain == text.replace("<", "&lt;")
