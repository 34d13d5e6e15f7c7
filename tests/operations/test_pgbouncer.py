"""Behind pgbouncer in transaction mode, where each transaction may get another connection."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.api import AGENTS
from tests.support.installation import Installation, installation
from tests.support.pgbouncer import pooled
from tests.support.remote import connected

pytestmark = pytest.mark.postgresql


@pytest.fixture(params=["on", "off"])
def pooled_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """A running service with more threads than the pooler has connections, which it is told or notices."""
    folder = tmp_path_factory.mktemp("pooled")
    with installation(
        folder / "editor", is_set_up=True, EDITOR_TRANSACTION_POOLING=request.param
    ) as installed:
        environment = installed.service.environment
        with pooled(environment["DATABASE_URL"], folder) as url:
            environment["DATABASE_URL"] = url
            installed.service.start()
            yield installed
            installed.service.stop()


def test_reads_and_writes_work_when_every_transaction_has_another_connection(
    pooled_service: Installation,
) -> None:
    def live(number: int) -> list[int]:
        resource_id = f"writer-{number}"
        with connected(pooled_service.service) as api:
            AGENTS.make(api, resource_id, autoPublish=True)
            statuses = []
            for turn in range(5):
                saved = AGENTS.save(api, resource_id, f"turn {turn}", autoPublish=True)
                read = api.get(f"/agents/{resource_id}")
                assert (read.body["instructions"], saved["status"]) == (f"turn {turn}", "published")
                lists = [api.get(AGENTS.path, search="turn"), api.get(AGENTS.url(resource_id, "versions"))]
                statuses += [read.status, *(one.status for one in lists)]
            return statuses

    with ThreadPoolExecutor(8) as pool:
        found = [status for statuses in pool.map(live, range(8)) for status in statuses]
    assert set(found) == {200}
    assert '"level": "error"' not in pooled_service.service.log
