"""Messages in columns: as templates with values, so that pages can translate them."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

from versioning.domain.errors import Message, Quoted


class MessageField(models.TextField):  # type: ignore[type-arg]
    """A message; one with values is stored as template and values, so that pages can translate it."""

    def deconstruct(self) -> Any:
        """Return the arguments of the plain text column, so that it needs no migration."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        if not isinstance(value, Message) or not value.values:
            return super().get_prep_value(value)
        return json.dumps(_split_message(value))

    def from_db_value(self, value: str | None, *_of: Any) -> str | None:
        """Return the stored message; earlier releases stored every message as plain text."""
        if value is None or not value.startswith('{"template": '):
            return value
        message: str = _read_message(json.loads(value))
        return message


def _split_message(value: Any) -> Any:
    if isinstance(value, Quoted):
        return {"quoted": list(value.names)}
    if not isinstance(value, Message):
        return value
    return {
        "template": value.template,
        "values": {name: _split_message(part) for name, part in value.values.items()},
    }


def _read_message(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    if "quoted" in stored:
        return Quoted(stored["quoted"])
    return Message(
        stored["template"], **{name: _read_message(value) for name, value in stored["values"].items()}
    )
