"""The two kinds of resource: where they are, and what an answer about them becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from editor_client.records import (
    AgentComparison,
    AgentRecord,
    AgentVersion,
    AgentVersionPage,
    Page,
    PromptBlockComparison,
    PromptBlockRecord,
    PromptBlockVersion,
    PromptBlockVersionPage,
    Record,
    Version,
)
from editor_client.result import Result

R = TypeVar("R", bound=Record)
V = TypeVar("V", bound=Version)
P = TypeVar("P", bound=Page[Any])
C = TypeVar("C", bound=Result)


@dataclass(frozen=True)
class Kind(Generic[R, V, P, C]):
    """The differences between the two kinds."""

    segment: str
    record: type[R]
    version: type[V]
    versions: type[P]
    comparison: type[C]


AGENTS = Kind("agents", AgentRecord, AgentVersion, AgentVersionPage, AgentComparison)
PROMPT_BLOCKS = Kind(
    "prompt-blocks", PromptBlockRecord, PromptBlockVersion, PromptBlockVersionPage, PromptBlockComparison
)
