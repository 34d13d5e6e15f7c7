"""Errors of runs: those of this package, and the exceptions and answers of providers as these."""

from __future__ import annotations

import json
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
from versioning.domain.texts import clip, storable_text
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
"""Keys of providers from sources other than such variables."""


def conceal(key: object) -> None:
    """Remove this key from all later texts; values other than texts are ignored."""
    if isinstance(key, str) and len(key) >= _SHORTEST_SECRET:
        _concealed.add(key)


def redact(text: str) -> str:
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
    return text if len(text) <= _LONGEST_REASON else f"{clip(text, _LONGEST_REASON)}…"


logger = logging.getLogger("versioning.runtime")


class Passing(NamedTuple):
    """A failure of a provider that may not recur on a retry."""

    is_limit: bool
    """Whether a rate limit was exceeded."""
    retry_after: float | None
    """The seconds to wait, if the provider gives them."""


def passing(error: BaseException) -> Passing | None:
    """Return the details of a temporary failure (no connection, 429, 5xx); None for others."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModelHTTPError):
            is_limit = cause.status_code == _TOO_MANY
            is_passing = is_limit or cause.status_code >= _SERVER_ERROR
            return Passing(is_limit, cause.retry_after) if is_passing else None
        if isinstance(cause, ModelRateLimitError):
            return Passing(is_limit=True, retry_after=cause.retry_after)
        if isinstance(cause, ModelConnectionError | ModelTimeoutError | ModelRequestTimeout):
            return Passing(is_limit=False, retry_after=None)
        cause = cause.__cause__
    return None


def make_failure(error: Exception, *, agent_id: str, provider: str, in_request: bool) -> VersioningError:
    """Return the error for the caller of an agent that failed, in a model request or in a tool."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, VersioningError):
        return error
    if in_request or isinstance(error, AgentRunError | UserError):
        logger.warning("the provider %r failed: %s", provider, redact(str(error)))
        return ProviderFailed(redact(f"The provider {provider!r} {_reason(error)}"))
    logger.error("a tool of the agent %r raised", agent_id, exc_info=error)
    return ToolFailed(f"A tool of the agent {agent_id!r} raised {type(error).__name__}; see the log.")


def _reason(error: Exception) -> str:
    if isinstance(error, ModelHTTPError):
        return f"answered {error.status_code}: {_message_in(error.body)}"
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "did not answer in time."
    if isinstance(error, ModelConnectionError):
        return f"could not be reached, or broke off: {error}"
    if isinstance(error, UnexpectedModelBehavior):
        # Its body, and the invalid parts, are objects of the library.
        return (
            "returned a response that is not an answer of a model."
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


_OK, _LOWEST, _HIGHEST = 200, 400, 599
_ANSWERS: Final = {"choices", "content", "candidates", "output"}
"""One of these is in every answer of a model."""


def reveal_errors(client: Any) -> None:
    """Make the library of a provider treat errors in answers with the status 200 as errors.

    `client` is that of the library; it uses httpx or a client with the same hooks.
    """
    http = getattr(client, "_client", None)
    hooks = getattr(http, "event_hooks", None)
    if http is not None and hooks is not None and _reveal_error not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], _reveal_error]}


async def _reveal_error(response: Any) -> None:
    """Set the status of a response to that of the error in its JSON object.

    An error without a status becomes a 400, because a retry might not help.
    """
    media_type = response.headers.get("content-type", "").partition(";")[0].strip()
    if response.status_code != _OK or media_type != "application/json":
        return
    try:
        body = json.loads(await response.aread())
    except ValueError:
        return
    if not isinstance(body, dict) or not body.get("error") or not _ANSWERS.isdisjoint(body):
        return
    code = body["error"].get("code") if isinstance(body["error"], dict) else None
    is_status = isinstance(code, int) and _LOWEST <= code <= _HIGHEST
    response.status_code = code if is_status else _LOWEST
