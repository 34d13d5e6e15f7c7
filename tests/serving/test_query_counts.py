"""How many queries a read takes: few, and the same number with thousands of rows as with a handful."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.factories import (
    AgentFactory,
    AgentLabelFactory,
    AgentVersionFactory,
    PromptBlockFactory,
    PromptBlockLabelFactory,
    PromptBlockVersionFactory,
    insert_rows,
)
from versioning.conf import get_editor
from versioning.models import ApiKey, BlockReference, SubAgentReference
from versioning.models.guarded import unguard

pytestmark = pytest.mark.database

FEW = 10
MANY = 60 if connection.vendor == "postgresql" else 1_050
"""SQLite takes 999 values at a time, PostgreSQL all."""
# The queries of a read without authentication. Two of them ask which versions are chosen: only here,
# in a transaction, which may see its own uncommitted changes.
MOST = 6

FACTORIES: dict[Kind, tuple[Any, Any, Any]] = {
    AGENTS: (AgentFactory, AgentVersionFactory, AgentLabelFactory),
    PROMPT_BLOCKS: (PromptBlockFactory, PromptBlockVersionFactory, PromptBlockLabelFactory),
}


def insert_resources(kind: Kind, names: list[str], **config: Any) -> list[Any]:
    """Insert published resources with a labelled version each, and return the versions."""
    rows, versions_of, labels_of = FACTORIES[kind]
    author = User.objects.get(username="alice")
    versions = [versions_of.build(resource_id=name, author=author, more=config) for name in names]
    insert_rows(rows.build(version=version) for version in versions)
    insert_rows(versions)
    insert_rows(labels_of.build(version=version, name="stable") for version in versions)
    return versions


def insert_history(kind: Kind, resource_id: str, numbers: range) -> None:
    """Insert further versions of a resource, each with its own label."""
    rows, versions_of, labels_of = FACTORIES[kind]
    author = User.objects.get(username="alice")
    versions = [versions_of.build(resource_id=resource_id, number=one, author=author) for one in numbers]
    insert_rows(versions)
    insert_rows(labels_of.build(version=version) for version in versions)
    newest = {"latest_version_id": versions[-1].pk, "last_number": numbers[-1]}
    unguard(rows._meta.model.objects.filter(pk=resource_id)).update(**newest)


def grow(start: int, stop: int) -> None:
    """Increase the number of rows of every type from `start` to `stop`.

    All agents refer to the block `r0` and, but for itself, to the agent `r0`; these two are the
    ones that have `stop` versions.
    """
    names = [f"r{index}" for index in range(start, stop)]
    insert_resources(PROMPT_BLOCKS, names)
    reference = {"type": "prompt_block_ref", "id": "r0"}
    agents = insert_resources(AGENTS, names, instructions=[reference], agents={"r0": {}})
    insert_rows(BlockReference(version_id=version.pk, target_id="r0") for version in agents)
    insert_rows(
        SubAgentReference(version_id=version.pk, target_id="r0")
        for version in agents
        if version.resource_id != "r0"
    )
    for kind in FACTORIES:
        insert_history(kind, "r0", range(start + 1 if start else 2, stop + 1))
    # Only this transaction sees the rows: PostgreSQL would go on planning for empty tables.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def versions_to_read(kind: Kind) -> tuple[str, str]:
    """Return the ids of two versions of `r0`."""
    versions = FACTORIES[kind][1]._meta.model.objects
    rows = versions.filter(resource_id="r0", number__in=(1, 2)).order_by("number")
    first, second = map(str, rows.values_list("pk", flat=True))
    return first, second


def reads(kind: Kind) -> list[tuple[str, dict[str, Any]]]:
    """Return the path and the query of every sort of read."""
    first, second = versions_to_read(kind)
    address, history = kind.url("r0"), kind.url("r0", "versions")
    found = [
        (kind.path, {}),
        (kind.path, {"perPage": 3, "page": 2, "orderBy[field]": "updatedAt", "orderBy[direction]": "ASC"}),
        (kind.path, {"search": "text", "hasDraft": "false", "workspaceId": "acme", "authorId": "alice"}),
        (address, {}),
        (address, {"status": "draft"}),
        (address, {"versionId": second}),
        (address, {"label": "stable"}),
        (history, {}),
        (history, {"perPage": 1000}),
        (history, {"perPage": 3, "page": 2, "orderBy[field]": "createdAt"}),
        (f"{history}/{second}", {}),
        (f"{history}/compare", {"from": first, "to": second}),
        (kind.url("r0", "labels"), {}),
        (kind.url("r0", "dependents"), {}),
        (kind.url("r0", "dependents"), {"status": "draft"}),
    ]
    served = [("/agents/r1", {}), ("/agents/r1", {"status": "draft"})]
    return found + served if kind is AGENTS else found


def queries_of(api: Api, path: str, query: dict[str, Any]) -> int:
    """Return how many queries a read takes, without those of the authentication."""
    assert api.get(path, surprise="1").status == 400
    with CaptureQueriesContext(connection) as for_the_key:
        assert api.get(path, surprise="1").status == 400
    with CaptureQueriesContext(connection) as all_of_them:
        answer = api.get(path, **query)
    assert answer.status == 200, answer.body
    return len(all_of_them) - len(for_the_key)


def counts(api: Api, kind: Kind) -> dict[str, int]:
    """Return how many queries each read takes, by its name."""
    ids = dict(zip(versions_to_read(kind), ("FIRST", "SECOND"), strict=True))
    found: dict[str, int] = {}
    for path, query in reads(kind):
        name = f"{path} {query}"
        for version_id, word in ids.items():
            name = name.replace(version_id, word)
        found[name] = queries_of(api, path, query)
    return found


def test_authentication_takes_three_queries_at_most(alice: Api) -> None:
    ApiKey.objects.update(last_used_at=None)
    with CaptureQueriesContext(connection) as first:
        assert alice.get("/stored/agents", surprise="1").status == 400
    with CaptureQueriesContext(connection) as second:
        assert alice.get("/stored/agents", surprise="1").status == 400
    counts = [sum("SAVEPOINT" not in str(one["sql"]) for one in found) for found in (first, second)]
    assert counts == [3, 2]


@pytest.mark.usefixtures("alice")
def test_saving_and_publishing_take_few_statements(kind: Kind) -> None:
    [version] = insert_resources(kind, ["one"])
    verbs = get_editor().agent if kind == AGENTS else get_editor().prompt
    field = "instructions" if kind == AGENTS else "content"
    verbs.edit("one", {field: "Warm up: statements are built once."})
    statements: list[str] = []

    def noting(execute: Callable[..., Any], statement: str, *arguments: Any) -> Any:
        statements.append(statement)
        return execute(statement, *arguments)

    with connection.execute_wrapper(noting):
        saved = verbs.edit("one", {field: "Be brief."}, publish=True)
    statements = [statement for statement in statements if "SAVEPOINT" not in statement]
    assert saved.version.number == version.number + 2
    # Lock; insert the version; ask for the review policy, a rollout and gates; move the pointers; note what
    # was published; take a position of the log, and insert the entries. Of a block the log is told which
    # agents show it.
    assert len(statements) <= (9 if kind == AGENTS else 10), statements


def test_a_label_selector_costs_one_query_more(alice: Api) -> None:
    grow(0, FEW)
    by_label, published = (queries_of(alice, "/agents/r1", query) for query in ({"label": "stable"}, {}))
    assert by_label <= published + 1


def test_reads_take_few_queries_and_as_many_with_a_thousand_rows_as_with_a_handful(
    alice: Api, kind: Kind
) -> None:
    grow(0, FEW)
    among_few = counts(alice, kind)
    # A page of versions takes one more, for their lengths: each may hold a megabyte.
    most = {True: MOST + 1, False: MOST}
    assert not [one for one, count in among_few.items() if not 1 <= count <= most["/versions {" in one]]
    grow(FEW, MANY)
    assert alice.get(kind.path).body["total"] == MANY
    assert alice.get(kind.url("r0", "versions")).body["total"] == MANY
    expected = MANY - 1 if kind is AGENTS else MANY
    assert len(alice.get(kind.url("r0", "dependents")).body["dependents"]) == expected
    assert counts(alice, kind) == among_few
    assert queries_of(alice, kind.path, {"perPage": 1000, "status": "all"}) <= MOST


def test_all_agents_are_served_with_as_many_queries_as_a_few(alice: Api) -> None:
    grow(0, FEW)
    among_few = queries_of(alice, "/agents", {})
    grow(FEW, 60)
    assert queries_of(alice, "/agents", {}) == among_few


def test_an_agent_of_many_blocks_takes_as_many_queries_as_one_of_one_block(alice: Api) -> None:
    names = [f"b{index}" for index in range(100)]
    insert_resources(PROMPT_BLOCKS, names)
    for agent, used in (("one", names[:1]), ("all", names)):
        blocks = [{"type": "prompt_block_ref", "id": name} for name in used]
        AGENTS.make(alice, agent, instructions=blocks, autoPublish=True)
        served = alice.get(f"/agents/{agent}").body
        assert [block["id"] for block in served["blocks"] if block["shown"]] == used
    of_one, of_all = (queries_of(alice, f"/agents/{agent}", {}) for agent in ("one", "all"))
    assert 1 <= of_one == of_all <= MOST
