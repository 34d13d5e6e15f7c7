"""Score an attempt by the configuration of a scorer. No database: what a judge needs is passed in."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from editor_client.shared.conditions import holds
from editor_client.shared.scores import passes

from capabilities.evaluation.scoring.comparing import COMPARING
from capabilities.evaluation.scoring.judging import judge
from capabilities.evaluation.scoring.outcomes import (
    MISSING,
    Attempt,
    NotScorable,
    Outcome,
    Problem,
    ScorerError,
    Unscored,
)
from versioning.domain.errors import Invalid
from versioning.runtime.tools import FunctionTimedOut, call_within

logger = logging.getLogger("evaluation")

Config = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]
CODE_SECONDS: Final = 10
"""How long a scorer that the application registered may take."""


def score(scorer: Config, attempt: Attempt, functions: Functions, instructions: str | None = None) -> Outcome:
    """Return what a scorer says of an attempt; nothing is raised.

    `functions` are those that the application registered. `instructions` are the text of the prompt block
    that a judge names; None if it names none.
    """
    try:
        if not holds(scorer.get("appliesIf"), attempt.metadata):
            return Outcome(not_scorable=Unscored("The scorer does not apply to this item."))
        return _judged(scorer, attempt, functions, instructions)
    except NotScorable as reason:
        return Outcome(not_scorable=Unscored(str(reason)))
    except ScorerError as error:
        return Outcome(error=Problem(error.code, str(error)), passing=error.passing)
    except Invalid as error:
        return Outcome(error=Problem(error.code, str(error.message)))


def _judged(scorer: Config, attempt: Attempt, functions: Functions, instructions: str | None) -> Outcome:
    problem = problem_of(scorer, functions, instructions)
    if problem is not None:
        raise ScorerError(problem.code, problem.message)
    kind, config = scorer["type"], scorer.get("config", {})
    compare = COMPARING.get(kind)
    if compare is not None:
        return _rated(scorer, float(compare(config, attempt)))
    if kind == "code":
        return _rated(scorer, _of_function(config["name"], functions[config["name"]], attempt))
    if kind == "external":
        raise NotScorable("The score of this scorer is sent by an application.")
    return judge(scorer["model"], _rubric(scorer, instructions), config["choices"], attempt)


def problem_of(scorer: Config, functions: Functions, instructions: str | None = None) -> Problem | None:
    """Return why a scorer fails on every attempt; None for one that can be run. As `score` takes them."""
    kind, config = scorer["type"], scorer.get("config", {})
    if kind == "code" and config["name"] not in functions:
        return Problem("unknown_function", f"The application registers no scorer {config['name']!r}.")
    if kind == "llm-judge":
        needed = {"model": scorer.get("model"), "config.choices": config.get("choices")}
        needed |= {"instructions": _rubric(scorer, instructions).strip()}
        missing = [name for name, value in needed.items() if not value]
        return Problem("incomplete", f"The judge lacks {', '.join(missing)}.") if missing else None
    if kind in COMPARING or kind in {"code", "external"}:
        return None
    return Problem("unsupported_type", f"Scorers of the type {kind!r} are not run here.")


def _rubric(scorer: Config, instructions: str | None) -> str:
    """Return the text of the block that a judge names, or its own."""
    return str(scorer.get("instructions", "") if instructions is None else instructions)


def cannot_score(scorer: Config, attempt: Attempt) -> bool:
    """Return whether a scorer does not apply to an item or lacks its reference, whatever the output is."""
    compare = COMPARING.get(scorer["type"])
    try:
        if not holds(scorer.get("appliesIf"), attempt.metadata):
            return True
        if compare is not None:
            compare(scorer.get("config", {}), attempt)
    except NotScorable:
        return True
    except (ScorerError, Invalid):
        return False
    return False


def _rated(scorer: Config, value: float) -> Outcome:
    return Outcome(score=value, passed=passes(scorer, value))


def _of_function(name: str, function: Callable[..., Any], attempt: Attempt) -> float:
    truth = None if attempt.ground_truth is MISSING else attempt.ground_truth
    given = {"input": attempt.input, "output": attempt.output, "metadata": dict(attempt.metadata)}
    try:
        value = call_within(CODE_SECONDS, function, **given, groundTruth=truth)
    except FunctionTimedOut as error:
        raise ScorerError("timed_out", f"The scorer {name!r} was stopped waiting for: {error}.") from None
    except Exception as error:
        logger.exception("the scorer %r raised", name)
        message = f"The scorer {name!r} raised {type(error).__name__}; the log says more."
        raise ScorerError("function_failed", message) from None
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ScorerError("no_number", f"The scorer {name!r} returned {type(value).__name__}, no number.")
    return float(value)
