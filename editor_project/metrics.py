"""The metrics of one process, in files that all processes of a parent share.

The library is imported only if metrics are enabled: `PROMETHEUS_MULTIPROC_DIR` has to be set before that.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from django.contrib.admindocs.views import simplify_regex
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db import connections
from django.urls import Resolver404, resolve

from versioning.domain import telemetry

if TYPE_CHECKING:
    from versioning.runtime.observing import RunUse

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder, for the library and the processes of a parent."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SECONDS_OF_RUNS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)
_PROVIDER: Final = re.compile(r"[a-z0-9_.-]{1,40}")
_RESULTS: Final = {
    "editor_answer_cache_total": ("hit", "made", "miss"),
    "editor_deliveries_total": ("delivered", "failed"),
    "editor_sign_ins_total": ("succeeded", "failed"),
}
"""The results that are counted from zero, so that an alert sees the first failure as an increase."""


class PrometheusMeter:
    """The counters, histograms and gauges of a process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415  as above

        registry = CollectorRegistry()  # only the files are read
        counters = {
            "editor_http_requests_total": ("Answered requests.", ("route", "method", "status")),
            "editor_answer_cache_total": ("Reads, by how they were answered.", ("result",)),
            "editor_reads_total": ("Reads of the API, by the database that answered.", ("database",)),
            "editor_deliveries_total": ("Attempts to deliver an event to a webhook.", ("result",)),
            "editor_runs_total": ("Runs of agents.", ("provider", "result")),
            "editor_tokens_total": ("Tokens of models.", ("provider", "direction")),
            "editor_sign_ins_total": ("Attempts to sign in.", ("result",)),
        }
        self._counters: dict[str, Any] = {
            name: Counter(name, text, labels, registry=registry) for name, (text, labels) in counters.items()
        }
        for name, results in _RESULTS.items():
            for result in results:
                self._counters[name].labels(result)
        self._histograms: dict[str, Any] = {
            "editor_http_request_seconds": Histogram(
                "editor_http_request_seconds",
                "Durations of requests.",
                ("route",),
                buckets=_SECONDS,
                registry=registry,
            ),
            "editor_run_seconds": Histogram(
                "editor_run_seconds", "Durations of runs.", (), buckets=_SECONDS_OF_RUNS, registry=registry
            ),
        }
        gauges = {
            "editor_streams_open": ("Open streams of events.", ()),
            "editor_db_pool": ("Connections of the pools, and requests that wait for one.", ("state",)),
        }
        self._gauges: dict[str, Any] = {
            name: Gauge(name, text, labels, registry=registry, multiprocess_mode="livesum")
            for name, (text, labels) in gauges.items()
        }

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        route, method = route_template(path), method if method in _METHODS else _OTHER
        self._counters["editor_http_requests_total"].labels(route, method, str(status)).inc()
        self._histograms["editor_http_request_seconds"].labels(route).observe(seconds)

    def count(self, name: str, amount: float, **labels: str) -> None:
        _with(self._counters[name], labels).inc(amount)

    def level(self, name: str, value: float, **labels: str) -> None:
        _with(self._gauges[name], labels).set(value)

    def took(self, name: str, seconds: float, **labels: str) -> None:
        _with(self._histograms[name], labels).observe(seconds)


def _with(metric: Any, labels: dict[str, str]) -> Any:
    return metric.labels(**labels) if labels else metric


def enable() -> None:
    """Enable metrics in this process, if its parent has a folder for them."""
    if not os.environ.get(FOLDER):
        return
    telemetry.use_meter(PrometheusMeter())
    user_logged_in.connect(_signed_in, dispatch_uid=__name__)
    user_login_failed.connect(_not_signed_in, dispatch_uid=__name__)


def sample() -> None:
    """Record the state of the pool of connections of this process."""
    if not telemetry.is_measured():
        return
    for pool in getattr(connections["default"], "_connection_pools", {}).values():
        stats = pool.get_stats()
        size, free = stats.get("pool_size", 0), stats.get("pool_available", 0)
        telemetry.level("editor_db_pool", size - free, state="used")
        telemetry.level("editor_db_pool", free, state="free")
        telemetry.level("editor_db_pool", stats.get("requests_waiting", 0), state="waiting")


@lru_cache(maxsize=4096)
def route_template(path: str) -> str:
    """Return the template of an address, such as `/api/agents/<id>`; `other` for an unknown one."""
    try:
        route = resolve(path).route
    except (Resolver404, ValueError):
        return _OTHER
    return simplify_regex(route) if route.removeprefix("/") not in {"", "api/"} else _OTHER


def observe_run(use: RunUse) -> None:
    """Count the agents of a run and their tokens, by provider."""
    if not telemetry.is_measured():
        return
    for agent in use.agents.values():
        provider = str((agent.served.model or {}).get("provider", "none"))
        if not _PROVIDER.fullmatch(provider):
            provider = _OTHER
        for result, number in (("ok", agent.runs - agent.errors), ("error", agent.errors)):
            if number:
                telemetry.count("editor_runs_total", number, provider=provider, result=result)
        for direction, number in (("input", agent.input_tokens), ("output", agent.output_tokens)):
            if number:
                telemetry.count("editor_tokens_total", number, provider=provider, direction=direction)
    called = use.agents.get(use.called)
    if called is not None:
        telemetry.took("editor_run_seconds", called.milliseconds / 1000)


def _signed_in(**_signal: Any) -> None:
    telemetry.count("editor_sign_ins_total", result="succeeded")


def _not_signed_in(**_signal: Any) -> None:
    telemetry.count("editor_sign_ins_total", result="failed")
