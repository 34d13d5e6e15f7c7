"""What prevents a release from being published, computed on request."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils import timezone

from capabilities.releases import rules
from capabilities.releases.editing import find
from capabilities.releases.items import ItemNow, moves_of, now
from capabilities.releases.models import Release
from capabilities.releases.models.releases import Action
from capabilities.releases.rules import Problem, in_order
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Forbidden, Invalid, VersioningError
from versioning.editor import Editor, gate
from versioning.editor.gate import (
    NO_OPTIONS,
    GateRequest,
    Options,
    PublishRequest,
    TakeDownRequest,
)
from versioning.editor.resources import Who, caller_of
from versioning.serving.overlays import Versions
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of a check whether a release could be published now."""

    problems: Sequence[Problem]
    """The reasons that prevent publishing."""
    warnings: Sequence[Problem]
    """Warnings, which do not prevent it."""

    @property
    def ok(self) -> bool:
        """Whether it could be published."""
        return not self.problems


def check(releases: Verbs, release_id: str, *, by: Who = APPLICATION) -> Check:
    """Return the problems and warnings if the caller published the release now; stores and locks nothing.

    Blocks that the release itself publishes count as published, and those that it unpublishes do not.
    """
    caller, editor = caller_of(by), releases.editor
    release = find(release_id, by=caller)
    items = in_order(now(editor, release.items.all(), with_texts=True))
    return Check(
        problems=problems_of(editor, release, items, caller),
        warnings=[warning for item in items for warning in _warnings(item)],
    )


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An attempt to publish a release, with its items as they are stored now."""

    release: Release
    items: Sequence[ItemNow]
    by: Caller
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    at: datetime.datetime = field(default_factory=timezone.now)
    """When it is published: now, or the time of its schedule."""

    @cached_property
    def together(self) -> Versions:
        """What goes live together, or is taken down."""
        return moves_of(item.item for item in self.items)


def problems_of(
    editor: Editor,
    release: Release,
    items: Sequence[ItemNow],
    by: Caller,
    *,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
) -> list[Problem]:
    """Return what prevents the caller from publishing a release with these items, as stored now.

    `at` is when it is published, by default now.

    Raises `OptionRefused` if the caller may not use an option, and `Invalid` for an invalid value.
    """
    attempt = Attempt(release=release, items=items, by=by, options=options, at=at or timezone.now())
    [found] = problems_of_several(editor, [attempt])
    return found


def problems_of_several(editor: Editor, attempts: Sequence[Attempt]) -> list[list[Problem]]:
    """Return `problems_of` for several releases, in as many statements as `gate.refusals` takes."""
    requests = {
        (number, one.item.pk): request
        for number, attempt in enumerate(attempts)
        for one, request in _requests(attempt)
    }
    refusals = dict(zip(requests, gate.refusals(list(requests.values()), editor.code), strict=True))
    return [
        [
            problem
            for item in attempt.items
            for problem in _problems(attempt, item, refusals.get((number, item.item.pk)))
        ]
        or ([] if attempt.items else [rules.empty()])
        for number, attempt in enumerate(attempts)
    ]


def _requests(attempt: Attempt) -> Iterator[tuple[ItemNow, GateRequest]]:
    """Yield the requests to the gate: for all items that publish a version, or unpublish one."""
    for item in attempt.items:
        if item.resource is None or item.is_file:
            continue
        move: Any = {
            "resource": item.resource,
            "caller": attempt.by,
            "options": attempt.options,
            "together": attempt.together,
            "at": attempt.at,
        }
        if item.version is not None:
            yield item, PublishRequest(version=item.version, **move)
        elif item.item.action != Action.PUBLISH and item.active_version_id is not None:
            yield item, TakeDownRequest(**move)


def _problems(attempt: Attempt, one: ItemNow, refusal: VersioningError | None) -> Iterator[Problem]:
    if one.resource is None:
        yield rules.gone(one, is_version=False)
    elif one.is_file:
        yield rules.in_a_file(one)
    elif one.item.action == Action.PUBLISH and one.version is None:
        yield rules.gone(one, is_version=True)
    else:
        if isinstance(refusal, gate.OptionRefused) or (refusal is not None and refusal.code == Invalid.code):
            raise refusal  # the request is at fault, not the release
        if refusal is not None:
            yield rules.problem_of(one, refusal)
        if refusal is None or one.item.action != Action.PUBLISH:
            try:
                attempt.by.require(Right.PUBLISH, attempt.release.workspace_id)
            except Forbidden as error:
                yield rules.problem_of(one, error)


def _warnings(one: ItemNow) -> Iterator[Problem]:
    if one.newer:
        yield rules.newer(one)
    if one.is_unchanged:
        yield rules.unchanged(one)
