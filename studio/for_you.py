"""What is for one person to do or to know: the groups at the top of the home page and of the notifications.

Applications return groups with `Extension.for_you`; they name what they are about in the words of people.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from django.utils.functional import Promise
from django.utils.safestring import SafeString

SHOWN = 5
"""How many tasks of a group are shown; the group's page has all of them."""


class Urgency(IntEnum):
    """The order of the groups, most urgent first."""

    RETURNED = 10
    """The person's own work, which a reviewer has returned."""
    ASKED = 20
    """Work of others, who wait for the person."""
    STARTED = 30
    """The person's own work, which is not finished."""
    PLANNED = 40
    """What happens by itself on the person's behalf, unless something prevents it."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something to do or to know about one resource or another object."""

    name: str
    """The name of the object."""
    address: str
    """The address of the page that says more; empty if there is none."""
    icon: str
    chip: tuple[str | Promise, str] | None = None
    """The state in a word, with the class of its chip."""
    said: str = ""
    """What the other person wrote about it."""
    about: str | SafeString = ""
    """Who did or wants what, as part of a sentence; before the time."""
    at: datetime.datetime | None = None
    """When that was."""
    notes: Sequence[str | SafeString] = ()
    """Further sentences, such as what stands in the way."""
    workspace_id: str = ""
    action: str = ""
    """The title of the button; empty without one."""
    action_address: str = ""
    """Where the button leads, if not to `address`."""


@dataclass(frozen=True, kw_only=True)
class TaskGroup:
    key: str
    """Distinguishes the group from the others on the page."""
    urgency: Urgency
    title: str
    tasks: Sequence[Task]
    """The first ones: at most `SHOWN`."""
    count: int
    """How many there are in all."""
    address: str = ""
    """The address of the page with all of them."""
    stylesheets: Sequence[str] = field(default_factory=tuple)

    @property
    def has_more(self) -> bool:
        return self.count > len(self.tasks)


def in_order(groups: Sequence[TaskGroup]) -> list[TaskGroup]:
    """Return the groups with any task, most urgent first; equally urgent ones stay in their order."""
    return sorted((group for group in groups if group.count), key=lambda one: one.urgency)
