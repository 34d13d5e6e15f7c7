"""Lists of releases take the same number of statements, however many there are."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.releases.conftest import Pair, item, make
from tests.support.api import AGENTS, PROMPT_BLOCKS


def test_a_list_takes_as_many_statements_for_many_releases_as_for_one(cast: Cast, pair: Pair) -> None:
    counts = []
    for more in (0, 4):
        for number in range(more):
            AGENTS.make(cast.alice, f"agent-{number}")
            PROMPT_BLOCKS.make(cast.alice, f"block-{number}")
            items = [item(AGENTS, f"agent-{number}"), item(PROMPT_BLOCKS, f"block-{number}")]
            make(cast.edgar, *pair.items(), *items)
        if not more:
            make(cast.edgar, *pair.items())
        cast.edgar.get("/releases")
        with CaptureQueriesContext(connection) as asked:
            answer = cast.edgar.get("/releases")
        assert answer.status == 200
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1] > 0, counts


def test_pinning_versions_takes_as_many_statements_for_many_items_as_for_two(cast: Cast, pair: Pair) -> None:
    items = [*pair.items()]
    counts = []
    for more in (0, 6):
        for number in range(more):
            AGENTS.make(cast.alice, f"agent-{number}")
            items.append(item(AGENTS, f"agent-{number}"))
        with CaptureQueriesContext(connection) as asked:
            make(cast.edgar, *items)
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1] > 0, counts
