"""The form of a resource: its fields with their controls, locked fields, and empty rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.tags import MEMBER, listed_in, problem, read_tags

from studio.field_words import IN_CODE, WITHHELD, Words, words_of
from studio.forms.fields import (
    changes,
    control_of,
    rebase_form,
    show_config,
    show_model,
    show_usages,
    too_large,
)
from studio.forms.inputs import Input, Reading, Shown, json_text, read_json
from studio.forms.rules import show_rules
from studio.kind_words import FieldWords, Part
from studio.limits import shorten
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import Invalid, Issue
from versioning.domain.overrides import APPLIED_FIELDS, CodeAgent, changeable, code_config, not_applied

_HEAD = ("name", "description")
_FIRST = ("instructions", "content", "rules", "model", "tools", "agents")
_TEMPLATES = {
    "name": "line",
    "description": "line",
    "instructions": "instructions",
    "content": "content",
    "rules": "when",
    "model": "model",
    "tools": "offered",
    "agents": "offered",
}
EXCERPT = 2_000
"""The number of characters shown of a field that cannot be edited here."""
_OF_RECORD = ("metadata", "metadataBefore", "tags", "tagsBefore")
"""The controls of the record, which are not part of a version."""
NEW = "NEW"
"""The prefix in the names of an empty row's controls; the script replaces it."""


@dataclass(frozen=True, kw_only=True)
class FieldView:
    name: str
    words: Words
    control: Input
    locked: str = ""
    """Why it cannot be changed here; empty if it can."""
    in_code: str = ""
    """The value in the code, if code defines the agent."""
    saved: str = ""
    parts: Sequence[Part] = ()

    @property
    def excerpt(self) -> str:
        return shorten(self.saved, EXCERPT)

    @property
    def template(self) -> str:
        return f"studio/editing/{_TEMPLATES.get(self.name) or control_of(self.name)}.html"


@dataclass(frozen=True, kw_only=True)
class EditForm:
    """All fields of a resource: those in the heading of the page, the main ones, and the rest."""

    head: Sequence[FieldView]
    first: Sequence[FieldView]
    more: Sequence[FieldView]
    locked: Sequence[FieldView] = ()
    """The fields that only code may set."""
    unapplied: Sequence[FieldView] = ()
    """The fields of an override that are never applied."""
    large: Sequence[FieldView] = ()
    """The fields that are too long for the page; saving leaves them unchanged."""

    @property
    def is_head_open(self) -> bool:
        """Whether the fields in the heading are shown: one has an error or unsaved text."""
        return any(view.control.errors or view.control.typed != view.saved for view in self.head)

    @property
    def set_in_more(self) -> list[str]:
        return [view.words.title for view in self.more if view.saved]

    @property
    def has_errors_in_more(self) -> bool:
        return any(view.control.errors for view in self.more)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        controls: Input,
        config: Config,
        code: CodeAgent | None,
        words: Mapping[str, FieldWords] = MappingProxyType({}),
    ) -> EditForm:
        """Return the form with these controls; `config` is the configuration from which they started.

        `words` are those of the kind.
        """
        views = [_field(name, controls, config, words=words) for name in names]
        unapplied = []
        if code is not None:
            base, free = code_config(code), changeable(code)
            views = [
                _field(
                    name,
                    controls,
                    config,
                    in_code=base.get(name),
                    locked="" if name in free else str(WITHHELD if name in APPLIED_FIELDS else IN_CODE),
                )
                for name in names
                if name in APPLIED_FIELDS or name in base
            ]
            unapplied = [_field(name, controls, config, locked=str(IN_CODE)) for name in not_applied(config)]
        beyond = {name for name in too_large(config, list(names)) if name not in controls}
        large = [view for view in views if view.name in beyond and not view.locked]
        views = [view for view in views if view not in large]
        free_views = {view.name: view for view in views if not view.locked}
        own = [name for name in free_views if name not in (*_HEAD, *_FIRST)]
        of_kinds = [name for name in own if control_of(name) != "json"]
        head = [free_views.pop(name) for name in _HEAD if name in free_views]
        first = [free_views.pop(name) for name in (*_FIRST, *of_kinds) if name in free_views]
        locked = [view for view in views if view.locked]
        return cls(
            head=head,
            first=first,
            more=list(free_views.values()),
            locked=locked,
            unapplied=unapplied,
            large=large,
        )


def _field(
    name: str,
    controls: Input,
    config: Config,
    *,
    in_code: Any = None,
    locked: str = "",
    words: Mapping[str, FieldWords] = MappingProxyType({}),
) -> FieldView:
    spoken, saved = words.get(name), config.get(name)
    has_parts = spoken is not None and spoken.parts
    parts = spoken.parts.get(controls.child(spoken.parts_by).typed, ()) if spoken and has_parts else ()
    return FieldView(
        name=name,
        parts=parts,
        words=words_of(name, words),
        control=controls.child(name),
        locked=locked,
        in_code="" if in_code is None else in_code if isinstance(in_code, str) else json_text(in_code),
        saved="" if saved is None else saved if isinstance(saved, str) else json_text(saved),
    )


def empty_rows() -> dict[str, Input]:
    """Return the empty controls of each type of row."""
    rule: Shown = {"kind": "rule", "field": "", "operator": "equals", "type": "text", "value": ""}
    group: Shown = {"kind": "group", "operator": "AND", "conditions": []}
    rows: dict[str, Shown] = {
        "text": {"type": "text", "content": "", "rules": show_rules(None)},
        "reference": {"type": "prompt_block_ref", "id": ""},
        "offered": {"key": "", "description": "", "rules": show_rules(None)},
        "variant_model": {"value": show_model(None), "rules": show_rules(None)},
        "variant_usages": {"value": show_usages(None), "rules": show_rules(None)},
        "condition": rule,
        "group": group,
    }
    return {name: Input.showing(row, NEW) for name, row in rows.items()}


@dataclass(kw_only=True)
class Submission:
    controls: Input
    began_with: Config | None
    """None if that version was deleted."""
    reading: Reading
    changed: dict[str, Any]
    metadata: dict[str, Any]
    """The members to merge into the metadata; None removes one."""
    names: Sequence[str]

    @classmethod
    def read(
        cls, controls: Input, began_with: Config | None, latest: Config, names: Sequence[str]
    ) -> Submission:
        """Read the form; `reading` has its errors.

        If the version from which it started was deleted, all differences from the latest version count as
        typed.
        """
        reading = Reading()
        base = latest if began_with is None else began_with
        changed = changes(base, list(names), controls, reading)
        metadata = _metadata_changes(controls, reading) | _tag_changes(controls, reading)
        reading.note("changeMessage", controls["changeMessage"])
        return cls(
            controls=controls,
            began_with=began_with,
            reading=reading,
            changed=changed,
            metadata=metadata,
            names=names,
        )

    def check(self, schema: ConfigSchema) -> None:
        """Raise `Invalid` if a value cannot be read, together with the errors of all other fields."""
        issues = list(self.reading.issues)
        if not issues:
            return
        broken = {_find_field(issue) for issue in issues}
        sound = {name: value for name, value in self.changed.items() if name not in broken}
        try:
            schema.edit_config(self.began_with or {}, sound)
        except Invalid as error:
            issues += [issue for issue in error.issues if _find_field(issue) not in broken]
        raise Invalid(issues)

    def rebase_on(self, latest: Config) -> Input:
        """Return the form of the latest configuration, with the typed changes applied to it."""
        return self._make_form(latest, [*self.changed, *self._unread])

    def showing(self, config: Config) -> Input:
        """Return the form of a configuration; invalid fields have the typed values."""
        return self._make_form(config, self._unread)

    @property
    def _unread(self) -> list[str]:
        broken = {_find_field(issue) for issue in self.reading.issues}
        return [name for name in self.names if name in broken]

    def _make_form(self, config: Config, as_typed: list[str]) -> Input:
        form = rebase_form(config, list(self.names), self.controls, as_typed)
        for name in (*_OF_RECORD, "changeMessage"):
            form.children[name] = self.controls.child(name)
        return form


def form_controls(config: Config, names: Sequence[str], metadata: dict[str, Any]) -> Input:
    form = show_config(config, list(names))
    tags = read_tags(metadata)
    # Invalid tags are shown only in the JSON: they must not disappear when a tag is typed.
    is_plain = metadata.get(MEMBER, tags) == tags
    rest = {name: value for name, value in metadata.items() if name != MEMBER} if is_plain else metadata
    text = json_text(rest or None)
    form.children.update({name: Input(name, text) for name in ("metadata", "metadataBefore")})
    if is_plain:
        form.children.update({name: Input(name, ", ".join(tags)) for name in ("tags", "tagsBefore")})
    form.children["changeMessage"] = Input("changeMessage")
    return form


def _tag_changes(controls: Input, reading: Reading) -> dict[str, Any]:
    """Return the tags as a member of the metadata, if they were changed in the form."""
    if "tags" not in controls:
        return {}
    before, after = (listed_in(controls[name].as_line) for name in ("tagsBefore", "tags"))
    for text in after:
        wrong = problem(text)
        if wrong is not None:
            reading.note("tags", controls["tags"])
            reading.add_error("tags", wrong)
            return {}
    return {} if after == before else {MEMBER: after or None}


def _metadata_changes(controls: Input, reading: Reading) -> dict[str, Any]:
    """Return the changes of the metadata in the form; other members stay unchanged."""
    if "metadata" not in controls:
        return {}
    before = read_json(controls["metadataBefore"], "metadata", Reading())
    after = read_json(controls["metadata"], "metadata", reading)
    before, after = ({} if value is None else value for value in (before, after))
    if not isinstance(after, dict) or not isinstance(before, dict):
        reading.add_error("metadata", _("must be an object"))
        return {}
    removed = {key: None for key in before if key not in after}
    return removed | {
        key: value
        for key, value in after.items()
        if key not in before or not canonical.same(value, before[key])
    }


def _find_field(issue: Issue) -> str:
    return issue.field.partition(".")[0]
