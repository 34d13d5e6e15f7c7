"""The verbs of scorers that other kinds do not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.outcomes import Attempt, Outcome
from capabilities.evaluation.scoring.registered import registered, registered_one
from capabilities.evaluation.scoring.scoring import score
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import PROMPT_BLOCK
from versioning.domain.errors import NotFound
from versioning.domain.selectors import PUBLISHED
from versioning.editor import Editor
from versioning.editor.resources import Who, caller_of
from versioning.models.storage import give_back
from versioning.verbs import Verbs


def try_out(
    scoring: Verbs, scorer_id: str, attempt: Attempt, *, version_id: str | None = None, by: Who = APPLICATION
) -> Outcome:
    """Return what a version of a scorer says of an attempt; by default its latest one. Nothing is stored.

    Raises `NotFound`, and `Forbidden` without the right to save drafts.
    """
    by = caller_of(by)
    scorers = scoring.editor.collection(SCORER)
    resource = scorers.find(scorer_id, by=by)
    by.require(Right.SAVE, resource.workspace_id)
    latest = str(resource.latest_version_id)
    config = scorers.version(scorer_id, version_id or latest, by=by).version.config
    instructions = judge_instructions(scoring.editor, config, by=by)
    give_back()
    return score(config, attempt, get_framework().scorers, instructions)


def judge_instructions(editor: Editor, scorer: Mapping[str, Any], *, by: Caller) -> str | None:
    """Return the published text of the prompt block that a judge names, or None if it names none.

    A block that is not published, or that the caller may not read, gives no text.
    """
    block_id = scorer.get("config", {}).get("promptBlock") if scorer["type"] == "llm-judge" else None
    if block_id is None:
        return None
    try:
        block = editor.collection(PROMPT_BLOCK).get(block_id, PUBLISHED, by=by).resource
    except NotFound:
        return ""
    by.require(Right.READ, block.workspace_id)
    return "" if block.active is None else str(block.active.config.get("content", ""))


class Scoring(Verbs):
    """Scoring answers, and the scorers there are."""

    try_out = try_out
    registered = registered
    registered_one = registered_one
