"""PyYAML's safe loader for the core schema of YAML 1.2; imported only where PyYAML is installed."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from editor_client.importing.collection import shown

MAX_ALIASES: Final = 100
MAX_DIGITS: Final = 400
_CORE: Final = "tag:yaml.org,2002:"


class Loader(yaml.SafeLoader):
    """Loads plain values. PyYAML's own loaders know YAML 1.1, where `yes` is true and `1:30` is 90."""

    yaml_implicit_resolvers: dict[str, Any] = {}
    aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node; raises `yaml.YAMLError` for too many aliases."""
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > MAX_ALIASES:
                mark = self.get_mark()
                raise yaml.MarkedYAMLError(problem=f"more than {MAX_ALIASES} aliases", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's own
        """Return an object; raises `yaml.YAMLError` for a key that is there twice, or that is no scalar."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.tag == f"{_CORE}merge":
                continue
            if not isinstance(key, yaml.ScalarNode) or key.value in seen:
                problem = f"the key {shown(key.value)!r} is there twice, or is no text"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _whole_number(loader: Loader, node: Any) -> int:
    text = str(loader.construct_scalar(node))
    base = {"0o": 8, "0x": 16}.get(text[:2])
    if len(text) > MAX_DIGITS:
        raise yaml.MarkedYAMLError(problem="a number of too many digits", problem_mark=node.start_mark)
    return int(text[2:], base) if base else int(text)


def _number(loader: Loader, node: Any) -> float:
    text = str(loader.construct_scalar(node))
    return float(text.replace(".", "") if text[-1].isalpha() else text)


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
    Loader.add_implicit_resolver(_CORE + _tag, re.compile(rf"^(?:{_pattern})$"), _first)
Loader.add_constructor(f"{_CORE}int", _whole_number)
Loader.add_constructor(f"{_CORE}float", _number)
