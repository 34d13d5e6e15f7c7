"""Stored prompt blocks."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict

from versioning.api.schemas.base import RequestSchema, Source
from versioning.api.schemas.common import PageOf
from versioning.api.schemas.records import Created, Export, Record, Saved
from versioning.api.schemas.versions import Comparison, VersionRecord
from versioning.domain import fields
from versioning.domain.fields import NotBlank


class PromptBlockCreate(fields.PromptBlockConfig, Created):
    """A new prompt block."""


class PromptBlockUpdate(fields.PromptBlockFields, Saved):
    """An edit of a prompt block."""


class PromptBlockToExport(fields.PromptBlockFields, RequestSchema):
    """The fields of a prompt block to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")

    name: NotBlank | None = None  # type: ignore[assignment]
    content: str | None = None  # type: ignore[assignment]


class PromptBlockRecord(Record, fields.PromptBlockConfig):
    """A prompt block."""


class PromptBlockPage(PageOf):
    """A page of prompt blocks."""

    prompt_blocks: Annotated[list[PromptBlockRecord], Source("items")]


class PromptBlockExport(Export):
    """A prompt block's configuration as a file."""

    block_id: Annotated[str, Source("resource_id")]


class PromptBlockVersionRecord(VersionRecord, fields.PromptBlockConfig):
    """A version of a prompt block."""

    block_id: Annotated[str, Source("resource.pk")]


class PromptBlockVersionPage(PageOf):
    """A page of versions of a prompt block."""

    versions: Annotated[list[PromptBlockVersionRecord], Source("items")]


class PromptBlockComparison(Comparison):
    """Two versions of a prompt block."""

    from_version: PromptBlockVersionRecord
    to_version: PromptBlockVersionRecord
