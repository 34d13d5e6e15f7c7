"""How many approvals versions of a workspace need to go live. Described as in `stored`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from editor_client.calls import Call, Request, encoded, reading, segment
from editor_client.result import Result

Bypass = Literal["admin", "nobody"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReviewPolicy(Result):
    """How many approvals versions of a workspace need."""

    required: int
    """0 to 5."""
    bypass: Bypass
    """Who may make a version live without them."""


def policy(workspace_id: str) -> Call[ReviewPolicy]:
    """Read the policy of a workspace."""
    return Call(request=Request(method="GET", path=_path(workspace_id)), read=reading(ReviewPolicy))


def setting(workspace_id: str, required: int, bypass: Bypass) -> Call[ReviewPolicy]:
    """Replace the policy of a workspace."""
    body = encoded({"required": required, "bypass": bypass})
    request = Request(method="PUT", path=_path(workspace_id), body=body)
    return Call(request=request, read=reading(ReviewPolicy))


def _path(workspace_id: str) -> str:
    return f"/workspaces/{segment('workspaceId', workspace_id)}/review-policy"
