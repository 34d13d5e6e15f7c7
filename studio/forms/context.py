"""The context of a preview: controls from its schema, and the JSON object from their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from editor_client.shared import canonical

from studio.forms.inputs import MAX_SEGMENTS, Input, Reading
from studio.forms.values import read_json
from studio.limits import MAX_NAME, shortened
from versioning.domain.errors import Invalid

MAX_CONTROLS = 40
"""How many controls a schema may make; what lies beyond is typed as JSON."""
MAX_OPTIONS = 10_000
"""How much JSON the values may be that a control lets one choose from; of more, one is typed."""

# What a JSON Schema calls a plain value, what it is in Python, and on the page.
_SCALARS: dict[str, tuple[Any, str]] = {
    "string": (str, "text"),
    "number": (int | float, "a number"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


@dataclass(frozen=True, kw_only=True)
class ContextControl:
    """A value of the context that a schema declares."""

    path: str
    """Dotted, as templates and conditions name it."""
    type: str
    title: str
    help: str = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    """What it may be, where the schema lists that: as JSON, and in words."""


def context_controls(schema: Any) -> list[ContextControl]:
    """Return a control for every plain value that a JSON Schema declares, including nested ones."""
    controls = _controls(schema, "", MAX_SEGMENTS - 2)
    return [control for control, _ in zip(controls, range(MAX_CONTROLS), strict=False)]


def read_context(posted: Input, controls: list[ContextControl], reading: Reading) -> dict[str, Any]:
    """Return the context: the JSON in `context`, with the values below `given` laid over it.

    Raises `Invalid` with every error; `reading` knows where they belong.
    """
    context = read_json(posted["context"], "context", reading)
    if context is not None and not isinstance(context, dict):
        reading.add_error("context", 'must be a JSON object, such as {"tier": "gold"}')
    context = dict(context) if isinstance(context, dict) else {}
    for control in controls:
        node = posted["given"].at(control.path)
        if node.typed.strip():
            _put(context, control.path.split("."), _value(control, node, reading))
    if reading.issues:
        raise Invalid(reading.issues)
    return context


def _controls(schema: Any, prefix: str, depth: int) -> Iterator[ContextControl]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not depth:
        return
    for name, declared in properties.items():
        # A name with a dot is out of reach of templates and conditions.
        if not isinstance(declared, Mapping) or not name or "." in name or len(name) > MAX_NAME:
            continue
        path = f"{prefix}{name}"
        # Compared one by one: what stands there may be a list, which no dictionary can look up.
        if declared.get("type") in tuple(_SCALARS):
            yield ContextControl(
                path=path,
                type=declared["type"],
                title=shortened(str(declared.get("title") or path)),
                help=shortened(str(declared.get("description") or "")),
                options=_options(declared.get("enum")),
            )
        else:
            yield from _controls(declared, f"{path}.", depth - 1)


def _options(listed: Any) -> list[tuple[str, str]]:
    if not isinstance(listed, list) or len(canonical.dump(listed)) > MAX_OPTIONS:
        return []
    return [_option(value) for value in listed]


def _option(value: Any) -> tuple[str, str]:
    text = canonical.dump(value)
    return text, value if isinstance(value, str) else text


def _value(control: ContextControl, node: Input, reading: Reading) -> Any:
    if control.type == "string" and not control.options:
        return node.as_line
    path = f"given.{control.path}"
    reading.note(path, node)
    wanted, words = _SCALARS[control.type]
    try:
        value = canonical.parse(node.typed, field=path)
    except Invalid:
        value = None
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        reading.add_error(path, f"must be {words}")
    return value


def _put(context: dict[str, Any], path: list[str], value: Any) -> None:
    *folders, last = path
    for name in folders:
        inner = context.get(name)
        context[name] = dict(inner) if isinstance(inner, Mapping) else {}
        context = context[name]
    context[last] = value
