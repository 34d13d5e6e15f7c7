"""YAML from outside: nothing in it is executed, no file is read, and its size is bounded. Pure.

Needs PyYAML, which the client alone does not install; no other module here imports this one.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid, Message

MAX_ALIASES: Final = 1_000
MAX_EXPANDED: Final = 8 * 1024 * 1024
"""The maximum size of a document whose aliases are written out: characters and nodes."""
_CORE: Final = "tag:yaml.org,2002:"


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML can lack its C library


class _Loader(_Base):  # type: ignore[misc]
    """Knows the scalars of YAML 1.2, by its core schema: `yes`, `1:30` and dates are text."""

    yaml_implicit_resolvers: dict[str, Any] = {}


def _whole_number(loader: _Loader, node: Any) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_CORE + _tag, re.compile(rf"^(?:{_pattern})$"), _first)
_Loader.add_constructor(f"{_CORE}int", _whole_number)


def parse(
    text: str, *, field: str = "body", max_aliases: int = MAX_ALIASES, max_size: int = MAX_EXPANDED
) -> Any:
    """Return the value of a YAML document, made of JSON's types.

    Raises `Invalid` naming `field` for anything else: broken YAML, several documents, tags that are not
    YAML's own, more than `max_aliases` aliases, recursive aliases, a document that would be larger than
    `max_size` without aliases, and values that `canonical.parse` refuses in JSON.
    """
    try:
        _check_events(text, max_aliases)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                _size(node, {}, set(), max_size)
            value = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
        canonical.check(value)
    except yaml.YAMLError as error:
        raise Invalid.field(field, Message("is not valid YAML: {reason}", reason=str(error))) from None
    except Invalid as error:
        raise Invalid.field(field, error.issues[0].message) from None
    except RecursionError:
        message = Message("is nested deeper than {limit} levels", limit=canonical.MAX_DEPTH)
        raise Invalid.field(field, message) from None
    except (ValueError, TypeError, OverflowError) as error:  # invalid numbers and keys
        reason = error.args[0] if isinstance(error.args[0], Message) else Message(str(error))
        raise Invalid.field(field, reason) from None
    return value


def dump(value: Any) -> str:
    """Return a YAML document with a value of JSON's types, the same in YAML 1.1 and 1.2."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1 << 30)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and repeated values without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: no value becomes an alias."""
        return True


def _as_scalar(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Invisible characters are escaped, which only quotes can do for all of them.
    style = "|" if "\n" in text else None
    if not text.replace("\n", "").isprintable():
        style = '"'
    return dumper.represent_scalar(f"{_CORE}str", text, style=style)


_Dumper.add_representer(str, _as_scalar)
# Subclasses, such as those of read-only answers, are written like their base types.
_Dumper.add_multi_representer(str, _as_scalar)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)
_Dumper.add_multi_representer(list, yaml.SafeDumper.represent_list)
for _first_one, _resolvers in _Loader.yaml_implicit_resolvers.items():  # besides those of YAML 1.1
    for _tag, _compiled in _resolvers:
        _Dumper.add_implicit_resolver(_tag, _compiled, [_first_one])


def _check_events(text: str, max_aliases: int) -> None:
    """Raise `Invalid` for too many levels or aliases, without building the value."""
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > canonical.MAX_DEPTH:
            message = Message("is nested deeper than {limit} levels", limit=canonical.MAX_DEPTH)
            raise Invalid.field("body", message)
        if aliases > max_aliases:
            raise Invalid.field("body", Message("has more than {limit} aliases", limit=max_aliases))


def _size(node: yaml.Node, sizes: dict[int, int], open_nodes: set[int], most: int) -> int:
    """Return the size of a node with its aliases written out; raises `Invalid` if it is too large."""
    cached_size = sizes.get(id(node))
    if cached_size is not None:
        return cached_size
    if id(node) in open_nodes:
        raise Invalid.field("body", Message("has a recursive alias"))
    if isinstance(node, yaml.ScalarNode):
        return len(node.value) + 1
    open_nodes.add(id(node))
    children = node.value
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        children = [child for pair in node.value for child in pair]
    size = 1
    for child in children:
        size += _size(child, sizes, open_nodes, most)
        if size > most:
            raise Invalid.field("body", Message("is too large with its aliases written out"))
    open_nodes.remove(id(node))
    sizes[id(node)] = size
    return size


def _check_keys(node: yaml.MappingNode) -> None:
    names: set[str] = set()
    for key, _ in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name in names:
            raise Invalid.field("body", Message("holds the key {key!r} twice in one object", key=name))
        if name is not None and name != "<<":
            names.add(name)
