"""Validate configurations, compare them, and find their texts.

Pure. Each kind declares its fields, of what `versioning.domain.fields` has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from editor_client.shared import canonical
from editor_client.shared.configurations import changed_fields, differs, merged
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from versioning.domain import fields
from versioning.domain.context_schema import SCHEMA_FIELD, schema_problem
from versioning.domain.errors import MAX_ISSUES, Invalid, Issue, Message

Config = dict[str, Any]

EXCERPT_LENGTH = 240
_TEXT_FIELDS_OF_0013 = ("instructions", "content")


@dataclass(frozen=True)
class ConfigSchema:
    """The fields of the snapshots of one kind."""

    edit: type[fields.Shape]
    """The shape of an edit, where every field may be absent."""
    whole: type[fields.Shape]

    @property
    def names(self) -> list[str]:
        """The JSON names of the fields, in the order of declaration."""
        return [str(field.alias) for field in self.edit.model_fields.values()]

    def edited(self, current: Config, changes: Mapping[str, Any]) -> Config:
        """Return the configuration after an edit: an absent field is unchanged, a null one is cleared.

        Raises `Invalid` with every problem of what is new. What was saved before there was a rule does not
        prevent edits of other fields.
        """
        try:
            canonical.check(changes)
        except ValueError as error:
            raise Invalid.field("body", error.args[0]) from None
        config = self.merged(current, changes)
        looked_at = self._required | {name for name in config if differs(name, current, config)}
        raise_for_issues(self.whole, {name: value for name, value in config.items() if name in looked_at})
        schema = changes.get(SCHEMA_FIELD)
        schema_issue = None if schema is None else schema_problem(schema)
        if schema_issue is not None:
            raise Invalid([schema_issue])
        return config

    def read(self, value: Mapping[str, Any]) -> Config:
        """Return a configuration that was read from storage; raises `Invalid` if its shape is wrong."""
        config = self.merged({}, value)
        raise_for_issues(self.whole, config)
        return config

    def merged(self, current: Config, changes: Mapping[str, Any]) -> Config:
        """Return the configuration with the changes applied, without validating the result."""
        return merged(current, changes, set(self.names) - self._required)

    def changed(self, before: Config, after: Config) -> list[str]:
        """Return the names of the fields in which two configurations differ."""
        return changed_fields(self.names, before, after)

    @property
    def _required(self) -> set[str]:
        return {str(field.alias) for field in self.whole.model_fields.values() if field.is_required()}


def raise_for_issues(shape: type[BaseModel], value: Any) -> None:
    """Raise `Invalid` with the problems of `value`, each under the name that the caller used for the field.

    Problems beyond `MAX_ISSUES` are only counted.
    """
    try:
        shape.model_validate(value)
    except ValidationError as error:
        issues = [_issue(problem) for problem in islice(error.errors(include_url=False), MAX_ISSUES)]
        raise Invalid(issues, more=error.error_count() - len(issues)) from None


def excerpt_of(config: Config, text_field: str | None = None) -> str:
    """Return how the text of a configuration begins, in one line of at most `EXCERPT_LENGTH` characters.

    Of a prompt block that the text refers to it has the id, in square brackets. Only migration 0013 does not
    say which field has the text.
    """
    fields = _TEXT_FIELDS_OF_0013 if text_field is None else (text_field,)
    text: Any = next((config[name] for name in fields if name in config), "")
    blocks = text if isinstance(text, list) else [{"content": text}]
    line = ""
    for block in blocks:
        part = block["content"] if "content" in block else f"[{block.get('id', '')}]"
        # The white space of a text is most of it at the worst: enough is read to fill the line all the same.
        line = f"{line} {' '.join(part[: 8 * EXCERPT_LENGTH].split())}".strip()
        if len(line) >= EXCERPT_LENGTH:
            break
    return line[:EXCERPT_LENGTH].rstrip()


def _issue(error: ErrorDetails) -> Issue:
    # pydantic reports a problem of a key as the key followed by "[key]"; a caller's own key may look like
    # that.
    about_key = len(error["loc"]) > 1 and error["loc"][-1] == "[key]" and error["loc"][-2] == error["input"]
    parts = error["loc"][:-1] if about_key else error["loc"]
    path = [str(part) for part in parts if not str(part).startswith("\0")]
    if error["type"] == "block_type" and isinstance(error["input"], dict):
        path.append("type")
    own = error.get("ctx", {}).get("reason", error["msg"])
    return Issue(".".join(path) or "body", _MESSAGES.get(error["type"], own))


_MESSAGES = {
    "blank": Message("must not be blank"),
    "bool_type": Message("must be true or false"),
    "dict_type": Message("must be an object"),
    "int_type": Message("must be a whole number"),
    "extra_forbidden": Message("is not a field that can be set here"),
    "list_type": Message("must be a list"),
    "missing": Message("is required"),
    "model_type": Message("must be an object"),
    "string_too_short": Message("must not be empty"),
    "string_type": Message("must be text"),
}
