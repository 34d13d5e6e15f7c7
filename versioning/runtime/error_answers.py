"""Answers with the status 200 in which a provider, or a gateway before it, reports an error."""

from __future__ import annotations

import json
from typing import Any, Final

_OK, _LOWEST, _HIGHEST = 200, 400, 599
_ANSWERS: Final = {"choices", "content", "candidates", "output"}
"""One of these is in every answer of a model."""


def reveal_errors(client: Any) -> None:
    """Let the library of a provider treat errors in answers with the status 200 as what they are.

    `client` is that library's; it sends requests by httpx, or by what has the hooks of httpx.
    """
    http = getattr(client, "_client", None)
    hooks = getattr(http, "event_hooks", None)
    if http is not None and hooks is not None and _reveal_error not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], _reveal_error]}


async def _reveal_error(response: Any) -> None:
    """Give a response the status of the error that its JSON object has instead of an answer.

    An error without a status becomes a 400: nothing says that it passes when the provider is asked again.
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
