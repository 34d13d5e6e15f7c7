"""Traces by OpenTelemetry, sent by OTLP according to its usual variables.

The library is imported only if traces are enabled: one of the variables names their destination.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from django.core.checks import CheckMessage, Warning  # noqa: A004  Django calls it that
from django.db.backends.signals import connection_created

from editor_project.metrics import route_template
from versioning import __version__
from versioning.domain import telemetry
from versioning.domain.telemetry import Attributes, Headers

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_TEXTS: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_FAILED: Final = 500
_SYSTEMS: Final = {"postgresql": "postgresql", "sqlite": "sqlite"}

_providers: Final[list[TracerProvider]] = []
_described: ContextVar[Attributes] = ContextVar("_described")


class _Open:
    def __init__(self, span: Span) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(_without_none(attributes))
        if (attributes.get("http.response.status_code") or 0) >= _FAILED:
            self.fail(str(attributes["http.response.status_code"]))

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415  only where traces are on

        self._span.set_status(StatusCode.ERROR)
        self._span.set_attribute("error.type", kind)


class OpenTelemetryTracer:
    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import propagate, trace  # noqa: PLC0415  as above

        self._trace, self._propagate, self._provider = trace, propagate, provider
        self.is_loaded = False  # the agent library
        self._tracer = trace.get_tracer("editor", __version__, tracer_provider=provider)
        self._kinds = {
            "internal": trace.SpanKind.INTERNAL,
            "server": trace.SpanKind.SERVER,
            "client": trace.SpanKind.CLIENT,
        }

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, *, kind: str, caller: Headers | None
    ) -> Iterator[telemetry.Span]:
        # An error's message may contain a user's text, so only its kind is reported.
        with self._tracer.start_as_current_span(
            name,
            context=None if caller is None else self._propagate.extract(caller),
            kind=self._kinds[kind],
            attributes=_without_none(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as opened:
            span = _Open(opened)
            try:
                yield span
            except BaseException as error:
                span.fail(type(error).__qualname__)
                raise

    def report_answer(self, method: str, path: str, status: int, seconds: float, caller: Headers) -> None:
        route, now = route_template(path), time.time_ns()
        span = self._tracer.start_span(
            f"{method} {route}",
            context=self._propagate.extract(caller),
            kind=self._kinds["server"],
            attributes={
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "editor.cached": True,
            },
            start_time=now - int(seconds * 1e9),
        )
        span.end(now)

    def route(self, path: str) -> str:
        return route_template(path)

    def headers(self) -> dict[str, str]:
        """Return `traceparent` and `tracestate` of the current span."""
        carrier: dict[str, str] = {}
        self._propagate.inject(carrier)
        return carrier

    @contextmanager
    def describing(self, attributes: Attributes) -> Iterator[None]:
        """Add attributes to the spans about models and tools within a block."""
        token = _described.set(_without_none(attributes))
        try:
            yield
        finally:
            _described.reset(token)

    def load_runs(self) -> None:
        """Let the agent library and its HTTP clients report spans, and pass them on."""
        if self.is_loaded:
            return
        self.is_loaded = True
        from opentelemetry.instrumentation.httpx import (  # noqa: PLC0415  as above
            HTTPX2ClientInstrumentor,
            HTTPXClientInstrumentor,
        )
        from pydantic_ai import Agent, InstrumentationSettings  # noqa: PLC0415  20 MiB

        HTTPX2ClientInstrumentor().instrument(tracer_provider=self._provider)
        if find_spec("httpx") is not None:  # for the requests of an application's tools
            HTTPXClientInstrumentor().instrument(tracer_provider=self._provider)
        has_texts = os.environ.get(_TEXTS, "").strip().lower() == "true"
        Agent.instrument_all(
            InstrumentationSettings(
                tracer_provider=self._provider,
                include_content=has_texts,
                include_binary_content=False,
                include_model_request_parameters=has_texts,
            )
        )

    def statement(
        self,
        execute: Callable[..., Any],
        sql: Any,
        parameters: Any,
        many: bool,  # noqa: FBT001  Django hands it over like this
        context: dict[str, Any],
    ) -> Any:
        """Execute a statement in a span if it belongs to a traced operation; values are omitted."""
        if not self._trace.get_current_span().is_recording():
            return execute(sql, parameters, many, context)
        text = str(sql)
        operation = text.lstrip().partition(" ")[0].upper()
        system = _SYSTEMS.get(context["connection"].vendor, "other_sql")
        attributes = {"db.system.name": system, "db.operation.name": operation, "db.query.text": text}
        with self.span(operation, attributes, kind="client", caller=None):
            return execute(sql, parameters, many, context)

    def watch(self, *, connection: Any, **_signal: Any) -> None:
        if self.statement not in connection.execute_wrappers:
            connection.execute_wrappers.insert(0, self.statement)


def is_wanted() -> bool:
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    return os.environ.get("OTEL_TRACES_EXPORTER", "otlp") == "otlp" and any(map(os.environ.get, ENDPOINTS))


def is_installed() -> bool:
    """Return whether the extra is installed; imports nothing of it."""
    return all(
        find_spec("opentelemetry") and find_spec(f"opentelemetry.{name}") for name in ("sdk", "exporter")
    )


def enable() -> None:
    """Report spans of this process if enabled; called after a fork, because a thread sends them."""
    if not is_wanted() or not is_installed() or telemetry.is_traced():
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    use(BatchSpanProcessor(OTLPSpanExporter()))


def use(processor: Any) -> OpenTelemetryTracer:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  as above
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415

    class Describe(SpanProcessor):
        """Adds the running agent to the spans of the agent library."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            if "gen_ai.operation.name" in (span.attributes or {}):
                span.set_attributes(_described.get({}))

    name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "editor"}
    provider = TracerProvider(resource=Resource.create({**name, "service.version": __version__}))
    provider.add_span_processor(Describe())
    provider.add_span_processor(processor)
    _providers[:] = [provider]
    tracer = OpenTelemetryTracer(provider)
    connection_created.connect(tracer.watch, dispatch_uid=__name__, weak=False)
    telemetry.use_tracers(tracer)
    return tracer


def flush() -> None:
    """Send pending spans; called before a process ends."""
    for provider in _providers:
        provider.force_flush()


def check(**_options: Any) -> list[CheckMessage]:
    """Warn if traces are enabled but cannot be made: the variables may apply to a whole machine."""
    if not is_wanted() or is_installed():
        return []
    variable = next(name for name in ENDPOINTS if os.environ.get(name))
    return [
        Warning(
            f"{variable} names the destination of traces, but the library for them is not installed.",
            hint="Install editor-server[otel], or set OTEL_SDK_DISABLED=true.",
            id="editor.W001",
        )
    ]


def _without_none(attributes: Attributes) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
