"""From what the agent library raises to the errors of this package."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UserError,
)

from versioning.domain.errors import VersioningError
from versioning.runtime.errors import ProviderFailed, ToolFailed
from versioning.runtime.redaction import redacted

logger = logging.getLogger("versioning.runtime")


def failure_of(error: Exception, *, agent_id: str, provider: str, asking: bool) -> VersioningError:
    """Return the error for the caller of an agent that failed.

    `asking` says whether it failed while a model was being asked, and not in a tool.
    """
    if isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
        return failure_of(error, agent_id=agent_id, provider=provider, asking=asking)
    if isinstance(error, VersioningError):
        return error
    if asking or isinstance(error, AgentRunError | UserError):
        logger.warning("the provider %r failed: %s", provider, redacted(str(error)))
        return ProviderFailed(redacted(f"The provider {provider!r} {_reason(error)}"))
    logger.error("a tool of the agent %r raised", agent_id, exc_info=error)
    return ToolFailed(f"A tool of the agent {agent_id!r} raised {type(error).__name__}; the log says more.")


def _reason(error: Exception) -> str:
    if isinstance(error, ModelHTTPError):
        return f"answered {error.status_code}: {_said(error.body)}"
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "did not answer in time."
    if isinstance(error, ModelConnectionError):
        return f"could not be reached, or broke off: {error}"
    return f"failed: {error}"


def _said(body: Any) -> str:
    """Return the provider's own sentence, wherever in its answer it stands."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return str(inner.get("message") or inner) if isinstance(inner, Mapping) else str(inner)
    return str(body or "nothing more")
