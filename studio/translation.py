"""Messages of the domain in the language of the page."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _

from studio.field_words import titles
from studio.named import Place, people, resource_name, workspace_name
from versioning.domain import snapshots
from versioning.domain.errors import Message, Quoted, ResourceId, Usernames, WorkspaceId
from versioning.domain.snapshots import Snapshot, message_subject, own_message, restored_from


def translate(message: str) -> str:
    """Return a message of the domain in the current language, with names in place of ids.

    Other text, such as a library's message, is returned unchanged.
    """
    template = message.template if isinstance(message, Message) else message
    text = gettext(template) if template else ""
    if not isinstance(message, Message) or not message.values:
        return text
    return text.format(
        **{
            name: _show_value(value, is_first=text.startswith(f"{{{name}}}"))
            for name, value in message.values.items()
        }
    )


def translate_at_field(message: str) -> str:
    """Return a message of the domain for a field of a form; some give the remedy instead of the problem."""
    return str(_TO_DO.get(message, "")) or translate(message)


_TO_DO: Final = {
    "must be in the future": gettext_lazy("Choose a later time."),
    "must lie in the future": gettext_lazy("Choose a later day."),
    "must not be blank": gettext_lazy("Fill in this field."),
}
"""The texts by messages of the domain, which programs get unchanged."""


class _Quotable(str):
    """A text, which messages write as `{id!r}`, in the quotation marks of the language."""

    __slots__ = ()

    def __repr__(self) -> str:
        return gettext("“{name}”").format(name=self)


def _show_value(value: Any, *, is_first: bool) -> Any:
    """Return a value of a message; `is_first` is whether the message begins with it."""
    if isinstance(value, Usernames):
        return people(value.names, Place.BEGINNING if is_first else Place.WITHIN)
    if isinstance(value, ResourceId):
        return _Quotable(resource_name(value.slug, value))
    if isinstance(value, WorkspaceId):
        return _Quotable(workspace_name(value))
    if isinstance(value, Quoted):
        return ", ".join(repr(_Quotable(name)) for name in value.names)
    if isinstance(value, Message):
        return translate(value)
    return _Quotable(value) if isinstance(value, str) else value


MAX_NAMED_FIELDS = 4


def title_of(version: Snapshot) -> str:
    """Return the name of a version for use on its own: `Version 3`, `Git 2f7341a` or `File`."""
    if version.source == "database":
        return _("Version {number}").format(number=version.number)
    return translate(snapshots.version_title(version))


def reference_to(version: Snapshot) -> str:
    """Return the name for use in a sentence: `version 3`, `Git 2f7341a` or `the override file`."""
    if version.source == "database":
        return _("version {number}").format(number=version.number)
    return translate(snapshots.reference_to(version))


def message_of(version: Snapshot) -> str:
    """Return the first paragraph of the message of a version; empty without one."""
    return message_subject(own_message(version))


def changes_of(version: Snapshot) -> str:
    """Return the description of a version without a message: `Instructions, Model`."""
    source = restored_from(version)
    if source:
        return _("Restored from %(version)s") % {"version": translate(source)}
    if version.source == "file":
        return _("The override file as it is now; not committed")
    if version.number == 1 and version.source == "database":
        return _("The first version")
    field_titles = titles(version.changed_fields[:MAX_NAMED_FIELDS])
    more = len(version.changed_fields) - len(field_titles)
    if not field_titles:
        return _("Nothing was changed")
    fields = ", ".join(field_titles)
    return fields if not more else _("%(fields)s and %(count)s more") % {"fields": fields, "count": more}
