"""What is scored, and what a scorer says of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid

if TYPE_CHECKING:
    from versioning.runtime.failures import Passing


class _Missing:
    """No value was given; null is one."""

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An input with the answer to it, as far as it is known."""

    input: Any
    output: Any
    ground_truth: Any = MISSING
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    """The calls of tools, each with `toolName` and `args`; None if it is not known which there were."""
    tokens: int | None = None
    """Those of the input and of the output together."""
    milliseconds: float | None = None

    @property
    def context(self) -> dict[str, Any]:
        """The values that templates can name."""
        named = {"input": self.input, "output": self.output, "metadata": self.metadata}
        return named if self.ground_truth is MISSING else {**named, "groundTruth": self.ground_truth}

    @property
    def text(self) -> str:
        """The output as text: JSON in its compact form."""
        return text_of(self.output)

    @property
    def json(self) -> Any:
        """The output as JSON: a text is parsed; `MISSING` for a text that is no JSON."""
        return parsed(self.output) if isinstance(self.output, str) else self.output


def text_of(value: Any) -> str:
    """Return a text unchanged, and any other JSON in its compact form."""
    return value if isinstance(value, str) else canonical.dump(value)


def parsed(text: str) -> Any:
    """Return the JSON value of a text, or `MISSING` if it is none."""
    with suppress(Invalid, json.JSONDecodeError, RecursionError):
        return canonical.parse(text)
    return MISSING


class Problem(NamedTuple):
    """Why a scorer failed."""

    code: str
    message: str


class Unscored(NamedTuple):
    """Why an attempt cannot be scored."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a scorer says of an attempt: a score, or an error, or that it cannot be scored."""

    score: float | None = None
    passed: bool | None = None
    label: str | None = None
    """The verdict of a judge."""
    reason: str | None = None
    error: Problem | None = None
    not_scorable: Unscored | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    """What judging used; the cost is in US dollars, and None where a price is unknown."""
    passing: Passing | None = None
    """Set if the error may be over when the judge is asked again."""


class NotScorable(Exception):
    """The attempt lacks what the scorer needs; the argument says what."""


class ScorerError(Exception):
    """The scorer failed; it has a code for programs."""

    def __init__(self, code: str, message: str, passing: Passing | None = None) -> None:
        super().__init__(message)
        self.code, self.passing = code, passing
