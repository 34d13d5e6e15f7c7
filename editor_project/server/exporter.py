"""`/metrics` of a parent process: the counters of its children, and figures from the database."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connection, connections

from editor_project.metrics import FOLDER
from editor_project.server import ports
from versioning.models import WorkerHeartbeat, events, replica
from versioning.worker.jobs import backlogs, seconds_since

logger = logging.getLogger(__name__)
_PATH: Final = "/metrics"
_MEMORY: Final = "/dev/shm"  # noqa: S108  a new folder is made there


@contextmanager
def serve_metrics() -> Iterator[None]:
    """Serve the metrics of this process and its children during the block, if `EDITOR_METRICS_BIND` is set.

    Raises `CommandError` if the address cannot be used. Children started within the block find the folder.
    """
    if not settings.EDITOR_METRICS_BIND:
        yield
        return
    try:
        address, port = ports.parse(settings.EDITOR_METRICS_BIND)
        ports.claim(address, port).close()
        server = _Server((address, port), _Handler)
    except (ports.Unusable, OSError) as error:
        sentence = str(error).replace("--bind", "EDITOR_METRICS_BIND")
        raise CommandError(f"Metrics: {sentence}") from error
    # The library maps the files into memory: on a full disk, writing there would kill the process.
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="editor-metrics-", dir=memory, ignore_cleanup_errors=True
    ) as folder:
        os.environ[FOLDER] = folder
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            del os.environ[FOLDER]


class _Server(ThreadingHTTPServer):
    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)


class _Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != _PATH:
            self.send_error(404)
            return
        try:
            body, content_type = text()
        except Exception:
            logger.exception("the metrics could not be read")
            self.send_error(500)
            return
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Log nothing: requests come every few seconds."""


def text() -> tuple[bytes, str]:
    """Return the metrics of all processes of this parent, and the media type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415
    from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead  # noqa: PLC0415

    for file in Path(os.environ[FOLDER]).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except OSError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(_Database())
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Database:
    """Figures from the database, queried at each scrape; none while it does not answer."""

    def collect(self) -> Iterator[Any]:
        try:
            yield from list(self._gauges())
        except Error as error:
            logger.warning("the metrics lack the figures from the database: %s", error)
        finally:
            connections.close_all()
            if connection.vendor == "postgresql":
                connection.close_pool()  # type: ignore[attr-defined]

    @staticmethod
    def _gauges() -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415  as in `text`

        def gauge(name: str, meaning: str, value: float) -> Any:
            return GaugeMetricFamily(name, meaning, value=value)

        yield gauge("editor_log_position", "The position of the log.", events.position())
        yield gauge(
            "editor_log_age_seconds", "The age of its newest entry.", seconds_since(events.newest_at())
        )
        last_seen = WorkerHeartbeat.objects.order_by("-seen_at").values_list("seen_at", flat=True).first()
        if last_seen is not None:
            yield gauge(
                "editor_worker_heartbeat_age_seconds",
                "The time since a worker was last seen.",
                seconds_since(last_seen),
            )
        if replica.is_configured() and (replica_state := replica.state()).position is not None:
            yield gauge(
                "editor_replica_lag_seconds",
                "The age of the oldest entry of the log that the replica lacks.",
                replica_state.seconds_behind,
            )
        work = GaugeMetricFamily("editor_due_work", "Pending work.", labels=("kind", "state"))
        oldest = GaugeMetricFamily(
            "editor_due_work_oldest_seconds", "The age of the oldest pending work.", labels=("kind",)
        )
        for backlog in backlogs():
            for state in ("due", "leased", "later"):
                work.add_metric((backlog.kind, state), getattr(backlog, state))
            oldest.add_metric((backlog.kind,), backlog.oldest_seconds)
        yield from (work, oldest)
