"""YAML that readers of versions 1.1 and 1.2 read as the same values."""

from __future__ import annotations

from typing import Any

from editor_client.importing.yaml_text import HINT, MissingExtra


def yaml_text(value: Any) -> str:
    """Return a value as YAML, with long texts as blocks; raises `MissingExtra` without PyYAML."""
    try:
        import yaml  # noqa: PLC0415 - an extra of the distribution

        from editor_client.exporting.yaml_dumper import Dumper  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(HINT) from None
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)
    return text
