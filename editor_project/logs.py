"""Structured logs: one JSON object a line on standard error, people's format when debugging."""

from __future__ import annotations

import logging.config

import structlog


def logging_config(*, debug: bool) -> None:
    """Send the logs of Django, of libraries and of the editor through the same formatter."""
    shared = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = structlog.dev.ConsoleRenderer() if debug else structlog.processors.JSONRenderer()
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": {
                "versioning": {"level": "INFO"},
                # A 4xx is the caller's affair and stands in the request's own line already.
                "django.request": {"level": "ERROR"},
            },
        }
    )
