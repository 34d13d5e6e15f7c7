"""Callbacks of applications when a resource, version or other row is saved or deleted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db.models.signals import post_delete, pre_delete

from versioning.domain.kinds import KINDS
from versioning.domain.registering import require_callable, require_instance
from versioning.models import events
from versioning.models.keys import record_end_of_key
from versioning.models.versioned import find_model
from versioning.models.workspaces import record_deletion_of_workspace, record_end_of_membership

RESOURCES = "*"
"""Stands for the models of all kinds."""


@dataclass(frozen=True, kw_only=True)
class Follower:
    """A function and the events that call it. It replaces a foreign key to overrides, which may be files."""

    call: Callable[..., Any]
    events: Collection[str] = ()
    """The changes of resources of each kind, such as `deleted`; `call` is an `events.Watcher`."""
    rows: str = ""
    """The model whose rows are deleted, as `app_label.Model`, or `RESOURCES`; `call` receives the signal.

    A model that is not installed is ignored.
    """
    before: bool = False
    """Whether it is called before the row is deleted."""


def register(follower: Follower) -> None:
    require_instance(follower, Follower, by="follows")
    require_callable(follower.call, by="Follower(call=…)")
    for kind in KINDS:
        for name in follower.events:
            events.watch(f"{kind.slug}.{name}", follower.call)
    signal = pre_delete if follower.before else post_delete
    if follower.rows == RESOURCES:
        for kind in KINDS:
            signal.connect(follower.call, sender=find_model(kind))
    elif follower.rows:
        app_label = follower.rows.partition(".")[0]
        if any(app.label == app_label for app in apps.get_app_configs()):
            signal.connect(follower.call, sender=apps.get_model(follower.rows))


RECORDED_DELETIONS: Final = (
    Follower(call=record_end_of_membership, rows="versioning.Membership", before=True),
    Follower(call=record_deletion_of_workspace, rows="versioning.Workspace", before=True),
    Follower(call=record_end_of_key, rows="versioning.ApiKey", before=True),
)
