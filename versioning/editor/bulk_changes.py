"""Bulk changes other than publishing: setting a label, changing tags."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

from editor_client.shared import ids, tags

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import EditConflict, Invalid, Issue, Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.resolved_agent import Notice
from versioning.editor import collection as verbs
from versioning.editor.bulk import Choice, Outcome, change_chosen
from versioning.editor.resources import Who

CollectionOf = Callable[[ResourceKind], verbs.Collection[Any]]

_ATTEMPTS: Final = 3


def label_chosen(
    collection_of: CollectionOf, choices: Sequence[Choice], name: str, *, live: bool, by: Who = APPLICATION
) -> list[Outcome]:
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
    choices: Sequence[Choice],
    *,
    add: Collection[str],
    remove: Collection[str],
    by: Who = APPLICATION,
) -> list[Outcome]:
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
    choice: Choice,
    by: Caller,
) -> Sequence[Notice] | None:
    resource = collection.find(choice.id, by=by)
    by.require(Right.PUBLISH, resource.workspace_id)
    version_id = resource.active_id if live else choice.version_id
    if version_id is None:
        raise Invalid.field("versionId", "has no live version")
    expect = None if choice.etag is None else {choice.etag}
    if expect is None or resource.etag in expect:
        held = next((label for label in collection.labels(choice.id, by=by) if label.name == name), None)
        if held is not None and held.version_id == version_id:
            return None
    collection.label(choice.id, name, version_id, by=by, expect=expect)
    return ()


def _tag(
    add: Collection[str],
    remove: Collection[str],
    collection: verbs.Collection[Any],
    choice: Choice,
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
