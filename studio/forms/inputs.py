"""The controls of a form as a tree, and the mapping of configuration errors to controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from django.http import HttpRequest, QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.translation import translate_at_field
from versioning.domain.errors import Invalid, Issue, Message


def with_own_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def typed_text(request: HttpRequest, name: str) -> str:
    """Return the text of a field of a form; empty if the form has no such field."""
    return with_own_line_ends(request.POST.get(name, ""))


Shown: TypeAlias = "str | Mapping[str, Shown] | list[Shown]"
"""A text for each control; lists stand for rows that can be added, removed and moved."""

MAX_SEGMENTS = 32
"""The maximum number of segments in a control's name; the deepest in a form has about a dozen."""
MAX_CONTROLS = 6_000
"""The maximum number of posted controls: all of them are shown again after an error."""


@dataclass
class Input:
    """A control, or all controls with a common prefix: `instructions.blocks.0.content`.

    A template walks it by the names of its children (`{{ block.content.typed }}`); a missing child is an
    empty control with the right name. No child that a template uses has the name of an attribute of this
    class.
    """

    path: str
    typed: str = ""
    children: dict[str, Input] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, posted: Iterable[tuple[str, str]]) -> Input:
        """Return the tree of a posted form; rows come in the order of the page.

        Raises `Invalid` for a name of too many segments, and for too many controls.
        """
        root = cls("")
        for count, (name, text) in enumerate(posted):
            if count == MAX_CONTROLS:
                raise Invalid.field(
                    "body",
                    _("holds more than %(count)s fields: use JSON instead") % {"count": MAX_CONTROLS},
                )
            segments = name.split(".", MAX_SEGMENTS)
            if len(segments) > MAX_SEGMENTS:
                raise Invalid.field("body", _("holds a field that is nested too deeply"))
            node = root
            for segment in segments:
                node = node.children.setdefault(segment, node.child(segment))
            node.typed = text
        return root

    @classmethod
    def showing(cls, shown: Shown, path: str = "") -> Input:
        if isinstance(shown, str):
            return cls(path, shown)
        members = (
            shown.items() if isinstance(shown, Mapping) else ((str(i), row) for i, row in enumerate(shown))
        )
        node = cls(path)
        node.children = {name: cls.showing(member, _below(path, name)) for name, member in members}
        return node

    def __getitem__(self, name: str) -> Input:
        if name in _ATTRIBUTES:
            raise KeyError(name)  # so that Django's templates try the attribute next
        return self.child(name)

    def __contains__(self, name: str) -> bool:
        return name in self.children

    def child(self, name: str) -> Input:
        """Return a child by name; an empty control if there is none."""
        return self.children.get(name) or Input(_below(self.path, name))

    def at(self, path: str) -> Input:
        node = self
        for name in path.split("."):
            node = node.child(name)
        return node

    @property
    def problems(self) -> SafeString:
        """The errors as HTML; a save in place also fills them in."""
        messages = format_html_join(
            "", '<p class="error">{}</p>', ((capfirst(translate_at_field(error)),) for error in self.errors)
        )
        hidden = "" if self.errors else SafeString(" hidden")
        return format_html('<div id="error-{}" data-errors{}>{}</div>', self.path, hidden, messages)

    @property
    def rows(self) -> list[Input]:
        return list(self.children.values())

    @property
    def as_line(self) -> str:
        return self.typed.replace("\r", "").replace("\n", "")

    @property
    def as_text(self) -> str:
        """The typed text, with the line ends of the configuration: browsers post others."""
        return with_own_line_ends(self.typed)


_ATTRIBUTES: Final = frozenset({*dir(Input), *(field.name for field in fields(Input))})


def controls_of(data: QueryDict) -> Input:
    return Input.of((name, values[-1]) for name, values in data.lists() if values)


@dataclass
class Reading:
    """The result of reading a form: its errors, and the control of each value."""

    issues: list[Issue] = field(default_factory=list)
    places: dict[str, Input] = field(default_factory=dict)

    def add_error(self, path: str, message: str) -> None:
        self.issues.append(Issue(path, message))

    def note(self, path: str, control: Input) -> None:
        self.places[path] = control

    def attach(self, issues: Iterable[Issue]) -> list[Issue]:
        """Add every issue to the nearest control, and return the issues without one."""
        unplaced = []
        for issue in issues:
            path = issue.field
            while path and path not in self.places:
                path = path.rpartition(".")[0]
            if not path:
                unplaced.append(issue)
                continue
            message, rest = issue.message, issue.field.removeprefix(path).strip(".")
            if rest and rest not in getattr(message, "values", {}).values():  # the message does not name it
                problem = message if isinstance(message, Message) else Message(message)
                message = Message("{problem} ({field})", problem=problem, field=rest)
            self.places[path].errors.append(message)
        return unplaced


MAX_INDENTED: Final = 50_000
"""Larger JSON is not indented: deep inside, an item's indent is sixty times as long."""


def json_text(value: Any) -> str:
    """Return a value as readable JSON, in one line if it is very long; empty for None."""
    if value is None:
        return ""
    compact = canonical.dump(value)
    if len(compact) > MAX_INDENTED:
        return compact
    indented = canonical.dump(value, indent=2)
    return indented if len(indented) <= 4 * MAX_INDENTED else compact


def read_json(control: Input, path: str, reading: Reading) -> Any:
    """Return the value of the typed JSON, or None if there is none."""
    reading.note(path, control)
    if not control.typed.strip():
        return None
    try:
        return canonical.parse(control.typed, field=path)
    except Invalid as error:
        reading.issues.extend(error.issues)
        return None


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
