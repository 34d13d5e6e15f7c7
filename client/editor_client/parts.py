"""Evaluate an agent without the server, from its parts: `GET /agents/:id?form=parts`.

The result is exactly the JSON that the server answers in the same request context, since both evaluate with
`editor_client.shared`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from editor_client.calls import encode_context
from editor_client.context_schema import refusals
from editor_client.errors import CannotEvaluate, ValidationFailed
from editor_client.shared import canonical
from editor_client.shared.agents import answer_in
from editor_client.shared.errors import Invalid
from editor_client.shared.request_contexts import PARAMETER

UNCHECKED: Final = {
    "code": "request_context_unchecked",
    "message": "The schema can be checked only by the server, which does not answer.",
    "field": "requestContextSchema",
}
"""The warning about a schema that was not checked."""
_ABSENT: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("source", "status", "selector", "fallback", "activeVersionId")),
    **dict.fromkeys(("rollout", "requestContextSchema")),
    **{name: {} for name in ("metadata", "omittedBlocks", "blockRollouts")},
}
"""The defaults of members that the parts of an agent lack."""


def evaluate(
    parts: Mapping[str, Any], request_context: Mapping[str, Any] | None = None, *, offline: bool = False
) -> dict[str, Any]:
    """Return the answer of `GET /agents/:id` in the context; values are shared with `parts`.

    Raises `ValidationFailed` like the server, and `CannotEvaluate` for a `requestContextSchema` that only the
    server can check. With `offline`, because no server answers, such a schema is not checked, and the result
    has a warning.
    """
    try:
        return evaluated_agent(parts, {} if request_context is None else request_context, offline=offline)
    except Invalid as error:
        details = {"error": error.message, "code": error.code, **error.details()}
        raise ValidationFailed(
            error.message, status=400, code=error.code, issues=error.issues, details=details
        ) from None


def evaluated_agent(
    parts: Mapping[str, Any], request_context: Mapping[str, Any], *, offline: bool = False
) -> dict[str, Any]:
    """Return the result of `evaluate`; raises the server's own `Invalid`."""
    # In the form that the server receives: JSON types with ordered keys.
    context = canonical.parse(encode_context(request_context), field=PARAMETER)
    return answer_in({**_ABSENT, **parts}, context, partial(_context_notices, offline=offline))


def _context_notices(schema: Any, context: Mapping[str, Any], *, offline: bool) -> list[dict[str, str]]:
    """Return the schema's objections to the context."""
    try:
        refused = refusals(schema, context)
    except CannotEvaluate:
        if not offline:
            raise
        return [UNCHECKED]
    return [
        {"code": "request_context_invalid", "message": str(issue.message), "field": issue.field}
        for issue in refused
    ]
