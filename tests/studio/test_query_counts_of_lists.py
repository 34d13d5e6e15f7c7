"""How many queries the home page and the lists take: as many among hundreds as among a handful."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.serving.test_query_counts import grow, insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.window import KINDS, Window, page_of

pytestmark = pytest.mark.database

FEW, MANY = 60, 210
MAX_QUERIES = 22


def pages(kind: Kind) -> list[tuple[str, dict[str, str]]]:
    """Return the address and the query of every page that shows many."""
    address = KINDS[kind].address("changelist")
    return [
        ("/studio/", {}),
        ("/studio/notifications/", {}),
        ("/studio/waiting/", {}),
        ("/studio/waiting/", {"whose": "others", "page": "2"}),
        (address, {}),
        (address, {"page": "2", "order": "id"}),
        (address, {"q": "name", "state": "published", "author": "alice", "label": "stable"}),
        (address, {"folder": "r1", "workspace": "acme"}),
        (address, {"tag": "red", "waiting": "1", "labelled": "1", "starred": "1", "order": "-name"}),
        (KINDS[kind].address("filters"), {}),
        (KINDS[kind].address("add"), {}),
        *((page_of(kind, page, "r0"), {}) for page in ("usage", "delete", "unpublish")),
    ]


def counts(window: Window, kind: Kind) -> dict[str, int]:
    found = {}
    for address, query in pages(kind):
        window.get(address, **query)  # the first time it is remembered that they opened it
        with CaptureQueriesContext(connection) as queries:
            assert window.get(address, **query).status == 200
        found[f"{address} {query}"] = len(queries)
    return found


def test_pages_that_show_many_take_as_many_queries_as_among_a_handful(cast: Cast) -> None:
    kinds = (AGENTS, PROMPT_BLOCKS)
    grow(0, FEW)
    window = Window.of("paula")
    window.get("/studio/")
    among_few = [counts(window, kind) for kind in kinds]
    assert {page: count for found in among_few for page, count in found.items() if count > MAX_QUERIES} == {}
    names = [f"r{number}" for number in range(FEW, MANY)]
    insert_resources(AGENTS, names, agents={"r0": {}})
    insert_resources(PROMPT_BLOCKS, names)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for kind in kinds:
        assert f"{MANY} " in window.get(KINDS[kind].address("changelist")).text
    assert [counts(window, kind) for kind in kinds] == among_few
