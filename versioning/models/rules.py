"""Rules of single values, which the fields of models state, and which verbs check with `validate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from pydantic.alias_generators import to_camel

from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.texts import checked_text


class LimitedText(models.TextField):  # type: ignore[type-arg]  # no type at run time
    """A text whose `max_length` is checked by `validate`; the column, and its migration, have no limit."""

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        kwargs.pop("max_length", None)
        return name, "django.db.models.TextField", args, kwargs


def validate(row: models.Model, names: Iterable[str], issues: Iterable[Issue] = ()) -> None:
    """Check the lengths, the characters and the choices of fields; a text may be empty.

    Raises `Invalid` with every problem, by the names that the API has for the fields, after the `issues`
    that the verb has found itself.
    """
    issues = list(issues)
    for name in names:
        field: Any = row._meta.get_field(name)
        value = getattr(row, name)
        choices = dict(field.choices or ())
        if choices and value not in choices and not (field.blank and not value):
            message = Message("must be one of {values}", values=", ".join(choices))
            issues.append(Issue(to_camel(name), message))
        elif isinstance(value, str):
            try:
                checked_text(to_camel(name), value, field.max_length)
            except Invalid as error:
                issues += error.issues
    if issues:
        raise Invalid(issues)
