"""The tasks and news of one person: the groups at the top of the home page and of the notifications.

Applications return groups with `Extension.tasks`; groups name their subjects in plain words.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from django.utils.functional import Promise
from django.utils.safestring import SafeString

SHOWN = 5
"""The number of tasks of a group that are shown; the group's page has all of them."""


class Urgency(IntEnum):
    """The order of the groups, most urgent first."""

    RETURNED = 10
    """The person's own work, which a reviewer has returned."""
    ASKED = 20
    """Work of others that waits for the person."""
    STARTED = 30
    """The person's own work, which is not finished."""
    PLANNED = 40
    """Automatic work on the person's behalf, unless something prevents it."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task or a piece of news about one resource or another object."""

    name: str
    """The name of the object."""
    address: str
    """The address of the page with details; empty if there is none."""
    icon: str
    chip: tuple[str | Promise, str] | None = None
    """The state in a word, with the class of its chip."""
    said: str = ""
    """The other person's text about it."""
    about: str | SafeString = ""
    """The person and the action, as part of a sentence; before the time."""
    at: datetime.datetime | None = None
    """The time of the action."""
    notes: Sequence[str | SafeString] = ()
    """Further sentences, such as obstacles."""
    workspace_id: str = ""
    action: str = ""
    """The title of the button; empty without one."""
    action_address: str = ""
    """The address of the button, if not `address`."""


@dataclass(frozen=True, kw_only=True)
class TaskGroup:
    key: str
    """Distinguishes the group from the others on the page."""
    urgency: Urgency
    title: str
    tasks: Sequence[Task]
    """The first ones: at most `SHOWN`."""
    count: int
    """The total number."""
    address: str = ""
    """The address of the page with all of them."""
    stylesheets: Sequence[str] = field(default_factory=tuple)

    @property
    def has_more(self) -> bool:
        return self.count > len(self.tasks)


def in_order(groups: Sequence[TaskGroup]) -> list[TaskGroup]:
    """Return the groups with any task, most urgent first; equally urgent ones keep their order."""
    return sorted((group for group in groups if group.count), key=lambda group: group.urgency)
