"""`editor evaluate`: test a version of an agent in continuous integration."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from editor_client.errors import RateLimited, ServerError, Unreachable, ValidationFailed
from editor_client.manage.experiments import (
    Comparison,
    Experiment,
    ExperimentEstimate,
    ExperimentRecord,
    NewExperiment,
    ResultRecord,
)
from editor_client.shared import canonical
from editor_client.shared.clipping import clip
from editor_client.sync import Client
from editor_client.transfer.commands import DONE, USAGE, CommandError, reporting_errors
from editor_client.transfer.transfer_commands import existing

PASSED, FAILED, UNJUDGED, INTERRUPTED = DONE, 1, 3, 130
RULES: Final = ("worse", "must", "errors")
_BY_SCORERS: Final = frozenset({"worse", "must"})
SECONDS_BETWEEN: Final = 1.0
MAX_AWAY: Final = 120.0
"""The seconds for which the server may be unavailable during the wait for answers."""
MAX_ATTEMPTS: Final = 20
MAX_SHOWN: Final = 80
MAX_LOST: Final = 10
"""The number of characters of an item, and the number of lost items, in the report."""
STATUSES: Final = ("draft", "published")
EPILOG: Final = """\
rules of --fail-on:
  worse   the version is found to be worse than what it is compared with
  must    an item with the tag `must` fails, in any attempt
  errors  an answer or a score is missing because of an error

exit codes:
  0    passed
  1    a rule failed
  2    wrong usage
  3    it could not be judged: no scorer, errors, skipped or too few items, timed out
  4    the server has refused, or does not answer; or the agent or the dataset was not found
  130  interrupted; the experiment goes on on the server
"""


def add_to(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "evaluate",
        help="run an agent over a dataset, and fail if it breaks a rule",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        conflict_handler="resolve",
    )
    add_server(parser)
    parser.add_argument("agent", metavar="AGENT")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="its name or id")
    parser.add_argument(
        "--version", default="draft", help="draft (default), published, or the id of a version"
    )
    parser.add_argument(
        "--against", default="published", help="published, a version id or an experiment id; published"
    )
    parser.add_argument("--attempts", type=_attempts, default=1, metavar="N", help="of each item; 1")
    parser.add_argument("--fail-on", type=_rules, default=RULES, metavar="RULES", help=",".join(RULES))
    parser.add_argument("--max-tokens", type=_positive, metavar="N", help="stop after this many")
    parser.add_argument(
        "--timeout", dest="patience", type=_positive, default=1800, metavar="SECONDS", help="to wait; 1800"
    )
    for form in ("junit", "json", "markdown"):
        parser.add_argument(f"--{form}", type=Path, metavar="FILE", help="write a report")
    parser.set_defaults(command=reporting_errors(evaluate))


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


def _attempts(text: str) -> int:
    if _positive(text) > MAX_ATTEMPTS:
        raise argparse.ArgumentTypeError(f"must not be more than {MAX_ATTEMPTS}")
    return int(text)


def _rules(text: str) -> Sequence[str]:
    rules = [part for part in text.split(",") if part]
    unknown = [rule for rule in rules if rule not in RULES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown rule {unknown[0]!r}; there are {', '.join(RULES)}")
    return rules


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome: the exit code, and its reasons in sentences."""

    code: int
    reasons: Sequence[str]


def evaluate(client: Client, args: argparse.Namespace) -> int:
    """Run it, wait, print the outcome, and return the exit code."""
    for path in (args.junit, args.json, args.markdown):
        if path is not None and not path.parent.is_dir():
            raise CommandError(USAGE, f"{path} cannot be written: there is no folder {path.parent}")
    where = ""
    try:
        dataset = existing(client, args.dataset)
        started = _start(client, dataset.id, args)
        where = f"{client.address}/datasets/{dataset.id}/experiments/{started.id}"
        return _wait_and_judge(client, started, args, where)
    except KeyboardInterrupt:
        notice = f"The experiment goes on on the server; follow it at GET {where}"
        sys.stderr.write(f"\n{notice if where else 'No experiment was started.'}\n")
        return INTERRUPTED


def _start(client: Client, dataset_id: str, args: argparse.Namespace) -> Experiment[Client]:
    chosen = {"status": args.version} if args.version in STATUSES else {"versionId": args.version}
    request: NewExperiment = {
        "target_type": "agent",
        "target_id": args.agent,
        "selector": chosen,
        "baseline": args.against,
        "attempts": args.attempts,
        "name": f"editor evaluate {args.agent}",
    }
    if args.max_tokens is not None:
        request["limits"] = {"tokens": args.max_tokens}
    try:
        planned = client.estimate_experiment(dataset_id, **request)
        _check_scorers(planned, args.fail_on)
        started = client.start_experiment(dataset_id, **request)
    except ValidationFailed as error:
        if error.code == "no_items":
            raise CommandError(UNJUDGED, f"it could not be judged: {error}") from None
        raise
    return client.get_experiment(dataset_id, started.experiment_id)


def _check_scorers(planned: ExperimentEstimate, fail_on: Collection[str]) -> None:
    """Refuse a run that no scorer could judge, before it costs anything; print the problems of scorers."""
    for problem in planned.problems:
        about = f"{problem['scorerId']}: " if problem["scorerId"] else ""
        sys.stderr.write(f"{about}{problem['message']}\n")
    needing = [rule for rule in fail_on if rule in _BY_SCORERS]
    if needing and not planned.not_scorable:
        raise CommandError(
            UNJUDGED,
            f"it could not be judged: neither the dataset nor the agent has a scorer, which --fail-on "
            f"{','.join(needing)} needs. Nothing was run. Give the dataset scorers, or pass --fail-on errors",
        )


def _wait_and_judge(
    client: Client, experiment: Experiment[Client], args: argparse.Namespace, where: str
) -> int:
    """Wait for an experiment and its baseline, report the outcome, and return the exit code."""
    until = time.monotonic() + args.patience
    ended, baseline = _wait(experiment, until), None
    if ended.outcome and ended.pair_of is not None:
        baseline = _wait(client.get_experiment(str(ended.dataset_id), ended.pair_of), until)
    results = list(experiment.iter_results(per_page=100))
    comparison = experiment.compare() if ended.pair_of is not None else None
    outcome = judge(ended, baseline, comparison, results, args.fail_on)
    text = markdown(ended, comparison, outcome, results)
    sys.stdout.write(text)
    if args.markdown is not None:
        args.markdown.write_text(text, encoding="utf-8")
    if args.json is not None:
        content = {
            "exitCode": outcome.code,
            "reasons": list(outcome.reasons),
            "experiment": ended.raw,
            "comparison": None if comparison is None else comparison.raw,
        }
        args.json.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    if args.junit is not None:
        args.junit.write_text(experiment.export_file("junit"), encoding="utf-8")
    if not all(experiment.outcome for experiment in (ended, baseline) if experiment is not None):
        sys.stderr.write(f"The experiment goes on on the server; follow it at GET {where}\n")
    return outcome.code


def _wait(experiment: Experiment[Client], until: float) -> ExperimentRecord:
    """Wait until an experiment is over, or the time is up; print the progress on standard error.

    Raises the error of a server that has been unavailable for too long.
    """
    last_line, answered_at = "", time.monotonic()
    while True:
        record = None
        try:
            record, answered_at = experiment.details(), time.monotonic()
            counts = record.counts
            finished = counts["cells"] - counts["queued"]
            line = f"{finished} of {counts['cells']} answers, {counts['errors']} errors"
        except (Unreachable, RateLimited, ServerError) as error:
            if time.monotonic() >= min(until, answered_at + MAX_AWAY):
                raise
            line = f"waiting for the server: {error}"
        if line != last_line:
            sys.stderr.write(f"{line}\n")
            last_line = line
        if record is not None and (record.outcome or time.monotonic() >= until):
            return record
        time.sleep(SECONDS_BETWEEN)


def judge(
    ended: ExperimentRecord,
    baseline: ExperimentRecord | None,
    comparison: Comparison | None,
    results: Sequence[ResultRecord],
    fail_on: Collection[str],
) -> Outcome:
    """Return the outcome: a failed rule takes precedence over one that could not be judged."""
    experiments = [experiment for experiment in (ended, baseline) if experiment is not None]
    primary = None if comparison is None else comparison.primary
    failed, unjudged = [], list(_obstacles(experiments, fail_on))
    if "worse" in fail_on:
        if primary is None:
            unjudged.append("There is nothing to compare with, or no scorer.")
        elif primary.verdict == "worse":
            counts = f"{primary.wins} won, {primary.losses} lost, {100 * primary.difference:+.1f} points"
            failed.append(f"It is worse: {counts}.")
        elif primary.verdict == "tooFew":
            unjudged.append("There are too few items to compare.")
    must = [
        (_shorten_input(result), _passes(result, primary))
        for result in results
        if isinstance(tags := (result.metadata or {}).get("tags"), list | tuple) and "must" in tags
    ]
    if "must" in fail_on:
        lost = sorted({text for text, passes in must if passes is False})
        unknown = sorted({text for text, passes in must if passes is None})
        failed += [f"What is tagged 'must' fails: {'; '.join(lost)}"] if lost else []
        unjudged += [f"What is tagged 'must' has no score: {'; '.join(unknown)}"] if unknown else []
    if failed:
        return Outcome(code=FAILED, reasons=[*failed, *unjudged])
    return Outcome(code=UNJUDGED if unjudged else PASSED, reasons=unjudged)


def _obstacles(experiments: Sequence[ExperimentRecord], fail_on: Collection[str]) -> Iterator[str]:
    """Yield why runs cannot be judged, independently of their answers."""
    for experiment in experiments:
        if experiment.outcome != "complete":
            yield f"It is not complete: {experiment.outcome or 'it still runs'}."
    if any(experiment.counts["skipped"] for experiment in experiments):
        yield "Items were skipped."
    if "errors" in fail_on and any(experiment.counts["errors"] for experiment in experiments):
        yield "There were errors."
    if "errors" in fail_on and any(
        scorer["errors"] for experiment in experiments for scorer in experiment.summary
    ):
        yield "Scorers failed."


def _passes(result: ResultRecord, primary: Any) -> bool | None:
    """Return whether an answer passes by the primary scorer, or without one by all; None without a score."""
    if result.error is not None:
        return False
    scores = [score for score in result.scores if primary is None or score["scorerId"] == primary.scorer_id]
    verdicts = [score.get("passed") for score in scores]
    return False if False in verdicts else None if not verdicts or None in verdicts else True


def _shorten_input(result: ResultRecord) -> str:
    """Return the beginning of the input, in one line."""
    value = result.input
    text = " ".join((value if isinstance(value, str) else canonical.dump(value)).split())
    return text if len(text) <= MAX_SHOWN else f"{clip(text, MAX_SHOWN - 1)}…"


def markdown(
    ended: ExperimentRecord, comparison: Comparison | None, outcome: Outcome, results: Sequence[ResultRecord]
) -> str:
    """Return the report for people, with the items that were lost, worst first."""
    word = {PASSED: "passed", FAILED: "failed"}.get(outcome.code, "could not be judged")
    lines = [f"## Evaluation {word}"]
    if outcome.reasons:
        lines += ["", *(f"- {reason}" for reason in outcome.reasons)]
    if comparison is not None:
        lines += ["", "| scorer | won | lost | tied | difference | verdict |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {scorer.scorer_id} | {scorer.wins} | {scorer.losses} | {scorer.ties} |"
            f" {100 * scorer.difference:+.1f} points | {scorer.verdict} |"
            for scorer in comparison.scorers
        ]
        primary = comparison.primary
        if primary is not None and primary.detectable is not None:
            lines += ["", f"{comparison.pairs} items would have shown a drop of {primary.detectable} points."]
        inputs = {result.item_id: _shorten_input(result) for result in results}
        lost = [item.item_id for item in comparison.items_ if item.outcome == "loss"]
        if lost:
            lines += [
                "",
                "Lost, worst first:",
                "",
                *(f"- {inputs.get(item_id, item_id)}" for item_id in lost[:MAX_LOST]),
            ]
        if len(lost) > MAX_LOST:
            lines.append(f"- and {len(lost) - MAX_LOST} more")
    return "\n".join([*lines, "", f"Experiment {ended.id}", ""])
