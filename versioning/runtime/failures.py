"""Turn exceptions of the agent library into the errors of this package, without the keys they may quote."""

from __future__ import annotations

import logging
import os
import re
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

_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6
_LONGEST_REASON = 500
_PATTERNS = (
    re.compile(r"(?<![A-Za-z0-9])(?:sk|ek|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{3,}"),
    re.compile(r"(?i)(?<=bearer )\s*[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api key provided: )[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api[_-]key=)[^\s'\",}&]+"),
)


def redacted(text: str) -> str:
    """Return the text without this process's secrets and anything that looks like a key."""
    secrets = {
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_HIDDEN, text)
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


logger = logging.getLogger("versioning.runtime")


def failure_of(error: Exception, *, agent_id: str, provider: str, in_request: bool) -> VersioningError:
    """Return the error for the caller of an agent that failed, in a model request or in a tool."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, VersioningError):
        return error
    if in_request or isinstance(error, AgentRunError | UserError):
        logger.warning("the provider %r failed: %s", provider, redacted(str(error)))
        return ProviderFailed(redacted(f"The provider {provider!r} {_reason(error)}"))
    logger.error("a tool of the agent %r raised", agent_id, exc_info=error)
    return ToolFailed(f"A tool of the agent {agent_id!r} raised {type(error).__name__}; the log says more.")


def _reason(error: Exception) -> str:
    if isinstance(error, ModelHTTPError):
        return f"answered {error.status_code}: {_message_in(error.body)}"
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "did not answer in time."
    if isinstance(error, ModelConnectionError):
        return f"could not be reached, or broke off: {error}"
    return f"failed: {error}"


def _message_in(body: Any) -> str:
    """Return the provider's own error message from the body of its response."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return str(inner.get("message") or inner) if isinstance(inner, Mapping) else str(inner)
    return str(body or "nothing more")
