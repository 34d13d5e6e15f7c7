"""The statements of every read find their rows by an index, on either database."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.conftest import Cast
from tests.serving.test_query_counts import grow
from tests.support.api import AGENTS, Api, Kind
from tests.support.factories import insert_rows
from versioning.domain.access import APPLICATION
from versioning.domain.events import Reach, Target
from versioning.models import (
    Agent,
    AgentVersion,
    BlockReference,
    Event,
    Favorite,
    PromptBlock,
    SubAgentReference,
    events,
)
from versioning.models.agents import PromptBlockVersion

pytestmark = pytest.mark.database

ROWS = 700 if connection.vendor == "postgresql" else 200
"""The plans of SQLite do not depend on how many there are."""
LARGE = {
    model._meta.db_table
    for model in (
        Agent,
        AgentVersion,
        PromptBlock,
        PromptBlockVersion,
        BlockReference,
        SubAgentReference,
        Favorite,
        Event,
    )
}
"""Of small ones PostgreSQL reads all rows, and is right to."""


def scanned(sql: str, parameters: Any = None) -> list[str]:
    """Return the large tables that the database reads from end to end."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}", parameters)
        plan = "\n".join(str(row) for row in cursor.fetchall())
    found = re.findall(r"Seq Scan on (versioning_\w+)|SCAN (versioning_\w+)\b(?! USING)", plan)
    return [table for tables in found for table in tables if table in LARGE]


def scanned_by(api: Api, path: str) -> list[tuple[str, list[str]]]:
    """Return the statements of a read that scan a table, and which."""
    return [(sql, tables) for sql, given in selects_of(api, path) if (tables := scanned(sql, given))]


def selects_of(api: Api, path: str) -> list[tuple[str, Any]]:
    """Return the statements of a read, with their parameters."""
    selects: list[tuple[str, Any]] = []

    def note(execute: Callable[..., Any], sql: str, parameters: Any, *rest: Any) -> Any:
        if sql.startswith("SELECT"):
            selects.append((sql, parameters))
        return execute(sql, parameters, *rest)

    # For statements prepared on PostgreSQL, Django has no text with the parameters filled in.
    with connection.execute_wrapper(note):
        assert api.get(path).status == 200
    assert selects
    return selects


@pytest.fixture(scope="module")
def hundreds(stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]) -> None:
    """Hundreds of agents, all favorites, and blocks, each with its own target and a common one."""
    with stored_once():
        make_hundreds()


@pytest.fixture
def cast(hundreds: None, shared_cast: Cast) -> Cast:
    """The cast, created before those hundreds."""
    return shared_cast


def make_hundreds() -> None:
    """Store them with a few statements."""
    grow(0, ROWS)
    for references in (BlockReference, SubAgentReference):
        versions = AgentVersion.objects.values_list("pk", "resource_id")
        insert_rows(
            references(version_id=version_id, target_id=f"of {name}") for version_id, name in versions
        )
    fan = User.objects.get(username="vera")
    Favorite.objects.bulk_create(
        Favorite(kind="agent", resource_id=f"r{number}", user=fan) for number in range(ROWS)
    )
    with events.transaction():
        for number in range(ROWS):
            about = Target(
                kind="agent",
                id=f"r{number}",
                identity=uuid.uuid4(),
                workspace_id="acme",
                reach=Reach.MEMBERS,
            )
            events.record("agent.updated", by=APPLICATION, workspace_id="acme", resource=about)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def test_a_full_scan_is_detected(cast: Cast) -> None:
    everything = "SELECT config_json FROM versioning_agentversion WHERE change_message = 'x'"
    assert scanned(everything) == ["versioning_agentversion"]


def test_no_read_of_one_resource_scans_a_table(cast: Cast, kind: Kind) -> None:
    address = kind.url("r1")
    paths = [address, f"{address}/versions", f"{address}/dependents"]
    for path in [*paths, "/agents/r1"] if kind is AGENTS else paths:
        for api in (cast.alice, cast.edgar):
            assert scanned_by(api, path) == [], path


def test_a_list_is_counted_without_joining_versions(cast: Cast, kind: Kind) -> None:
    (count,) = [sql for sql, _ in selects_of(cast.edgar, f"{kind.path}?perPage=5") if "COUNT(*)" in sql]
    assert "JOIN" not in count


def test_no_page_of_the_log_scans_it(cast: Cast) -> None:
    for query in (f"after={ROWS - 10}", f"before={ROWS}&limit=10", "kind=agent&id=r1", "limit=10"):
        for api in (cast.alice, cast.edgar, cast.charlie):
            # Of other tables PostgreSQL may read from the beginning: it stops when the page is full.
            found = scanned_by(api, f"/events?{query}")
            assert [sql for sql, tables in found if Event._meta.db_table in tables] == [], query
