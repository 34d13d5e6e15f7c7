"""Locks: the exact versions of agents and prompt blocks, signed."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.base import EditorViewSet
from versioning.api.schemas.locks import LockAnswer, LockCreate
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.kinds import ResourceKind
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.domain.selectors import PUBLISHED, Selector


class LockViewSet(EditorViewSet):
    """Locks, which are not stored."""

    subject = "lock"
    actions = {"create": Action.READ}
    requests = {"create": LockCreate}
    responses = {"create": LockAnswer}
    errors = {"create": (404,)}

    def create(self, request: Request) -> Response:
        """Return a lock of the named resources and of everything that they run and show."""
        body = LockCreate.read(request)

        def named(kind: ResourceKind) -> list[str]:
            return [one["id"] for one in body["resources"] if one["kind"] == kind.slug]

        lock = get_editor().lock(
            named(AGENT),
            prompt_blocks=named(PROMPT_BLOCK),
            selector=Selector.read(body["selector"], "selector") if "selector" in body else PUBLISHED,
            by=self.caller,
        )
        return Response(lock)
