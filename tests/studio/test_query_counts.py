"""How many queries pages take: as many with several pages of rows as with little more than one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studio import history
from studio.activity import views as activity
from studio.publishing import drafts
from studio.resources import views as resources
from studio.workspaces import keys, members
from tests.conftest import Cast
from tests.serving.test_query_counts import grow, insert_history, insert_resources, versions_to_read
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.served import reference, text
from tests.support.studio import KINDS, Visitor, page_of, workspace_page
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.models import Agent, Workspace, events
from versioning.serving.grants import target_of
from versioning.testing import ApiKeyFactory, UserFactory

PER_PAGE = 3
FEW, MANY = 4, 8
MAX_QUERIES = 33
"""Three of them count what waits for the person, two how many agents use the resource, once, and two ask for
the position of the log: within the transaction of a test nothing is cached."""


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a list have several pages with a few rows."""
    for module in (activity, history, resources, members, keys, drafts):
        monkeypatch.setattr(module, "PER_PAGE", PER_PAGE)


def pages(kind: Kind) -> dict[str, str]:
    first, second = versions_to_read(kind)
    return {
        "history": page_of(kind, "history", "r0"),
        "second page": page_of(kind, "history", "r0") + "?page=2",
        "of one author": page_of(kind, "history", "r0") + "?author=alice",
        "published only": page_of(kind, "history", "r0") + "?published=on",
        "side by side": page_of(kind, "compare", "r0") + f"?from=previous&to={second}&layout=side-by-side",
        "compare": page_of(kind, "compare", "r0"),
        "compare two": page_of(kind, "compare", "r0") + f"?from={first}&to={second}",
        "publish": page_of(kind, "publish", "r0"),
        "version": page_of(kind, "version", "r0", second),
        "delete": page_of(kind, "version_delete", "r0", second),
    }


def counts(visitor: Visitor, addresses: dict[str, str]) -> dict[str, int]:
    found = {}
    for name, address in addresses.items():
        with CaptureQueriesContext(connection) as queries:
            answer = visitor.get(address)
        assert answer.status == 200, name
        found[name] = len(queries)
    return found


def test_the_pages_about_versions(cast: Cast, kind: Kind) -> None:
    grow(0, 2)
    insert_history(kind, "r0", range(3, FEW + 1))
    paula = Visitor("paula")
    paula.get(page_of(kind, "history", "r0"))
    among_few = counts(paula, pages(kind))
    insert_history(kind, "r0", range(FEW + 1, MANY + 1))
    assert counts(paula, pages(kind)) == among_few
    assert max(among_few.values()) <= MAX_QUERIES


def fill(start: int, stop: int) -> None:
    """Give acme this many members, and as many log entries."""
    acme, alice = Workspace.objects.get(pk="acme"), User.objects.get(username="alice")
    for number in range(start, stop):
        ApiKeyFactory(owner=UserFactory(roles={"acme": "viewer"}), workspace=None)
        ApiKeyFactory(owner=alice, workspace=acme)
        with events.transaction():
            agent = target_of(Agent.objects.get(pk=f"r{number % 2}"), get_editor().code)
            events.record("agent.published", by=APPLICATION, workspace_id="acme", resource=agent)


def test_the_pages_about_a_workspace(cast: Cast) -> None:
    grow(0, 2)
    alice = Visitor("alice")
    addresses = {name: workspace_page(name) for name in ("members", "keys", "activity")}
    addresses["list"] = "/studio/versioning/workspace/"
    addresses["unlimited keys"] = "/studio/versioning/workspace/keys/"
    addresses["activity in all"] = "/studio/activity/"
    fill(0, FEW)
    alice.get(addresses["list"])
    among_few = counts(alice, addresses)
    fill(FEW, MANY)
    assert counts(alice, addresses) == among_few
    assert max(among_few.values()) <= MAX_QUERIES


def lists(kind: Kind) -> list[tuple[str, dict[str, str]]]:
    """Return the URL and the query of every page with a list."""
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


def counts_of_lists(window: Visitor, kind: Kind) -> dict[str, int]:
    found = {}
    for address, query in lists(kind):
        with CaptureQueriesContext(connection) as queries:
            assert window.get(address, **query).status == 200
        found[f"{address} {query}"] = len(queries)
    return found


def test_the_lists_and_the_home_page(cast: Cast, kind: Kind) -> None:
    grow(0, FEW)
    window = Visitor("paula")
    window.get(page_of(kind, "usage", "r0"))  # the first time it is remembered that they opened it
    among_few = counts_of_lists(window, kind)
    assert max(among_few.values()) <= MAX_QUERIES
    names = [f"r{number}" for number in range(FEW, MANY)]
    insert_resources(AGENTS, names, agents={"r0": {}})
    insert_resources(PROMPT_BLOCKS, names)
    events.touch()  # so that what is cached about resources is counted again, as after a save
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    assert f"{MANY} " in window.get(KINDS[kind].address("changelist")).text
    assert counts_of_lists(window, kind) == among_few


PAGES = ("change", "preview", "try")


def queries(person: Visitor, kind: Kind, page: str, **query: str) -> int:
    person.get(page_of(kind, page), **query)  # the first time it is remembered that they opened it
    with CaptureQueriesContext(connection) as captured:
        assert person.get(page_of(kind, page), **query).status == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_the_number_of_resources(cast: Cast, kind: Kind) -> None:
    edgar = Visitor("edgar")
    kind.make(cast.alice, "writer")
    insert_resources(kind, [f"few/{number}" for number in range(FEW)])
    few = [queries(edgar, kind, page) for page in PAGES]
    assert max(few) <= MAX_QUERIES
    insert_resources(kind, [f"many/{number}" for number in range(MANY)])
    assert [queries(edgar, kind, page) for page in PAGES] == few


def test_the_number_of_queries_does_not_grow_with_the_references_of_the_agent(cast: Cast) -> None:
    edgar, vera = Visitor("edgar"), Visitor("vera")
    insert_resources(PROMPT_BLOCKS, [f"block/{number}" for number in range(MANY)])
    insert_resources(AGENTS, [f"agent/{number}" for number in range(MANY)])

    def counts(number: int) -> list[int]:
        references = [{"type": "prompt_block_ref", "id": f"block/{n}"} for n in range(number)]
        sub_agents = {f"agent/{n}": {} for n in range(number)}
        fields = {"instructions": [text("x"), *references], "agents": sub_agents}
        AGENTS.make(cast.alice, "writer", **fields, autoPublish=True)
        found = [queries(person, AGENTS, "change") for person in (edgar, vera)]
        cast.alice.delete(AGENTS.url("writer"))
        return found

    few = counts(1)
    assert counts(MANY) == few and max(few) <= MAX_QUERIES


def test_the_number_of_queries_does_not_grow_with_the_agents_that_use_the_block(cast: Cast) -> None:
    edgar = Visitor("edgar")
    PROMPT_BLOCKS.make(cast.alice, "writer", autoPublish=True)

    def count(number: int) -> int:
        for place in range(number):
            fields = {"instructions": [reference("writer")], "autoPublish": True}
            AGENTS.make(cast.alice, f"user-{number}-{place}", **fields)
        return queries(edgar, PROMPT_BLOCKS, "change")

    assert count(1) == count(3) <= MAX_QUERIES
    assert b"Live in 4 agents" in edgar.get(page_of(PROMPT_BLOCKS, "change")).content


def test_suggestions_are_few_and_quick_to_ask_for(cast: Cast) -> None:
    edgar = Visitor("edgar")
    AGENTS.make(cast.alice, "writer")
    insert_resources(PROMPT_BLOCKS, [f"many/{number}" for number in range(21)])
    assert queries(edgar, AGENTS, "choices", of="prompt", q="many") <= MAX_QUERIES
    assert len(edgar.get(page_of(AGENTS, "choices"), of="prompt", q="many").json()["choices"]) == 20
