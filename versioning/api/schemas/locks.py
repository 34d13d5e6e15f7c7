"""Locks: the resources to lock, and the lock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from versioning.api.schemas.base import RequestSchema, ResponseSchema
from versioning.api.schemas.common import NotEmpty
from versioning.api.schemas.runs import Described, PinnedVersion, VersionSelector
from versioning.domain.agents import AGENT
from versioning.domain.config import UNCHANGED, JsonObject
from versioning.domain.prompt_blocks import PROMPT_BLOCK

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
