"""Preloading in the background of each serving process, under `serve` and under an ASGI server."""

from __future__ import annotations

import logging

from versioning.api import openapi
from versioning.conf import get_editor
from versioning.runtime import preload

logger = logging.getLogger(__name__)


def preload_process() -> None:
    """Load the dependencies of runs, create the configured providers' clients, make the OpenAPI document."""
    try:
        preload(get_editor().providers())
        openapi.prepare()
    except Exception:
        logger.exception("the dependencies of runs could not be loaded")
