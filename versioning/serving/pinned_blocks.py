"""The prompt blocks that an agent shows by a lock: exactly the versions that the lock names."""

from __future__ import annotations

from itertools import islice

from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText, referenced_blocks

from versioning.domain.access import Caller, Right
from versioning.domain.locks import Lock, LockBroken
from versioning.models import PromptBlockVersion
from versioning.serving.blocks import READ_AT_ONCE, Texts
from versioning.serving.candidates import Candidate


def pinned_texts(candidate: Candidate, lock: Lock, by: Caller, evaluation: Evaluation) -> Texts:
    """Return the prompt blocks that a candidate shows by a lock.

    Blocks that were not shown when the lock was made are left out. Raises `LockBroken` naming every block
    whose version is gone, or not readable for the caller: a published agent still shows its blocks to
    everyone who may run it; a draft shows those that the caller may read; and a block's draft requires the
    right to read drafts, unless it has been published since.
    """
    evaluation.field = "instructions"
    named = iter(
        lock.blocks(candidate.id, sorted({target for _, target in referenced_blocks(candidate.config)}))
    )
    as_part = candidate.id not in lock.terms.draft_agents
    texts: dict[str, BlockText | str] = {}
    broken: list[str] = []
    while some := list(islice(named, READ_AT_ONCE)):
        pins = {block_id: lock.prompt_blocks[block_id] for block_id in some}
        rows = PromptBlockVersion.objects.select_related("resource").defer("search_text")
        found = {str(row.pk): row for row in rows.filter(pk__in=[pin.version_id for pin in pins.values()])}
        evaluation.read(sum(len(row.config_json) for row in found.values()))
        for block_id, pin in pins.items():
            version = found.get(str(pin.version_id))
            is_same = version is not None and version.resource_id == block_id and version.digest == pin.digest
            if version is None or not is_same or not _is_readable(version, lock, by, as_part=as_part):
                broken.append(block_id)
            else:
                texts[block_id] = BlockText(version_id=version.version_id, config=version.config)
    if broken:
        raise LockBroken(prompt_blocks=broken)
    return texts


def _is_readable(version: PromptBlockVersion, lock: Lock, by: Caller, *, as_part: bool) -> bool:
    block = version.resource
    if block.pk in lock.terms.draft_blocks and block.active_id != version.version_id:
        return by.may(Right.READ_DRAFTS, block.workspace_id) and by.covers(block.pk)
    return as_part or (by.may(Right.READ, block.workspace_id) and by.covers(block.pk))
