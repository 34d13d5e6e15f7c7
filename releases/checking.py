"""What keeps a release from being published, computed at the moment of asking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from releases import rules
from releases.editing import find
from releases.items import ItemNow, moves_of_blocks, now
from releases.models import Release
from releases.models.releases import Action
from releases.rules import Problem, in_order
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Invalid
from versioning.editor import Editor, gate
from versioning.editor.resources import Who, caller_of


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a release would meet if it were published now."""

    problems: Sequence[Problem]
    """Each keeps it from being published."""
    warnings: Sequence[Problem]
    """None of them does."""

    @property
    def ok(self) -> bool:
        """Whether it could be published."""
        return not self.problems


def check(editor: Editor, release_id: str, *, by: Who) -> Check:
    """Return what the caller would meet who publishes the release now; nothing is stored or locked.

    Blocks that the release itself publishes count as published, and those that it unpublishes do not.
    """
    caller = caller_of(by)
    release = find(release_id, by=caller)
    items = in_order(now(editor, release.items.all(), with_texts=True))
    return Check(
        problems=problems_of(editor, release, items, caller),
        warnings=[warning for item in items for warning in _warnings(item)],
    )


def problems_of(
    editor: Editor,
    release: Release,
    items: Sequence[ItemNow],
    by: Caller,
    *,
    bypass_review: str | None = None,
) -> list[Problem]:
    """Return what keeps the caller from publishing a release with these items, as they are stored now.

    Raises `BypassRefused` if the caller may not bypass the review, and `Invalid` for a reason that is none.
    """
    if not items:
        return [rules.empty()]
    blocks = moves_of_blocks(one.item for one in items)
    how: dict[str, Any] = {"blocks": blocks, "bypass_review": bypass_review}
    return [problem for one in items for problem in _problems(editor, release, one, by, **how)]


def _problems(editor: Editor, release: Release, one: ItemNow, by: Caller, **how: Any) -> Iterator[Problem]:
    publishes = one.item.action == Action.PUBLISH
    if one.resource is None:
        yield rules.gone(one, is_version=False)
    elif one.is_file:
        yield rules.in_a_file(one)
    elif publishes and one.version is None:
        yield rules.gone(one, is_version=True)
    elif publishes:
        passage = gate.Passage(resource=one.resource, version=one.version, caller=by, **how)
        refusal = gate.refusal(passage, editor.code)
        if isinstance(refusal, gate.BypassRefused) or (refusal is not None and refusal.code == Invalid.code):
            raise refusal  # the fault is in the request, whatever is in the release
        if refusal is not None:
            yield rules.problem_of(one, refusal)
    else:
        try:
            by.require(Right.PUBLISH, release.workspace_id)
        except Forbidden as error:
            yield rules.problem_of(one, error)


def _warnings(one: ItemNow) -> Iterator[Problem]:
    if one.newer:
        yield rules.newer(one)
    if one.is_unchanged:
        yield rules.unchanged(one)
