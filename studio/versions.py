"""Versions in words: their names and messages."""

from __future__ import annotations

from django.utils.translation import gettext as _

from studio.forms.wording import titles
from studio.translation import translated
from versioning.domain import snapshots
from versioning.domain.snapshots import Snapshot, own_words_of, restored_from, subject_of

MAX_NAMED_FIELDS = 4


def title_of(version: Snapshot) -> str:
    """Return the name of a version where it stands alone: `Version 3`, `Git 2f7341a` or `File`."""
    return translated(snapshots.title_of(version))


def reference_to(version: Snapshot) -> str:
    """Return the name for use in a sentence: `version 3`, `Git 2f7341a` or `the override file`."""
    return translated(snapshots.reference_to(version))


def message_of(version: Snapshot) -> str:
    """Return the first paragraph of the message of a version; empty without one."""
    return subject_of(own_words_of(version))


def changes_of(version: Snapshot) -> str:
    """Return the description of a version without a message: `Instructions, Model`."""
    source = restored_from(version)
    if source:
        return _("Restored from %(version)s") % {"version": translated(source)}
    if version.source == "file":
        return _("The override file as it is now; not committed")
    if version.number == 1 and version.source == "database":
        return _("The first version")
    named = titles(version.changed_fields[:MAX_NAMED_FIELDS])
    more = len(version.changed_fields) - len(named)
    if not named:
        return _("Nothing was changed")
    shown = ", ".join(named)
    return shown if not more else _("%(fields)s and %(count)s more") % {"fields": shown, "count": more}
