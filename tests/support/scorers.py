"""Scorers for tests."""

from __future__ import annotations

from typing import Any

from capabilities.evaluation.scoring.api import parse_attempt
from capabilities.evaluation.scoring.scoring import ScoreOutcome, score
from tests.support.api import SCORERS, Api


def make_scorer(api: Api, name: str = "exact", type: str = "equals", **fields: Any) -> dict[str, Any]:
    """Make a scorer in acme, as a draft."""
    answer = api.post(
        SCORERS.path, {"id": name, "name": name.title(), "workspaceId": "acme", "type": type, **fields}
    )
    assert answer.status == 201, answer.body
    return dict(answer.body)


def tried(api: Api, name: str, output: Any, **attempt: Any) -> dict[str, Any]:
    """Try a scorer on an answer."""
    answer = api.post(f"{SCORERS.url(name)}/try", {"input": "Hi", "output": output, **attempt})
    assert answer.status == 200, answer.body
    return dict(answer.body)


def scored(scorer: dict[str, Any], output: Any, **attempt: Any) -> ScoreOutcome:
    """Return what a configuration says of an answer, without storing it."""
    return score(scorer, parse_attempt({"input": "Hi", "output": output, **attempt}), {})
