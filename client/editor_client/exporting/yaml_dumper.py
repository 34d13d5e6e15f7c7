"""PyYAML's safe dumper; imported only where PyYAML is installed."""

from __future__ import annotations

from typing import Any

import yaml

from editor_client.importing.yaml_loader import Loader


class Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and quotes what any version of YAML would read otherwise."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal values out each time."""
        return True


def _text(dumper: Dumper, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


Dumper.add_representer(str, _text)
for _first, _resolvers in Loader.yaml_implicit_resolvers.items():
    for _tag, _pattern in _resolvers:
        Dumper.add_implicit_resolver(_tag, _pattern, [_first])
