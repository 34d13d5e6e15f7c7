"""The fields that the saving verbs are given."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic.alias_generators import to_camel

Fields = Mapping[str, Any]

NOTHING: Final[Fields] = MappingProxyType({})


def merged_fields(fields: Fields | None, named: Fields) -> Fields:
    """Return the snapshot fields of a call by their JSON names, whether given as a mapping or as keywords."""
    return {**(fields or {}), **{to_camel(name): value for name, value in named.items()}}
