"""Changes that are made by Django's ORM and not by our verbs: the log moves for them all the same.

A shell, an admin page or a command of the application changes accounts, members and records, and the
next answer of every process has to be right. `QuerySet.update()`, bulk operations and SQL send no
signals: those are noticed within `followed_log.HOLD_SECONDS`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from versioning.models import events
from versioning.models.favorites import Favorite
from versioning.models.keys import ApiKey
from versioning.models.kinds import MODELS
from versioning.models.workspaces import Membership, Workspace

_LOGGED_MODELS: Final[tuple[type[Model], ...]] = (
    *MODELS,
    *(model.label_model for model in MODELS),
    Workspace,
    Membership,
    ApiKey,
)
"""What our verbs change, and write entries about."""

_HARMLESS = (Workspace, ApiKey)
"""What nothing can depend on as long as it is new; accounts are of this sort, too."""


def connect() -> None:
    """Listen to what the ORM saves and deletes, for as long as the process runs."""
    account = get_user_model()
    post_save.connect(_account_saved, sender=account)
    post_delete.connect(_unlogged_model_changed, sender=account)
    for signal in (post_save, post_delete):
        signal.connect(_unlogged_model_changed, sender=Favorite)
        for model in _LOGGED_MODELS:
            signal.connect(_logged_model_changed, sender=model)


def _account_saved(
    *, sender: Any, created: bool, update_fields: Collection[str] | None, **_signal: Any
) -> None:
    # Signing in says only when that was.
    shown = {sender.USERNAME_FIELD, "is_active", "is_superuser"}
    if not created and (update_fields is None or not shown.isdisjoint(update_fields)):
        events.touch()


def _unlogged_model_changed(**_signal: Any) -> None:
    events.touch()


def _logged_model_changed(*, sender: Any, created: bool = False, **_signal: Any) -> None:
    if not (created and sender in _HARMLESS):
        events.touch(unless_logged=True)
