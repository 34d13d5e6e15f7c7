"""The context of a preview or a run: fields for its names, and the JSON object from their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical
from editor_client.shared.instructions import placeholders

from studio.forms.inputs import MAX_SEGMENTS, Input, Reading, json_text, read_json
from studio.limits import MAX_NAME, shorten
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import Invalid

_USAGES: Final = ("tools", "agents", "workflows", "scorers")
"""The fields whose members have their own conditions."""
_PLAIN: Final = frozenset({"name", "description", "instructions", "content", "rules", "requestContextSchema"})
"""The fields that have no variants."""
_NUMERIC: Final = ("greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal")


@dataclass
class Name:
    """A dotted path in the context, and the values that conditions compare it with."""

    path: str
    values: list[Any] = field(default_factory=list)
    """The values, without duplicates, in the order of the configuration."""
    is_number: bool = False
    """Whether a condition compares it by order (greater or less)."""


def names_in(*configs: Config) -> list[Name]:
    """Return every name that the configurations read from the context, in the order of their use."""
    names: dict[str, Name] = {}
    for config in configs:
        for path in _in_templates(config):
            names.setdefault(path, Name(path))
        for group in _groups(config):
            for rule in _rules(group):
                _note(names.setdefault(rule["field"], Name(rule["field"])), rule)
    return list(names.values())


def _in_templates(config: Config) -> Iterator[str]:
    instructions = config.get("instructions")
    # A plain text is used unchanged; only blocks are templates.
    blocks = instructions if isinstance(instructions, list) else []
    for template in (config.get("content"), *(block.get("content") for block in blocks)):
        if isinstance(template, str):
            yield from (path for path, _ in placeholders(template))


def _groups(config: Config) -> Iterator[Mapping[str, Any]]:
    instructions = config.get("instructions")
    holders: list[Any] = [config, *(instructions if isinstance(instructions, list) else [])]
    for name, value in config.items():
        if name in _PLAIN:
            continue
        variants = value if isinstance(value, list) else [{"value": value}]
        for variant in filter(_is_object, variants):
            holders.append(variant)
            inner = variant.get("value")
            if name in _USAGES and isinstance(inner, Mapping):
                holders.extend(filter(_is_object, inner.values()))
    for holder in holders:
        rules = holder.get("rules")
        if isinstance(rules, Mapping) and isinstance(rules.get("conditions"), list):
            yield rules


def _rules(group: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for condition in group["conditions"]:
        if "conditions" in condition:
            yield from _rules(condition)
        else:
            yield condition


def _note(name: Name, rule: Mapping[str, Any]) -> None:
    name.is_number = name.is_number or rule["operator"] in _NUMERIC
    value = rule.get("value")
    values = value if rule["operator"] in {"in", "not_in"} and isinstance(value, list) else [value]
    for entry in values:
        is_known = any(type(entry) is type(earlier) and entry == earlier for earlier in name.values)
        if entry is not None and not is_known:
            name.values.append(entry)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


MAX_CONTROLS: Final = 60
"""The maximum number of fields of a context; further values are typed as JSON."""
MAX_OPTIONS: Final = 10_000
"""The maximum size of a field's options as JSON; with more, the value is typed."""
MAX_SUGGESTIONS: Final = 30
"""The maximum number of values from conditions that a field suggests."""

_CONTROL_CHARACTERS: Final = frozenset(map(chr, (*range(32), 127)))
"""Characters that a one-line control cannot contain, including line breaks."""

# The JSON Schema names of plain values, and their Python types.
_SCALARS: Final[dict[str, Any]] = {"string": str, "number": int | float, "integer": int, "boolean": bool}
_WRONG: Final = {
    "string": gettext_lazy("This must be a text."),
    "number": gettext_lazy("This must be a number."),
    "integer": gettext_lazy("This must be a whole number."),
    "boolean": gettext_lazy("This must be yes or no."),
}


@dataclass(frozen=True, kw_only=True)
class ContextControl:
    path: str
    """The dotted path, as in templates and conditions."""
    type: str = "string"
    format: str = ""
    """`date` for a day; other formats are typed as text."""
    title: str = ""
    """The title in a schema, if any."""
    help: str = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    """The allowed values, if the schema lists them: as JSON, and in words."""
    suggestions: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        return self.title or self.path.partition(".")[2] or self.path

    @property
    def group(self) -> str:
        """The first part of a path with several parts; otherwise empty."""
        return self.path.partition(".")[0] if "." in self.path else ""


def context_controls(*configs: Config) -> list[ContextControl]:
    """Return a control for every plain value that the configurations read from the context.

    Names come from schemas, placeholders and conditions. If several define a name, a schema decides its type,
    and otherwise the first one counts.
    """
    controls: dict[str, ContextControl] = {}
    uncontrolled: set[str] = set()
    for config in configs:
        for path, declared in _list_declared(config.get(SCHEMA_FIELD), "", MAX_SEGMENTS - 2):
            control = _control_for_schema(path, declared)
            if control is None:
                uncontrolled.add(path)
            else:
                controls.setdefault(path, control)
    for name in names_in(*configs):
        if name.path in controls:
            controls[name.path] = _suggesting(controls[name.path], name)
        elif (
            name.path not in uncontrolled
            and all(segments := name.path.split("."))
            and len(segments) <= MAX_SEGMENTS - 2
            and len(name.path) <= MAX_NAME
            and (control := _control_for_name(name))
        ):
            controls[name.path] = control
    # A value that contains another name is an object, with fields only for its parts.
    parents = {path[:place] for path in controls for place, sign in enumerate(path) if sign == "."}
    return list(islice((control for path, control in controls.items() if path not in parents), MAX_CONTROLS))


def read_context(posted: Input, controls: Sequence[ContextControl], reading: Reading) -> dict[str, Any]:
    """Return the context: the JSON in `context`, overridden by the values below `given`.

    A value without a control, because its name was removed from the text, stays as text. Raises `Invalid`
    with every error; `reading` maps them to controls.
    """
    context = read_json(posted["context"], "context", reading)
    if context is not None and not isinstance(context, dict):
        reading.add_error("context", _('This must be a JSON object, such as {"tier": "gold"}.'))
    context = dict(context) if isinstance(context, dict) else {}
    controls_by_path = {control.path: control for control in controls}
    for path, node in _leaves(posted["given"], ""):
        if node.typed.strip():
            control = controls_by_path.get(path)
            value = node.as_line if control is None else _value(control, node, reading)
            _put(context, path.split("."), value)
    if reading.issues:
        raise Invalid(reading.issues)
    return context


def shown_context(context: Mapping[str, Any], controls: Sequence[ContextControl]) -> Input:
    """Return the form for this context: values that controls can hold in controls, and the rest as JSON."""
    rest: dict[str, Any] = dict(context)
    entries: list[tuple[str, str]] = []
    for control in controls:
        value: Any = context
        for name in control.path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        text = _format_value(control, value)
        if text:
            entries.append((f"given.{control.path}", text))
            rest = _without(rest, control.path.split("."))
    return Input.of([*entries, ("context", json_text(rest or None))])


@dataclass(frozen=True, kw_only=True)
class ContextGroup:
    """Fields that belong together: the parts of one object, or the single values."""

    title: str
    rows: list[tuple[ContextControl, Input]]


def context_groups(controls: Sequence[ContextControl], posted: Input) -> list[ContextGroup]:
    """Return the fields with their typed values; single values come first."""
    groups: dict[str, ContextGroup] = {"": ContextGroup(title="", rows=[])}
    for control in controls:
        group = groups.setdefault(control.group, ContextGroup(title=control.group, rows=[]))
        group.rows.append((control, posted["given"].at(control.path)))
    return [group for group in groups.values() if group.rows]


def declared_values(config: Config) -> Iterator[ContextControl]:
    for path, declared in _list_declared(config.get(SCHEMA_FIELD), "", MAX_SEGMENTS - 2):
        control = _control_for_schema(path, declared)
        if control is not None:
            yield control


def _list_declared(schema: Any, prefix: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (path, schema) of every value that a schema declares."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not depth:
        return
    for name, declared in properties.items():
        # Templates and conditions cannot reach a name with a dot.
        if not isinstance(declared, Mapping) or not name or "." in name or len(name) > MAX_NAME:
            continue
        path = f"{prefix}{name}"
        yield path, declared
        yield from _list_declared(declared, f"{path}.", depth - 1)


def _control_for_schema(path: str, declared: Mapping[str, Any]) -> ContextControl | None:
    """Return the control of a plain value; None for an object, a list, and values without a type."""
    types = declared.get("type")
    json_types = [kind for kind in (types if isinstance(types, list) else [types]) if kind != "null"]
    # Compared one by one, because a list cannot be looked up in a dictionary.
    if len(json_types) != 1 or json_types[0] not in tuple(_SCALARS):
        return None
    choices = declared.get("enum")
    options: list[tuple[str, str]] = []
    if isinstance(choices, list) and len(canonical.dump(choices)) <= MAX_OPTIONS:
        texts = [(canonical.dump(value), value) for value in choices if value is not None]
        options = [(text, value if isinstance(value, str) else text) for text, value in texts]
    return ContextControl(
        path=path,
        type=json_types[0],
        format="date" if json_types[0] == "string" and declared.get("format") == "date" else "",
        title=shorten(str(declared.get("title") or "")),
        help=shorten(str(declared.get("description") or "")),
        options=options,
    )


def _control_for_name(name: Name) -> ContextControl | None:
    """Return the control of a name without a schema: its type comes from conditions, otherwise it is text."""
    values = name.values
    if name.is_number or (values and all(_is(value, "number") for value in values)):
        return _suggesting(ContextControl(path=name.path, type="number"), name)
    if values and all(isinstance(value, bool) for value in values):
        return ContextControl(path=name.path, type="boolean")
    if not all(isinstance(value, str) for value in values):
        return None
    return _suggesting(ContextControl(path=name.path), name)


def _suggesting(control: ContextControl, name: Name) -> ContextControl:
    if control.options or control.type == "boolean":
        return control
    fitting = (_format_value(control, value) for value in name.values)
    return replace(control, suggestions=list(islice(filter(None, fitting), MAX_SUGGESTIONS)))


def _is(value: Any, of_type: str) -> bool:
    python_type = _SCALARS[of_type]
    return isinstance(value, python_type) and (python_type is bool or not isinstance(value, bool))


def _value(control: ContextControl, node: Input, reading: Reading) -> Any:
    if control.type == "string" and not control.options:
        return node.as_line
    path = f"given.{control.path}"
    reading.note(path, node)
    try:
        value = canonical.parse(node.typed, field=path)
    except Invalid:
        value = None
    if not _is(value, control.type):
        reading.add_error(path, str(_WRONG[control.type]))
    return value


def _format_value(control: ContextControl, value: Any) -> str:
    """Return the text of a control for the value; empty if it cannot represent it."""
    if not _is(value, control.type):
        return ""
    if control.options:
        text = canonical.dump(value)
        return text if text in dict(control.options) else ""
    if not isinstance(value, str):
        return canonical.dump(value)
    is_valid = bool(value.strip()) and _CONTROL_CHARACTERS.isdisjoint(value)
    if control.format == "date":
        try:
            is_valid = date.fromisoformat(value).isoformat() == value
        except ValueError:
            is_valid = False
    return value if is_valid else ""


def _leaves(node: Input, prefix: str) -> Iterator[tuple[str, Input]]:
    for name, child in node.children.items():
        path = f"{prefix}{name}"
        if child.children:
            yield from _leaves(child, f"{path}.")
        else:
            yield path, child


def _put(context: dict[str, Any], path: list[str], value: Any) -> None:
    *folders, last = path
    for name in folders:
        inner = context.get(name)
        context[name] = dict(inner) if isinstance(inner, Mapping) else {}
        context = context[name]
    context[last] = value


def _without(context: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    """Return a context without the value at a path, and without objects that become empty."""
    first, *rest = path
    remaining = {name: value for name, value in context.items() if name != first}
    if not rest:
        return remaining
    inner = _without(context[first], rest)
    return {**context, first: inner} if inner else remaining
