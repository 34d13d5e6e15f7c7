"""Turn exceptions of the agent library into the errors of this package, without the keys they may quote."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)

from versioning.domain.errors import VersioningError
from versioning.domain.graphemes import clipped
from versioning.domain.storable import storable_text
from versioning.runtime.errors import ProviderFailed, ToolFailed

_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_TOO_MANY, _SERVER_ERROR = 429, 500
_SHORTEST_SECRET = 6
_LONGEST_REASON = 500
_PATTERNS = (
    re.compile(r"(?<![A-Za-z0-9])(?:sk|ek|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{3,}"),
    re.compile(r"(?i)(?<=bearer )\s*[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api key provided: )[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api[_-]key=)[^\s'\",}&]+"),
)


_concealed: Final[set[str]] = set()
"""Keys of providers that no variable with such a name holds."""


def conceal(key: object) -> None:
    """Remove this key from texts from now on, wherever it came from; anything but a text is ignored."""
    if isinstance(key, str) and len(key) >= _SHORTEST_SECRET:
        _concealed.add(key)


def redacted(text: str) -> str:
    """Return the text without this process's secrets and anything that looks like a key."""
    secrets = _concealed | {
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_HIDDEN, text)
    text = storable_text(text)
    return text if len(text) <= _LONGEST_REASON else f"{clipped(text, _LONGEST_REASON)}…"


logger = logging.getLogger("versioning.runtime")


class Passing(NamedTuple):
    """A failure of a provider that may be over when it is asked again."""

    is_limit: bool
    """Whether it was asked too often."""
    retry_after: float | None
    """The seconds to wait, if the provider says so."""


def passing(error: BaseException) -> Passing | None:
    """Return what is known of a failure that may be over soon: no connection, 429, 5xx; None for others."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ModelHTTPError):
            is_limit = found.status_code == _TOO_MANY
            is_passing = is_limit or found.status_code >= _SERVER_ERROR
            return Passing(is_limit, found.retry_after) if is_passing else None
        if isinstance(found, ModelRateLimitError):
            return Passing(is_limit=True, retry_after=found.retry_after)
        if isinstance(found, ModelConnectionError | ModelTimeoutError | ModelRequestTimeout):
            return Passing(is_limit=False, retry_after=None)
        found = found.__cause__
    return None


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
    if isinstance(error, UnexpectedModelBehavior):
        # Its body, and what does not validate, are objects of the library.
        return (
            "answered with something that is no answer of a model."
            if isinstance(error.__cause__, ValidationError)
            else f"failed: {error.message}"
        )
    return f"failed: {error}"


def _message_in(body: Any) -> str:
    """Return the provider's own error message from the body of its response."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return str(inner.get("message") or inner) if isinstance(inner, Mapping) else str(inner)
    return str(body or "nothing more")
