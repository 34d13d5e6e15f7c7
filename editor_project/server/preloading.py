"""What each process that serves requests loads in the background, under `serve` and under an ASGI server."""

from __future__ import annotations

import logging

from versioning.api import openapi
from versioning.conf import get_editor
from versioning.runtime import preload

logger = logging.getLogger(__name__)


def preload_process() -> None:
    """Load what runs need, with the clients of the configured providers, and make the OpenAPI document."""
    try:
        preload(get_editor().providers())
        openapi.prepare()
    except Exception:
        logger.exception("what runs need could not be loaded")
