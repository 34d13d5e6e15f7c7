"""Messages of the domain in the language of the page."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from studio.named import resource_name, workspace_name
from studio.people import Place, people
from versioning.domain.errors import Message, ResourceId, Usernames, WorkspaceId


def translated(message: str) -> str:
    """Return a message of the domain in the current language, with names in place of ids.

    Other text, such as a library's message, is returned unchanged.
    """
    template = message.template if isinstance(message, Message) else message
    text = gettext(template) if template else ""
    if not isinstance(message, Message) or not message.values:
        return text
    return text.format(
        **{
            name: _shown(value, is_first=text.startswith(f"{{{name}}}"))
            for name, value in message.values.items()
        }
    )


class _Quotable(str):
    """A name, which messages write in quotation marks as `{id!r}`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return gettext("“{name}”").format(name=self)


def _shown(value: Any, *, is_first: bool) -> Any:
    """Return a value of a message; `is_first` says that the message begins with it."""
    if isinstance(value, Usernames):
        return people(value.names, Place.BEGINNING if is_first else Place.WITHIN)
    if isinstance(value, ResourceId):
        return _Quotable(resource_name(value.slug, value))
    if isinstance(value, WorkspaceId):
        return _Quotable(workspace_name(value))
    return translated(value) if isinstance(value, Message) else value
