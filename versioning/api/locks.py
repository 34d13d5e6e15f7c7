"""Locks: the exact versions of agents and prompt blocks, signed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.base import EditorViewSet
from versioning.api.runs import Described, PinnedVersion, VersionSelector
from versioning.api.schemas import NotEmpty, RequestSchema, ResponseSchema
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.config import UNCHANGED, JsonObject
from versioning.domain.kinds import ResourceKind
from versioning.domain.selectors import PUBLISHED, Selector

MAX_RESOURCES = 1000


class ResourceNamed(RequestSchema):
    """A resource, by kind and id."""

    kind: Literal[AGENT.slug, PROMPT_BLOCK.slug]  # type: ignore[name-defined]
    id: NotEmpty


class LockCreate(RequestSchema):
    """The resources to lock, in the selected version; by default the published one."""

    resources: Annotated[list[ResourceNamed], Field(min_length=1, max_length=MAX_RESOURCES)]
    selector: Annotated[JsonObject, Described(VersionSelector)] = UNCHANGED


class LockAnswer(ResponseSchema):
    """The exact versions of agents and prompt blocks; a run takes it as its `versions`."""

    lock_version: int
    digest: str
    signature: str
    agents: dict[str, PinnedVersion]
    prompt_blocks: dict[str, PinnedVersion]


class LockViewSet(EditorViewSet):
    """Locks, which are not stored."""

    job = "Run agents"
    subject = "lock"
    actions = {"create": Action.READ}
    requests = {"create": LockCreate}
    responses = {"create": LockAnswer}
    errors = {"create": (404,)}

    def create(self, request: Request) -> Response:
        """Return a lock of the named resources and of everything that they run or contain."""
        body = LockCreate.read(request)

        def list_ids(kind: ResourceKind) -> list[str]:
            return [resource["id"] for resource in body["resources"] if resource["kind"] == kind.slug]

        lock = get_editor().lock(
            list_ids(AGENT),
            prompt_blocks=list_ids(PROMPT_BLOCK),
            selector=Selector.read(body["selector"], "selector") if "selector" in body else PUBLISHED,
            by=self.caller,
        )
        return Response(lock)
