"""Messages of the domain in the language of the page."""

from __future__ import annotations

from django.utils.translation import gettext

from versioning.domain.errors import Message


def translated(message: str) -> str:
    """Return a message of the domain in the current language, with unchanged values.

    Other text, such as a library's message, is returned unchanged.
    """
    template = message.template if isinstance(message, Message) else message
    text = gettext(template) if template else ""
    if not isinstance(message, Message) or not message.values:
        return text
    values = {
        name: translated(value) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return text.format(**values)
