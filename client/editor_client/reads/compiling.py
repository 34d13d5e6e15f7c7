"""Evaluate prompts without the server, with the same templates and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from editor_client.calls import NO_OBJECT
from editor_client.errors import ValidationFailed
from editor_client.shared import instructions
from editor_client.shared.errors import Invalid
from editor_client.shared.instructions import BlockText

Prompt = Mapping[str, Any]
"""A record, a version or a served agent; or a configuration in the form of an exported file."""


def compile_prompt(
    prompt: Prompt,
    context: Mapping[str, Any] | None = None,
    *,
    blocks: Mapping[str, Prompt | None] | None = None,
) -> str:
    """Return the text of a prompt block, or of an agent's instructions, in a context.

    `blocks` are the prompt blocks that the instructions refer to, by id; None omits one, as the server does
    if it is not published. The text is empty if the rules of a block do not hold. Raises `ValidationFailed`
    for a missing block, for something that is not a prompt, and for a result that the server would refuse as
    too long.
    """
    if "content" in prompt:
        template: Any = [{"type": "prompt_block", "content": prompt["content"], "rules": prompt.get("rules")}]
    elif "instructions" in prompt:
        template = prompt["instructions"]
    else:
        raise ValidationFailed.field("prompt", "has neither content nor instructions")
    if not isinstance(context, Mapping | None):
        raise ValidationFailed.field("context", NO_OBJECT)
    blocks_by_id = blocks or {}
    missing = [block_id for block_id in referenced_blocks(prompt) if block_id not in blocks_by_id]
    if missing:
        names = ", ".join(map(repr, missing))
        raise ValidationFailed.field("blocks", f"lacks {names}, which the instructions refer to")
    texts: dict[str, BlockText | str] = {}
    for block_id, block in blocks_by_id.items():
        if block is not None and "content" not in block:
            raise ValidationFailed.field(f"blocks.{block_id}", "has no content")
        texts[block_id] = "unpublished" if block is None else BlockText(version_id="", config=block)
    try:
        return instructions.assemble(template, context or {}, texts)[0]
    except Invalid as error:
        raise ValidationFailed(error.message, code=error.code, issues=error.issues) from None


def referenced_blocks(prompt: Prompt) -> list[str]:
    """Return the ids of the prompt blocks in an agent's instructions, without duplicates."""
    ids = (block_id for _, block_id in instructions.referenced_blocks(prompt))
    return list(dict.fromkeys(ids))
