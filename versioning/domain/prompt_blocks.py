"""Prompt blocks: the fields of their snapshots. Pure."""

from __future__ import annotations

from typing import Final

from versioning.domain.config import UNCHANGED, ConfigSchema, NotBlank, RuleGroup, SharedFields
from versioning.domain.kinds import ResourceKind


class PromptBlockFields(SharedFields):
    """The fields of a prompt block in an edit; an absent field is unchanged."""

    content: str = UNCHANGED
    rules: RuleGroup | None = None


class PromptBlockConfig(PromptBlockFields):
    """The complete configuration of a prompt block."""

    name: NotBlank
    content: str


PROMPT_BLOCK: Final = ResourceKind(
    slug="promptBlock",
    id_member="blockId",
    namespace="prompt",
    singular="prompt block",
    plural="prompt blocks",
    path="prompt-blocks",
    icon="article",
    text_field="content",
    schema=ConfigSchema(edit=PromptBlockFields, whole=PromptBlockConfig),
    studio_words="studio.kind_words.PROMPT_BLOCK",
    is_shown=True,
)
