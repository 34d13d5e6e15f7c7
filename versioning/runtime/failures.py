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


def failure_of(fault: Exception, *, agent_id: str, provider: str, asking: bool) -> VersioningError:
    """Return the error for the caller of an agent that failed.

    `asking` says whether it failed while a model was being asked, and not in a tool.
    """
    if isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
        return failure_of(fault, agent_id=agent_id, provider=provider, asking=asking)
    if isinstance(fault, VersioningError):
        return fault
    if asking or isinstance(fault, AgentRunError | UserError):
        logger.warning("the provider %r failed: %s", provider, redacted(str(fault)))
        return ProviderFailed(redacted(f"The provider {provider!r} {_reason(fault)}"))
    logger.error("a tool of the agent %r raised", agent_id, exc_info=fault)
    return ToolFailed(f"A tool of the agent {agent_id!r} raised {type(fault).__name__}; the log says more.")


def _reason(fault: Exception) -> str:
    if isinstance(fault, ModelHTTPError):
        return f"answered {fault.status_code}: {_said(fault.body)}"
    if isinstance(fault, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "did not answer in time."
    if isinstance(fault, ModelConnectionError):
        return f"could not be reached, or broke off: {fault}"
    return f"failed: {fault}"


def _said(body: Any) -> str:
    """Return the provider's own sentence, wherever in its answer it stands."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return str(inner.get("message") or inner) if isinstance(inner, Mapping) else str(inner)
    return str(body or "nothing more")
