"""Run a cell in a worker: run the target, score the answer, and record both in one transaction.

A cell with an output is only scored: its scorers failed before, or are new. When the leases of a killed
worker end, others take its cells; a worker whose lease is lost records nothing.
"""

from __future__ import annotations

import datetime
import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from decimal import Decimal
from threading import Lock
from typing import Any, Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import F, Q
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.agents import build_messages

from capabilities.evaluation.experiments import results
from capabilities.evaluation.experiments.models import (
    DENY,
    MAX_WAIT,
    PACING,
    Cell,
    CellState,
    Experiment,
    ExperimentOutcome,
    ExperimentScorer,
    Score,
    TargetType,
)
from capabilities.evaluation.scoring.scoring import MISSING, Attempt, Problem, find_passing, score
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Action, Caller, Right, Via
from versioning.domain.errors import Forbidden, Message, VersioningError
from versioning.domain.provider_catalog import in_billionths
from versioning.models import ApiKey, caller_of_author, events
from versioning.models.due_work import LeaseLost
from versioning.models.storage import give_back
from versioning.runtime import RequestContext
from versioning.runtime.calls import LIVE, Conduct, Stop, stoppable
from versioning.runtime.observing import price_list_date
from versioning.worker.jobs import Periodic, Queue


class ToolNotMocked(VersioningError):
    """A tool was called for which the item has no mock."""

    code = "tool_not_mocked"


class Mocks:
    """The mocks of one item, and those that were used."""

    def __init__(self, mocks: Sequence[Mapping[str, Any]], policy: str) -> None:
        self._mocks, self._policy = mocks, policy
        self._served: list[dict[str, Any]] = []
        self._live: list[dict[str, Any]] = []
        self._failure: dict[str, Any] | None = None
        self._lock = Lock()

    def answer(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Return the output of the first unused mock that fits, or `LIVE`; raises `ToolNotMocked`."""
        with self._lock:
            called = {"toolName": tool, "args": dict(args)}
            indexes = [index for index, mock in enumerate(self._mocks) if mock["toolName"] == tool]
            fitting = [
                index
                for index in indexes
                if self._mocks[index].get("matchArgs") == "ignore"
                or canonical.same(self._mocks[index]["args"], dict(args))
            ]
            used = {call["mockIndex"] for call in self._served}
            index = next((index for index in fitting if index not in used), None)
            if index is not None:
                self._served.append({"mockIndex": index, **called})
                return self._mocks[index]["output"]
            if not indexes and self._policy != DENY:
                self._live.append(called)
                return LIVE
            reason = "EXHAUSTED" if fitting else "MISMATCH" if indexes else "NOT_DECLARED"
            self._failure = self._failure or {"code": f"TOOL_MOCK_{reason}", **called}
            raise ToolNotMocked(f"The tool {tool!r} was called, and no mock of the item answers it.")

    def report(self) -> dict[str, Any] | None:
        """Return the used mocks; None without mocks and without calls."""
        if not (self._mocks or self._live or self._failure):
            return None
        used = {call["mockIndex"] for call in self._served}
        unconsumed = [
            {"mockIndex": index, "toolName": mock["toolName"], "args": mock["args"]}
            for index, mock in enumerate(self._mocks)
            if index not in used
        ]
        report = {"served": self._served, "unconsumed": unconsumed, "liveCalls": self._live}
        return report if self._failure is None else {**report, "failure": self._failure}


ARM: Final = "evaluation"
"""The arm under which runs of experiments count in usage."""
ITEM_SECONDS: Final = 120
Passing = Any


class TryAgain(Exception):
    """The provider failed temporarily; the argument is the result of this try."""

    def __init__(self, answer: results.Answer, passing: Passing) -> None:
        super().__init__(answer.error)
        self.answer, self.passing = answer, passing


def ask(
    experiment: Experiment, cell: Cell, by: Caller, stop: Stop, *, context: Mapping[str, Any] | None = None
) -> results.Answer:
    """Return the target's answer to the item of a cell, or its failure.

    `context` takes precedence over the request context of the experiment, and that of the item over both.
    Raises `TryAgain`, and `CancelledError` if the stop ends it.
    """
    began, started = time.monotonic(), timezone.now()
    if cell.revision is not None and cell.revision.is_purged:
        return _add_times(
            results.Answer(error=Problem("purged", "The content of this item was purged.")), started, began
        )
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
            answer = results.Answer(error=Problem(error.code, str(error.message)))
            passing = find_passing(error)
            if passing is not None:
                answer = replace(answer, **conditions)
                raise TryAgain(_add_times(answer, started, began), passing) from None
        except TimeoutError:
            answer = results.Answer(error=Problem("timed_out", "The target did not answer in time."))
    return _add_times(replace(answer, **conditions), started, began)


def context_digest(context: Mapping[str, Any]) -> str:
    """Return the digest of a request context; empty of an empty one."""
    return canonical.digest(context) if context else ""


def _tool_policy(experiment: Experiment, cell: Cell) -> str:
    """Return the policy for tool calls without a mock: the item's, or else the experiment's."""
    return str(cell.member("unmockedToolPolicy") or experiment.tool_policy)


def _add_times(answer: results.Answer, started: Any, began: float) -> results.Answer:
    milliseconds = round((time.monotonic() - began) * 1000)
    return replace(answer, started_at=started, ended_at=timezone.now(), milliseconds=milliseconds)


def _agent(experiment: Experiment, cell: Cell, by: Caller, beside: Mapping[str, Any]) -> results.Answer:
    mocks = Mocks(cell.member("toolMocks") or (), _tool_policy(experiment, cell))
    context = {**beside, **(cell.member("requestContext") or {})}
    try:
        result = get_framework().generate(
            experiment.target_id,
            build_messages(cell.member("input")),
            request_context=RequestContext.of(context, experiment.pinned_target, by=by),
            conduct=Conduct(arm=ARM, answers_tool=mocks.answer, asks_again=False),
        )
    except VersioningError as error:
        if find_passing(error) is not None:
            raise
        detail = _without_nothing(toolMockReport=mocks.report())
        return results.Answer(error=Problem(error.code, str(error.message)), detail=detail)
    calls = [
        {"toolName": tool_call["toolName"], "args": tool_call["args"]} for tool_call in result.tool_calls
    ]
    return results.Answer(
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
        cost=Decimal(result.usage["cost"]["amount"]) if result.usage["cost"] is not None else None,
        run_id=result.run_id,
    )


def _without_nothing(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _scorer(experiment: Experiment, cell: Cell) -> results.Answer:
    """Return the scorer's outcome for the answer in an item's input, as its `try` does."""
    item_input = cell.member("input")
    if not isinstance(item_input, Mapping) or "output" not in item_input:
        message = "The input of an item for a scorer is an object with an output and, optionally, an input."
        return results.Answer(error=Problem("invalid_input", message))
    attempt = Attempt(
        input=item_input.get("input"),
        output=item_input["output"],
        ground_truth=item_input.get("groundTruth", MISSING),
        metadata=cell.member("metadata") or {},
        tool_calls=item_input.get("toolCalls"),
    )
    give_back()
    outcome = score(
        experiment.pinned_target["config"],
        attempt,
        get_framework().scorers,
        experiment.pinned_target["instructions"],
    )
    answer = results.Answer(
        input_tokens=outcome.input_tokens, output_tokens=outcome.output_tokens, cost=outcome.cost
    )
    if outcome.error is not None:
        answer = replace(answer, error=outcome.error)
        if outcome.passing is not None:
            raise TryAgain(answer, outcome.passing)
        return answer
    unscored = None if outcome.not_scorable is None else {"reason": outcome.not_scorable.reason}
    output = {
        "score": outcome.score,
        "passed": outcome.passed,
        "label": outcome.label,
        "reason": outcome.reason,
    }
    return replace(answer, output={**output, "notScorable": unscored})


def caller_of_experiment(experiment: Experiment) -> Caller:
    """Return the caller who started an experiment; raises `Forbidden` if they may no longer start it."""
    if experiment.key_prefix:
        key = ApiKey.objects.select_related("owner").filter(prefix=experiment.key_prefix).first()
        if key is None or not key.usable:
            raise Forbidden(Message("The API key that started it can no longer be used."))
        caller = key.caller()
        caller.require_action(Action.RUN)
    elif not experiment.author_name:
        caller = APPLICATION
    else:
        caller = caller_of_author(experiment.author, experiment.author_name, Via.API)
    caller.require(Right.SAVE, experiment.workspace_id)
    return caller


TRIES: Final = 4
"""The number of tries with a provider that is unreachable, busy or failing."""
FEW: Final = 10
"""The number of cells from which the share of errors counts."""
ERROR_SHARE: Final = 0.2

logger = logging.getLogger("evaluation")

_running: Final[dict[int, Stop]] = {}
_lock: Final = Lock()


def run(cell: Cell) -> None:
    """Run a leased cell; raises `LeaseLost` if another worker has it by the time there is a result."""
    stop = Stop()
    with _lock:
        _running[cell.pk] = stop
    try:
        _run(cell, stop)
    except CancelledError:
        return  # it was cancelled, or another worker has it
    finally:
        with _lock:
            _running.pop(cell.pk, None)
        PACING.end(cell.provider, cell.workspace_id)


def stop_cancelled() -> None:
    """Stop the cells of this process that were cancelled or now belong to another worker."""
    with _lock:
        running = dict(_running)
    if not running:
        return
    still_leased = set(Cell.objects.filter(pk__in=running).exclude(leased_by="").values_list("pk", flat=True))
    for pk, stop in running.items():
        if pk not in still_leased:
            stop.stop()


def _run(cell: Cell, stop: Stop) -> None:
    experiment = Experiment.objects.filter(pk=cell.experiment_id).first()
    if experiment is None:
        return
    if experiment.started_at is None:
        experiment.started_at = timezone.now()
        Experiment.objects.filter(pk=experiment.pk, started_at=None).update(started_at=experiment.started_at)
    outcome = find_exceeded_limit(experiment, timezone.now())
    if outcome:
        with events.transaction():  # running cells may finish
            locked = Experiment.objects.with_lock().filter(pk=cell.experiment_id, outcome="").first()
            if locked is not None:
                cell.release()
                results.stop(locked, outcome, APPLICATION, waits=True)
        return
    try:
        perform(experiment, cell, stop)
    except TryAgain as again:
        _postpone(cell, again.passing, {})
    except (CancelledError, LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception:
        if cell.attempts - cell.tries < TRIES:
            raise  # the worker logs it, and tries again later
        logger.exception("a cell fails each time", extra={"row": str(cell.pk)})
        failed = results.Answer(error=Problem("internal_error", "The item could not be run; see the log."))
        results.put_answer(cell, failed)
        record(experiment.pk, cell, failed, [])


def perform(experiment: Experiment, cell: Cell, stop: Stop) -> None:
    """Run and score a cell, and record the result; raises `TryAgain` while tries remain."""
    answer = stored_answer(cell)
    if answer is not None and cell.is_cut:
        record(experiment.pk, cell, answer, results.refuse_cut_output(missing_scorers(experiment, cell)))
        return
    if answer is None:
        answer = _ask_once(experiment, cell, stop)
        results.put_answer(cell, answer)
    else:
        cell.output_json, cell.output_digest, cell.is_cut = results.stored_json(answer.output)
    scores = _score_or_postpone(experiment, cell, answer, stop)
    if scores is not None:
        record(experiment.pk, cell, answer, scores)


def _ask_once(experiment: Experiment, cell: Cell, stop: Stop) -> results.Answer:
    stop.within(experiment.settings.get("limits", {}).get("itemSeconds", ITEM_SECONDS))
    try:
        answer = ask(experiment, cell, caller_of_experiment(experiment), stop)
        PACING.record_answer(experiment.provider)
    except VersioningError as error:  # a check of the rights
        answer = results.Answer(error=Problem(error.code, str(error.message)))
    except TryAgain as again:
        if cell.tries < TRIES - 1:
            raise
        answer = again.answer
    finally:
        stop.within(None)
    return answer


def stored_answer(cell: Cell) -> results.Answer | None:
    """Return the stored answer of a cell that only needs scoring, or None."""
    if not cell.output_json:
        return None
    return results.Answer(
        output=json.loads(cell.output_json),
        detail=cell.detail,
        milliseconds=cell.milliseconds,
        run_id=cell.run_id,
        started_at=cell.started_at or timezone.now(),
        ended_at=cell.ended_at,
        is_stored=True,
    )


def missing_scorers(experiment: Experiment, cell: Cell) -> list[ExperimentScorer]:
    """Return the scorers that have not scored a cell yet, or have failed."""
    scored_ids = set(cell.scores.filter(error_code="").values_list("scorer_id", flat=True))
    return [scorer for scorer in experiment.scorers.all() if scorer.scorer_id not in scored_ids]


def _score_or_postpone(
    experiment: Experiment, cell: Cell, answer: results.Answer, stop: Stop
) -> list[results.NewScore] | None:
    """Return the outcomes of the scorers; None if a judge is retried later, with the stored answer."""
    if answer.error is not None:
        return []
    missing = missing_scorers(experiment, cell)
    give_back()
    with stoppable(stop):
        scores = list(results.score_cell(cell, answer.output, missing))
    passing = next((outcome.passing for _, _, outcome, _ in scores if outcome.passing is not None), None)
    if passing is None or cell.tries >= TRIES - 1:
        return scores
    results.put_answer(cell, answer, whole=True)
    with events.transaction():
        columns = results.result_columns(cell)
        del columns["state"]
        _postpone(cell, passing, columns)
        spent = {name: F(name) + value for name, value in spent_on(answer, scores).items()}
        Experiment.objects.filter(pk=experiment.pk).update(**spent, prices_of=price_list_date())
    return None


def _postpone(cell: Cell, passing: Any, columns: Mapping[str, Any]) -> None:
    wait = wait_for(passing, cell.tries)
    if passing.is_limit:
        PACING.record_refusal(cell.provider, wait)
    cell.postpone(wait, **{**columns, "tries": cell.tries + 1})


def wait_for(passing: Any, tries: int) -> float:
    """Return the seconds before the next try: those that the provider requests, or twice as long each time.

    No provider can ask for more than `MAX_WAIT`.
    """
    return 2.0**tries if passing.retry_after is None else min(float(passing.retry_after), MAX_WAIT)


def record(
    experiment_id: str, cell: Cell, answer: results.Answer, scores: Iterable[results.NewScore]
) -> None:
    """Record the result of a leased cell with its scores; raises `LeaseLost`."""
    scores = list(scores)
    with events.transaction():
        experiment = Experiment.objects.with_lock().filter(pk=experiment_id).first()
        if experiment is None:
            raise LeaseLost
        before = results.counted_as(cell)
        cell.state = CellState.ERROR if answer.error else CellState.DONE
        cell.finish(**results.result_columns(cell))
        results.put_scores(experiment, cell, scores)
        results.count(experiment, cell, before, spent=spent_on(answer, scores))
        is_ours_to_end = experiment.is_started or experiment.stopped  # otherwise the application ends it
        if is_ours_to_end and not experiment.queued_count and not experiment.outcome:
            results.finish(experiment, experiment.stopped or ExperimentOutcome.COMPLETE)


def spent_on(answer: results.Answer, scores: Iterable[results.NewScore]) -> dict[str, int]:
    """Return the usage of an answer and its scores, by the columns of the experiment."""
    outcomes = [outcome for _, _, outcome, _ in scores]
    costs = [answer.cost, *(outcome.cost for outcome in outcomes)]
    return {
        "input_tokens": answer.input_tokens + sum(outcome.input_tokens for outcome in outcomes),
        "output_tokens": answer.output_tokens + sum(outcome.output_tokens for outcome in outcomes),
        "milliseconds": 0 if answer.is_stored else answer.milliseconds,
        "cost": sum(in_billionths(cost) for cost in costs),
        "unpriced_count": sum(cost is None for cost in costs),
    }


def find_exceeded_limit(experiment: Experiment, now: datetime.datetime) -> str:
    """Return the outcome of an experiment that has reached one of its limits; empty for others."""
    limits = experiment.settings.get("limits", {})
    tokens, seconds = limits.get("tokens"), limits.get("seconds")
    if tokens is not None and experiment.input_tokens + experiment.output_tokens >= tokens:
        return ExperimentOutcome.OVER_BUDGET
    started = experiment.started_at or now
    if seconds is not None and (now - started).total_seconds() >= seconds:
        return ExperimentOutcome.EXPIRED
    over = experiment.done_count + experiment.error_count
    faults = experiment.error_count + experiment.unscored_count
    if over >= FEW and faults > over * limits.get("errorShare", ERROR_SHARE):
        return ExperimentOutcome.TOO_MANY_ERRORS
    return ""


HOUR: Final = 3600.0
AT_ONCE: Final = 1000
THREADS: Final = 2 * max(int(settings.EDITOR_EVALUATION_CONCURRENCY), 2)
"""A workspace takes at most half of them."""
EMPTY: Final = {
    "output_json": "",
    "is_cut": True,
    "detail_json": "",
    "error_message": "",
    "review_comment": "",
}


def remove_old() -> None:
    """Remove outputs that are older than `EDITOR_KEEP_RESULTS` days, in batches; 0 keeps all of them.

    The results stay, with their scores but without texts. Results of needed experiments are not changed.
    """
    if not settings.EDITOR_KEEP_RESULTS:
        return
    before = timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_RESULTS)
    old = Cell.objects.over().filter(ended_at__lt=before).exclude(output_json="")
    old = old.exclude(experiment__in=results.needed_experiments())
    while batch := list(old.order_by("ended_at").values_list("pk", flat=True)[:AT_ONCE]):
        Score.objects.filter(cell__in=batch).update(reason="", more_json="")
        Cell.objects.filter(pk__in=batch).update(**EMPTY)
        results.count_change(Q(pk__in=Cell.objects.filter(pk__in=batch).values("experiment")))


JOBS: Final = (
    Queue(
        name="experiments",
        model="evaluation.Cell",
        run=run,
        threads=THREADS,
        at_once=1,  # so that a slow answer delays only its own item
    ),
    Periodic(name="cancelled experiments", run=stop_cancelled, every=1.0, in_each_worker=True),
    Periodic(name="old results", run=remove_old, every=HOUR),
)
