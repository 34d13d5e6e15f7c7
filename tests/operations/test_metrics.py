"""`/metrics`: what all processes of a `serve` have counted, in Prometheus' text form."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from editor_project import metrics
from tests.support.api import AGENTS
from tests.support.calls import ECHO
from tests.support.ports import free_port
from tests.support.remote import connected
from tests.support.service import Service, running_service

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def measured_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of two processes with metrics."""
    bind = f"127.0.0.1:{free_port()}"
    folder = tmp_path_factory.mktemp("metrics")
    with running_service(folder, "--workers", "2", EDITOR_METRICS_BIND=bind) as service:
        yield service


def scrape(service: Service) -> dict[Sample, float]:
    answer = httpx2.get(f"http://{service.environment['EDITOR_METRICS_BIND']}/metrics", timeout=60)
    assert answer.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0)


def test_what_happens_is_counted_by_templates_and_never_by_ids(measured_service: Service) -> None:
    with connected(measured_service) as api:
        AGENTS.make(api, "secret-name", model=ECHO, autoPublish=True)
        for _ in range(3):
            assert api.get("/agents/secret-name").status == 200
        assert api.post("/agents/secret-name/generate", {"messages": "hush"}).status == 200
        assert api.get("/agents/missing").status == 404
    found = scrape(measured_service)
    route = "/api/agents/<id>"
    assert value(found, "editor_http_requests_total", route=route, method="GET", status="200") == 3
    assert value(found, "editor_http_requests_total", route=route, method="GET", status="404") == 1
    assert value(found, "editor_http_request_seconds_count", route=route) == 4
    assert value(found, "editor_runs_total", provider="echo", result="ok") == 1
    assert value(found, "editor_tokens_total", provider="echo", direction="output") > 0
    assert value(found, "editor_run_seconds_count") == 1
    assert value(found, "editor_log_position") > 0
    assert value(found, "editor_due_work", kind="delivery", state="due") == 0
    assert found["editor_sign_ins_total", frozenset({("result", "failed")})] == 0
    names = {name for name, _ in found}
    assert names >= {
        "editor_answer_cache_total",
        "editor_log_age_seconds",
        "editor_due_work_oldest_seconds",
    }
    texts = repr(found)
    for secret in ("secret-name", "hush", measured_service.key, "tester"):
        assert secret not in texts


def test_counters_survive_the_death_of_a_worker(measured_service: Service) -> None:
    def requests() -> float:
        found = scrape(measured_service).items()
        return sum(number for (name, _), number in found if name == "editor_http_requests_total")

    before = requests()
    assert measured_service.process is not None
    children = Path(f"/proc/{measured_service.process.pid}/task/{measured_service.process.pid}/children")
    for pid in children.read_text().split():
        if "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(int(pid), signal.SIGKILL)

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(httpx2.HTTPError):
            if httpx2.get(f"{measured_service.url}/readyz", timeout=60).status_code == 200:
                break
    assert requests() > before


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/api/stored/agents/writer/versions/5", "/api/stored/agents/<id>/versions/<version>"),
        ("/api/agents/team/support", "/api/agents/<id>"),
        ("/api/nothing/here", "other"),
        ("/static/x.css", "other"),
        ("/readyz", "/readyz"),
    ],
)
def test_routes_are_templates(path: str, route: str) -> None:
    assert metrics.route_template(path) == route
