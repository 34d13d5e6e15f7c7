"""Ask the target of an experiment: an agent by its lock, or a scorer; and as whom."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.agents import messages_of

from capabilities.evaluation.experiments.mocks import Mocks
from capabilities.evaluation.experiments.models import Cell, Experiment, TargetType
from capabilities.evaluation.experiments.recording import Answer
from capabilities.evaluation.scoring.judging import passing_of
from capabilities.evaluation.scoring.outcomes import MISSING, Attempt, Problem
from capabilities.evaluation.scoring.scoring import score
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Action, Caller, Right, Via
from versioning.domain.errors import Forbidden, Message, VersioningError
from versioning.models import ApiKey, caller_of_author
from versioning.models.storage import give_back
from versioning.runtime import RequestContext
from versioning.runtime.calls import Conduct, Stop, stoppable

ARM: Final = "evaluation"
"""The arm under which runs of experiments count in usage."""
ITEM_SECONDS: Final = 120
Passing = Any


class TryAgain(Exception):
    """The provider failed in a way that may be over soon; the argument is what came of this try."""

    def __init__(self, answer: Answer, passing: Passing) -> None:
        super().__init__(answer.error)
        self.answer, self.passing = answer, passing


def ask(
    experiment: Experiment, cell: Cell, by: Caller, stop: Stop, *, context: Mapping[str, Any] | None = None
) -> Answer:
    """Return what the target answers to the item of a cell, or why it failed.

    `context` takes precedence over the request context of the experiment, and that of the item over both.
    Raises `TryAgain`, and `CancelledError` if the stop ends it.
    """
    began, started = time.monotonic(), timezone.now()
    if cell.revision is not None and cell.revision.is_purged:
        return _timed(Answer(error=Problem("purged", "The content of this item was purged.")), started, began)
    beside = {**experiment.request_context, **(context or {})}
    conditions: dict[str, Any] = {
        "context_digest": context_digest(beside),
        "tool_policy": _tool_policy(experiment, cell),
    }
    with stoppable(stop):
        try:
            if experiment.target_type == TargetType.AGENT:
                answer = _agent(experiment, cell, by, beside)
            else:
                answer = _scorer(experiment, cell)
        except VersioningError as error:
            answer = Answer(error=Problem(error.code, str(error.message)))
            passing = passing_of(error)
            if passing is not None:
                answer = replace(answer, **conditions)
                raise TryAgain(_timed(answer, started, began), passing) from None
        except TimeoutError:
            answer = Answer(error=Problem("timed_out", "The target did not answer in time."))
    return _timed(replace(answer, **conditions), started, began)


def context_digest(context: Mapping[str, Any]) -> str:
    """Return the digest of a request context; empty of an empty one."""
    return canonical.digest(context) if context else ""


def _tool_policy(experiment: Experiment, cell: Cell) -> str:
    """Return what happens to calls of tools that no mock answers: as the item says, else the experiment."""
    return str(cell.member("unmockedToolPolicy") or experiment.tool_policy)


def _timed(answer: Answer, started: Any, began: float) -> Answer:
    milliseconds = round((time.monotonic() - began) * 1000)
    return replace(answer, started_at=started, ended_at=timezone.now(), milliseconds=milliseconds)


def _agent(experiment: Experiment, cell: Cell, by: Caller, beside: Mapping[str, Any]) -> Answer:
    mocks = Mocks(cell.member("toolMocks") or (), _tool_policy(experiment, cell))
    context = {**beside, **(cell.member("requestContext") or {})}
    try:
        result = get_framework().generate(
            experiment.target_id,
            messages_of(cell.member("input")),
            request_context=RequestContext.of(context, experiment.pinned, by=by),
            conduct=Conduct(arm=ARM, answers_tool=mocks.answer, asks_again=False),
        )
    except VersioningError as error:
        if passing_of(error) is not None:
            raise
        detail = _without_nothing(toolMockReport=mocks.report())
        return Answer(error=Problem(error.code, str(error.message)), detail=detail)
    calls = [
        {"toolName": tool_call["toolName"], "args": tool_call["args"]} for tool_call in result.tool_calls
    ]
    return Answer(
        output=result.text,
        detail={
            "toolCalls": calls,
            **_without_nothing(
                toolMockReport=mocks.report(),
                models=list(result.models),
                warnings=[warning.message for warning in result.warnings],
            ),
        },
        input_tokens=result.usage["inputTokens"],
        output_tokens=result.usage["outputTokens"],
        cost=_cost_in(result.usage),
        run_id=result.run_id,
    )


def _cost_in(usage: Mapping[str, Any]) -> Decimal | None:
    cost = usage["cost"]
    return None if cost is None else Decimal(cost["amount"])


def _without_nothing(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _scorer(experiment: Experiment, cell: Cell) -> Answer:
    """Return what the scorer says of the answer in the input of an item, as its `try` does."""
    given = cell.member("input")
    if not isinstance(given, Mapping) or "output" not in given:
        message = "The input of an item for a scorer is an object with an output, and if you like an input."
        return Answer(error=Problem("invalid_input", message))
    attempt = Attempt(
        input=given.get("input"),
        output=given["output"],
        ground_truth=given.get("groundTruth", MISSING),
        metadata=cell.member("metadata") or {},
        tool_calls=given.get("toolCalls"),
    )
    give_back()
    said = score(
        experiment.pinned["config"], attempt, get_framework().scorers, experiment.pinned["instructions"]
    )
    answer = Answer(input_tokens=said.input_tokens, output_tokens=said.output_tokens, cost=said.cost)
    if said.error is not None:
        answer = replace(answer, error=said.error)
        if said.passing is not None:
            raise TryAgain(answer, said.passing)
        return answer
    unscored = None if said.not_scorable is None else {"reason": said.not_scorable.reason}
    output = {"score": said.score, "passed": said.passed, "label": said.label, "reason": said.reason}
    return replace(answer, output={**output, "notScorable": unscored})


def caller_of(experiment: Experiment) -> Caller:
    """Return who started an experiment; raises `Forbidden` if they may not start it any more."""
    if experiment.key_prefix:
        key = ApiKey.objects.select_related("owner").filter(prefix=experiment.key_prefix).first()
        if key is None or not key.usable:
            raise Forbidden(Message("The API key that started it cannot be used any more."))
        caller = key.caller()
        caller.require_action(Action.RUN)
    elif not experiment.author_name:
        caller = APPLICATION
    else:
        caller = caller_of_author(experiment.author, experiment.author_name, Via.API)
    caller.require(Right.SAVE, experiment.workspace_id)
    return caller
