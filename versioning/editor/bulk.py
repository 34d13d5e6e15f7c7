"""Apply one change to many chosen resources of both kinds, and report on each of them.

Each resource has its own rights, checks and transaction. A refusal for one does not stop the others.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from editor_client.shared import ids, tags

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import Notice
from versioning.domain.errors import EditConflict, Invalid, Issue, Message, VersioningError
from versioning.domain.kinds import ResourceKind
from versioning.editor import collection as verbs
from versioning.editor.collection import Collection
from versioning.editor.locking import current_state
from versioning.editor.resources import Who, caller_of

MAX_CHOSEN: Final = 200
"""How many resources can be chosen at once."""


@dataclass(frozen=True, kw_only=True)
class ChosenVersion:
    """A resource that a person chose, and the state in which they saw it."""

    kind: ResourceKind
    id: str
    version_id: str
    """The newest version that they saw."""
    etag: str | None = None
    """The entity tag of the resource, as for `If-Match`; None if only the version was seen."""


class Result(StrEnum):
    """The result for one choice."""

    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class BulkOutcome:
    """The outcome for one choice, and the reason."""

    choice: ChosenVersion
    result: Result
    error: VersioningError | None = None
    """Why it was refused."""
    warnings: Sequence[Notice] = ()
    """Warnings about a change that was made."""


Change = Callable[[Collection[Any], ChosenVersion, Caller], Sequence[Notice] | None]
"""Changes one resource in its own transaction and returns its warnings; None if nothing changes.

Raises an error of the domain, which becomes the outcome.
"""


def change_chosen(
    collection_of: Callable[[ResourceKind], Collection[Any]],
    choices: Sequence[ChosenVersion],
    change: Change,
    *,
    by: Who = APPLICATION,
) -> list[BulkOutcome]:
    """Make a change to each of the chosen resources; return an outcome for each, in the given order.

    Prompt blocks are changed before agents, so that an agent can be published together with its blocks.
    Raises `Invalid` for more than `MAX_CHOSEN` choices, before anything is changed.
    """
    if len(choices) > MAX_CHOSEN:
        raise Invalid.field("chosen", Message("must not have more than {limit} items", limit=MAX_CHOSEN))
    caller = caller_of(by)
    outcomes: dict[int, BulkOutcome] = {}
    for place, choice in sorted(enumerate(choices), key=lambda item: item[1].kind.is_run):
        outcomes[place] = _outcome(collection_of(choice.kind), choice, change, caller)
    return [outcomes[place] for place in range(len(choices))]


def publish_chosen(
    collection_of: Callable[[ResourceKind], Collection[Any]],
    choices: Sequence[ChosenVersion],
    *,
    by: Who = APPLICATION,
) -> list[BulkOutcome]:
    """Publish the chosen versions; see `change_chosen`.

    Publishes exactly the version that was seen. A resource that has changed since is refused: after any
    change if the choice has an ETag, otherwise only if there is a newer version.
    """
    return change_chosen(collection_of, choices, _publish, by=by)


def _publish(collection: Collection[Any], choice: ChosenVersion, by: Caller) -> Sequence[Notice] | None:
    resource = collection.find(choice.id, by=by)
    by.require(Right.PUBLISH, resource.workspace_id)
    if choice.version_id == resource.active_id:
        return None
    if choice.etag is None and choice.version_id != resource.latest_id:
        raise EditConflict(current_state(resource))
    # Without an ETag, use the one just read: any change from now on is refused, too.
    expect = {resource.etag if choice.etag is None else choice.etag}
    try:
        resolved = collection.publish(choice.id, choice.version_id, by=by, expect=expect)
    except EditConflict as conflict:
        if conflict.current["activeVersionId"] == choice.version_id:
            return None  # another person has just published it
        raise
    return resolved.warnings


def _outcome(collection: Collection[Any], choice: ChosenVersion, change: Change, by: Caller) -> BulkOutcome:
    try:
        warnings = change(collection, choice, by)
    except VersioningError as error:
        return BulkOutcome(choice=choice, result=Result.REFUSED, error=error)
    if warnings is None:
        return BulkOutcome(choice=choice, result=Result.NOTHING_TO_DO)
    return BulkOutcome(choice=choice, result=Result.DONE, warnings=warnings)


CollectionOf = Callable[[ResourceKind], verbs.Collection[Any]]

_ATTEMPTS: Final = 3


def label_chosen(
    collection_of: CollectionOf,
    choices: Sequence[ChosenVersion],
    name: str,
    *,
    live: bool,
    by: Who = APPLICATION,
) -> list[BulkOutcome]:
    """Set a label on the newest versions as they were seen or, with `live`, on the live versions.

    A label that is on another version is moved. Raises `Invalid` for an invalid label name; see
    `change_chosen` for everything else.
    """
    problem = ids.label_problem(name)
    if problem is not None:
        raise Invalid.field("name", problem)
    return change_chosen(collection_of, choices, partial(_label, name, live), by=by)


def tag_chosen(
    collection_of: CollectionOf,
    choices: Sequence[ChosenVersion],
    *,
    add: abc.Collection[str],
    remove: abc.Collection[str],
    by: Who = APPLICATION,
) -> list[BulkOutcome]:
    """Add tags to the chosen resources, and remove others.

    Other metadata is unchanged. Raises `Invalid` for an invalid tag; see `change_chosen` for everything else.
    """
    problems = [Issue("add", problem) for problem in map(tags.problem, add) if problem is not None]
    if problems:
        raise Invalid(problems)
    return change_chosen(collection_of, choices, partial(_tag, add, remove), by=by)


def _label(
    name: str,
    live: bool,  # noqa: FBT001  bound by `partial`
    collection: verbs.Collection[Any],
    choice: ChosenVersion,
    by: Caller,
) -> Sequence[Notice] | None:
    resource = collection.find(choice.id, by=by)
    by.require(Right.PUBLISH, resource.workspace_id)
    version_id = resource.active_id if live else choice.version_id
    if version_id is None:
        raise Invalid.field("versionId", "has no live version")
    expect = None if choice.etag is None else {choice.etag}
    if expect is None or resource.etag in expect:
        current = next((label for label in collection.labels(choice.id, by=by) if label.name == name), None)
        if current is not None and current.version_id == version_id:
            return None
    collection.label(choice.id, name, version_id, by=by, expect=expect)
    return ()


def _tag(
    add: abc.Collection[str],
    remove: abc.Collection[str],
    collection: verbs.Collection[Any],
    choice: ChosenVersion,
    by: Caller,
) -> Sequence[Notice] | None:
    """Change the tags of a resource in its current state; a concurrent change is merged by trying again."""
    for attempt in range(_ATTEMPTS):
        resource = collection.find(choice.id, by=by)
        by.require(Right.SAVE, resource.workspace_id)
        before = tags.read_tags(resource.metadata)
        after = list(dict.fromkeys([*(tag for tag in before if tag not in remove), *add]))
        if after == before:
            return None
        if len(after) > tags.MAX_TAGS:
            raise Invalid.field("tags", Message("would have more than {limit} tags", limit=tags.MAX_TAGS))
        try:
            metadata = {tags.MEMBER: after or None}
            collection.edit(choice.id, metadata=metadata, by=by, expect={resource.etag})
        except EditConflict:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    return ()
