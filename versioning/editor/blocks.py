"""Preview instruction blocks before they are saved, and list the prompt blocks that an agent uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import F, Value
from editor_client.shared.conditions import Evaluation
from editor_client.shared.instructions import (
    BlockReport,
    BlockText,
    Piece,
    assemble,
    referenced_blocks,
    trace,
)

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import Notice
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import Message, NotFound, ResourceId
from versioning.editor.reading import list_readable
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import PromptBlock
from versioning.models.text_keys import contains
from versioning.serving.assembly import Texts, find_blocks
from versioning.serving.assembly import context_notices as notices_of
from versioning.serving.resolution import Blocks

# Only the numbers of the versions are needed, not their texts.
_TEXTS: Final = [
    f"{version}__{column}"
    for version in ("active_version", "latest_version")
    for column in ("config_json", "search_text")
]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Assembled instructions, split into pieces that know their origin."""

    pieces: Sequence[Piece]
    """Together they are the text."""
    blocks: Sequence[BlockReport]

    @classmethod
    def of(
        cls,
        instructions: str | Sequence[Mapping[str, Any]],
        evaluation: Evaluation,
        texts: Texts,
        *,
        field: str = "instructions",
    ) -> Explanation:
        """Return the explanation of instructions that refer to these prompt blocks.

        Raises `Invalid` if the text is too long or takes too much to evaluate.
        """
        pieces, reports = trace(instructions, evaluation, texts, field=field)
        return cls(pieces=pieces, blocks=reports)


@dataclass(frozen=True, kw_only=True)
class UsedBlock:
    """A prompt block that an agent refers to, with the numbers of its published version and its draft."""

    id: str
    name: str
    live: int | None
    """The number of the published version; None if there is none."""
    draft: int | None
    """The number of a newer, unpublished version; None if there is none that the caller may read."""


def preview(
    resources: Resources[PromptBlock],
    blocks: Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | None = None,
    *,
    drafts: bool = True,
    by: Who = APPLICATION,
    field: str = "blocks",
) -> tuple[str, list[BlockReport]]:
    """Return the text that instruction blocks give in the context, and the result for each block.

    A referenced block is shown as its draft, as its published version to callers without access to drafts,
    and as missing to callers who can read neither. Without `drafts`, every caller gets the published version:
    the text that an agent would have if it were published with these blocks now. Raises `Invalid` if the text
    is too long or takes too much to evaluate; `field` names the blocks in the error.
    """
    evaluation = Evaluation(context or {})
    texts = _collect_texts(blocks, evaluation, drafts=drafts, by=by, field=field)
    return assemble(blocks, evaluation, texts, field=field)


def explain(
    resources: Resources[PromptBlock],
    blocks: Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | None = None,
    *,
    drafts: bool = True,
    by: Who = APPLICATION,
    field: str = "blocks",
) -> Explanation:
    """Return the text of `preview` as pieces that know their origin; raises the same errors."""
    evaluation = Evaluation(context or {})
    texts = _collect_texts(blocks, evaluation, drafts=drafts, by=by, field=field)
    return Explanation.of(blocks, evaluation, texts, field=field)


def _collect_texts(
    blocks: Sequence[Mapping[str, Any]], evaluation: Evaluation, *, drafts: bool, by: Who, field: str
) -> Texts:
    evaluation.field = field
    block_ids = {block["id"] for block in blocks if block["type"] == "prompt_block_ref"}
    by_id = find_blocks(block_ids, Blocks.DRAFTS if drafts else Blocks.READABLE, caller_of(by), evaluation)
    return {block_id: block.text for block_id, block in by_id.items()}


def require_drafts(resources: Resources[PromptBlock], block_ids: Iterable[str], *, by: Who) -> None:
    """Raise `NotFound` for a prompt block that the caller cannot read, `Forbidden` for the draft of one."""
    by, unique_ids = caller_of(by), set(block_ids)
    readable = list_readable(resources, by=by).filter(pk__in=unique_ids)
    workspaces = dict(readable.values_list("pk", "workspace_id") if unique_ids else ())
    if workspaces.keys() != unique_ids:
        raise NotFound
    for workspace_id in workspaces.values():
        by.require(Right.READ_DRAFTS, workspace_id)


def context_notices(
    resources: Resources[PromptBlock],
    reports: Sequence[BlockReport],
    context: Mapping[str, Any] | None = None,
) -> list[Notice]:
    """Return the notices of the previewed blocks whose schemas refuse the context."""
    version_ids = [report.version_id for report in reports if report.shown and report.version_id]
    if not version_ids:
        return []
    evaluation = Evaluation(context or {})
    versions = resources.model.version_model.objects
    with_schema = versions.filter(contains(F("config_json"), Value(SCHEMA_FIELD)), pk__in=version_ids)
    return [
        replace(
            notice,
            message=Message(
                "Prompt block {id!r}: {problem}",
                id=ResourceId(resources.kind.slug, version.resource_id),
                problem=notice.message,
            ),
        )
        for version in with_schema.order_by("resource_id")
        for notice in notices_of(version.config.get(SCHEMA_FIELD), evaluation)
    ]


def configs_used_in(
    resources: Resources[PromptBlock], config: Config, *, drafts: bool, by: Who = APPLICATION
) -> list[Config]:
    """Return the configurations of the readable prompt blocks that the instructions refer to.

    Each is the published version or, with `drafts`, the latest that the caller may read. Raises `Invalid` if
    they are too much to read.
    """
    block_ids = {target for _, target in referenced_blocks(config)}
    policy = Blocks.DRAFTS if drafts else Blocks.READABLE
    by_id = find_blocks(block_ids, policy, caller_of(by), Evaluation({})) if block_ids else {}
    return [dict(block.text.config) for block in by_id.values() if isinstance(block.text, BlockText)]


def used_in(resources: Resources[PromptBlock], config: Config, *, by: Who = APPLICATION) -> list[UsedBlock]:
    """Return the prompt blocks that the instructions refer to, in order, without duplicates."""
    by = caller_of(by)
    block_ids = list(dict.fromkeys(target for _, target in referenced_blocks(config)))
    rows = list_readable(resources, by=by).filter(pk__in=block_ids).defer(*_TEXTS) if block_ids else ()
    by_id = {block.pk: block for block in rows}
    return [_describe_use(by_id[block_id], by) for block_id in block_ids if block_id in by_id]


def _describe_use(block: PromptBlock, by: Caller) -> UsedBlock:
    is_draft = block.has_draft and not block.is_taken_back
    shows_draft = is_draft and by.may(Right.READ_DRAFTS, block.workspace_id)
    live, draft = block.active_version, block.latest_version if shows_draft else None
    version = draft or live
    return UsedBlock(
        id=block.pk,
        name=version.name if version else block.pk,
        live=live.number if live else None,
        draft=draft.number if draft else None,
    )
