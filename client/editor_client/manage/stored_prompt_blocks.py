"""Prompt blocks: results, arguments and methods."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Base, Call
from editor_client.manage.records import (
    Created,
    Diff,
    Filters,
    Record,
    Saved,
    Version,
)
from editor_client.manage.shapes import PromptBlockArguments, PromptBlockFields
from editor_client.manage.stored import Kind, Stored, creation, edit
from editor_client.methods import D_co, Driver, iterating, method
from editor_client.pages import Page, listing
from editor_client.result import Result, with_json_names


class PromptBlockRecord(Record, PromptBlockFields):
    """A prompt block."""


class PromptBlockVersion(Version, PromptBlockFields):
    """A version of a prompt block."""

    block_id: str


class PromptBlockPage(Page[PromptBlockRecord]):
    """A page of prompt blocks."""

    prompt_blocks: tuple[PromptBlockRecord, ...]


class PromptBlockVersionPage(Page[PromptBlockVersion]):
    """A page of the versions of a prompt block, newest first."""

    versions: tuple[PromptBlockVersion, ...]


class PromptBlockComparison(Result):
    """Two versions of a prompt block, and the fields in which they differ."""

    diffs: tuple[Diff, ...]
    from_version: PromptBlockVersion
    to_version: PromptBlockVersion


class PromptBlockChanges(PromptBlockArguments, Saved, total=False):
    """An edit of a prompt block."""


class NewPromptBlock(PromptBlockChanges, Created, total=False):
    """A new prompt block; name and content are required."""


PROMPT_BLOCKS = Kind(
    "promptBlock",
    "prompt-blocks",
    "content",
    PromptBlockRecord,
    PromptBlockPage,
    PromptBlockVersion,
    PromptBlockVersionPage,
    PromptBlockComparison,
)


class StoredPromptBlock(
    Stored[D_co, PromptBlockRecord, PromptBlockVersion, PromptBlockVersionPage, PromptBlockComparison]
):
    """A prompt block, by id."""

    def __init__(self, client: D_co, block_id: str) -> None:
        super().__init__(client, PROMPT_BLOCKS, block_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[PromptBlockChanges]) -> Call[PromptBlockRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)


class StoredPromptBlockMethods(Driver):
    """The methods of a client for prompt blocks."""

    @method
    def list_stored_prompt_blocks(self, **filters: Unpack[Filters]) -> Call[PromptBlockPage]:
        """List the prompt blocks that the key may read, newest first, published or not."""
        return listing("/stored/prompt-blocks", PromptBlockPage, filters)

    iter_stored_prompt_blocks = iterating(list_stored_prompt_blocks)

    @method
    def create_stored_prompt_block(self, **fields: Unpack[NewPromptBlock]) -> Call[PromptBlockRecord]:
        """Create a prompt block, as a draft unless `auto_publish=True`."""
        return creation(PROMPT_BLOCKS, with_json_names(fields))

    def get_stored_prompt_block(self, block_id: str) -> StoredPromptBlock[Self]:
        """Return a prompt block; no request is sent yet."""
        return StoredPromptBlock(self, block_id)
