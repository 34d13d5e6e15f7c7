"""The statements on the path of every read find their rows by an index, on either database."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.test_query_counts import grow
from versioning.conf import get_editor
from versioning.editor import Collection
from versioning.models import AgentVersion, BlockReference, Favorite, SubAgentReference
from versioning.models.basis import Basis

pytestmark = pytest.mark.database

ROWS = 3_000
OF_STATEMENTS = {"d", "items"}  # the names of statements within statements, which are read whole


def scanned(basis: Basis) -> list[str]:
    """Return the tables of the editor that the database reads from end to end."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {basis.sql}", basis.params)
        plan = "\n".join(str(row) for row in cursor.fetchall())
    assert "versioning_" in plan or "SEARCH" in plan, plan
    tables = re.findall(r"Seq Scan on (versioning_\w+)|SCAN (versioning_\w+|[a-z])\b(?! USING)", plan)
    found = [table or alias for table, alias in tables]
    return [name for name in found if name not in OF_STATEMENTS]


@pytest.fixture
def thousands(cast: Cast) -> None:
    """Thousands of agents, all favorites, and blocks, each with a target of its own beside a common one."""
    grow(0, ROWS)
    for references in (BlockReference, SubAgentReference):
        versions = AgentVersion.objects.values_list("pk", "resource_id")
        references.objects.bulk_create(
            references(version_id=version_id, target_id=f"of {name}") for version_id, name in versions
        )
    fan = User.objects.get(username="vera")
    Favorite.objects.bulk_create(Favorite(agent_id=f"r{number}", user=fan) for number in range(ROWS))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def collection(kind: Kind) -> Collection[object]:
    """Return the editor's collection of this kind."""
    editor = get_editor()
    found: Collection[object] = editor.agent if kind is AGENTS else editor.prompt  # type: ignore[assignment]
    return found


@pytest.mark.usefixtures("thousands")
def test_a_whole_table_is_noticed() -> None:
    table = Basis("SELECT config_json FROM versioning_agentversion WHERE change_message = %s", ("x",))
    assert scanned(table) == ["versioning_agentversion"]


@pytest.mark.parametrize("kind", [AGENTS, PROMPT_BLOCKS], ids=["agents", "prompt-blocks"])
@pytest.mark.usefixtures("thousands")
def test_no_read_of_one_resource_scans_a_table(kind: Kind) -> None:
    verbs = collection(kind)
    page = slice(0, 20)
    found = [
        verbs.basis("r0"),
        verbs.basis_of_versions("r0", ["-number", "-number"], page),
        verbs.basis_of_record("r0"),
        verbs.basis_of_dependents("r1"),
        Basis.of_served("r1"),
    ]
    for basis in found:
        assert basis is not None
        assert scanned(basis) == [], basis.sql
