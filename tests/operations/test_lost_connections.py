"""PostgreSQL restarts or fails over: every connection is cut, and no request is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.api import AGENTS
from tests.support.remote import connected
from tests.support.service import Service

pytestmark = pytest.mark.postgresql

CALLERS = 12
TURNS = 10
CUT_ALL = """
SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_no_request_fails_after_the_database_cut_all_connections(
    live_service: Service,
) -> None:
    def statuses(_: int) -> set[int]:
        with connected(live_service) as api:
            return {api.get(AGENTS.path).status for _ in range(TURNS)}

    with ThreadPoolExecutor(CALLERS) as threads:
        assert set.union(*threads.map(statuses, range(CALLERS))) == {200}
        with psycopg.connect(live_service.environment["DATABASE_URL"], autocommit=True) as server:
            [(cut,)] = server.execute(CUT_ALL)
        assert cut >= 1
        assert set.union(*threads.map(statuses, range(CALLERS))) == {200}
