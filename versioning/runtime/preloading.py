"""Load the dependencies of runs before the first one: it takes seconds that no caller should wait for."""

from __future__ import annotations

import logging
from threading import RLock
from time import monotonic
from typing import Final

from versioning.domain import telemetry
from versioning.domain.provider_catalog import BUILT_IN, CODE, ECHO, ProviderCatalog
from versioning.runtime.errors import ProviderUnavailable

logger = logging.getLogger("versioning.runtime")

_importing: Final = RLock()


def load_agent_library() -> None:
    """Import the agent library once; if another thread is importing it, wait for that thread.

    Two threads importing it at the same time could each see partly executed modules.
    """
    with _importing:
        # Not at the top: 50 MiB that a process without runs does not need.
        from versioning.runtime import preparation, runner  # noqa: F401, PLC0415


def preload(catalog: ProviderCatalog = BUILT_IN) -> None:
    """Load the agent library and create the clients of the catalog's providers that have their credentials.

    Takes seconds, and sends nothing. Call it in a thread of each process that serves requests, after its
    start and after any fork. A run that begins meanwhile waits no longer than it otherwise would.
    """
    began = monotonic()
    load_agent_library()
    import pydantic_ai  # noqa: PLC0415  as above

    from versioning.runtime.providers import echo_model  # noqa: PLC0415  as above
    from versioning.runtime.runner import background_loop  # noqa: PLC0415  as above

    background = background_loop()
    # Before the tracers are prepared for runs: this run belongs to no request.
    background.run(pydantic_ai.Agent(echo_model()).run("Hello"))
    telemetry.load_runs()
    for provider in catalog.all():
        if provider.is_ready and provider.kind not in {ECHO, CODE}:
            try:
                background.providers.model(
                    provider.name, {"provider": provider.name, "name": "none"}, catalog
                )
            except ProviderUnavailable as error:
                logger.info("%s", error.message)
    logger.info("the agent library was loaded in %.1f s", monotonic() - began)
