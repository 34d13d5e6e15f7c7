"""The edit page, the preview and the suggestions take as many queries among many as among few."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.serving.test_query_counts import FEW, MANY, insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.forms import Person
from tests.support.served import reference, text

MAX_QUERIES = 19
MAX_QUERIES_OF_TRYING = 20
PAGES = ("change", "preview", "try")


def queries(person: Person, kind: Kind, page: str, **query: str) -> int:
    person.get(kind, page, **query)  # the first time it is remembered that they opened it
    with CaptureQueriesContext(connection) as captured:
        assert person.get(kind, page, **query).status_code == 200
    return len(captured)


def test_a_page_takes_as_many_queries_whatever_there_is(cast: Cast, kind: Kind) -> None:
    edgar = Person("edgar")
    kind.make(cast.alice, "writer")
    insert_resources(kind, [f"few/{number}" for number in range(FEW)])
    few = [queries(edgar, kind, page) for page in PAGES]
    assert max(few) <= MAX_QUERIES
    insert_resources(kind, [f"many/{number}" for number in range(MANY)])
    assert [queries(edgar, kind, page) for page in PAGES] == few


def test_a_page_takes_as_many_queries_whatever_the_agent_refers_to(cast: Cast) -> None:
    edgar, vera = Person("edgar"), Person("vera")
    insert_resources(PROMPT_BLOCKS, [f"block/{number}" for number in range(50)])
    insert_resources(AGENTS, [f"agent/{number}" for number in range(50)])

    def counts(number: int) -> list[int]:
        references = [{"type": "prompt_block_ref", "id": f"block/{n}"} for n in range(number)]
        sub_agents = {f"agent/{n}": {} for n in range(number)}
        fields = {"instructions": [text("x"), *references], "agents": sub_agents}
        AGENTS.make(cast.alice, "writer", **fields, autoPublish=True)
        found = [queries(person, AGENTS, "change") for person in (edgar, vera)]
        cast.alice.delete(AGENTS.url("writer"))
        return found

    few = counts(1)
    assert counts(50) == few and max(few) <= MAX_QUERIES


def test_a_page_takes_as_many_queries_however_many_agents_use_the_block(cast: Cast) -> None:
    edgar = Person("edgar")
    PROMPT_BLOCKS.make(cast.alice, "writer", autoPublish=True)

    def count(number: int) -> int:
        for place in range(number):
            fields = {"instructions": [reference("writer")], "autoPublish": True}
            AGENTS.make(cast.alice, f"user-{number}-{place}", **fields)
        return queries(edgar, PROMPT_BLOCKS, "change")

    assert count(1) == count(12) <= MAX_QUERIES
    assert b"Live in 13 agents" in edgar.get(PROMPT_BLOCKS).content


def test_suggestions_are_few_and_quick_to_ask_for(cast: Cast) -> None:
    edgar = Person("edgar")
    AGENTS.make(cast.alice, "writer")
    insert_resources(PROMPT_BLOCKS, [f"many/{number}" for number in range(MANY)])
    assert queries(edgar, AGENTS, "choices", of="prompt", q="many") <= MAX_QUERIES
    assert len(edgar.get(AGENTS, "choices", of="prompt", q="many").json()["choices"]) == 20


def test_trying_a_block_takes_as_many_queries_however_many_agents_use_it(cast: Cast) -> None:
    edgar = Person("edgar")
    PROMPT_BLOCKS.make(cast.alice, "writer", autoPublish=True)
    PROMPT_BLOCKS.save(cast.alice, "writer")
    reference = [{"type": "prompt_block_ref", "id": "writer"}]
    AGENTS.make(cast.alice, "user/0", reference, autoPublish=True)
    one = queries(edgar, PROMPT_BLOCKS, "try")
    for number in range(1, FEW):
        AGENTS.make(cast.alice, f"user/{number}", reference, autoPublish=True)
    assert queries(edgar, PROMPT_BLOCKS, "try") == one <= MAX_QUERIES_OF_TRYING


def test_pages_that_list_who_uses_a_block_do_not_count_them_once_more(cast: Cast) -> None:
    paula = Person("paula")
    PROMPT_BLOCKS.make(cast.alice, "writer", autoPublish=True)
    PROMPT_BLOCKS.save(cast.alice, "writer")
    for number in range(2):
        AGENTS.make(cast.alice, f"user/{number}", instructions=[reference("writer")], autoPublish=True)
    for page in ("try", "usage", "publish", "unpublish", "delete"):
        with CaptureQueriesContext(connection) as captured:
            answer = paula.get(PROMPT_BLOCKS, page)
        assert b"Live in 2 agents" in answer.content, page
        statements = [one["sql"] or "" for one in captured]
        counted = [sql for sql in statements if "COUNT(" in sql and "blockreference" in sql]
        assert counted == [], page
