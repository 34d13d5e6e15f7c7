"""`editor evaluate`: whether a version of an agent is good enough, for continuous integration."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from editor_client.command_errors import DONE, REFUSED, reporting_errors
from editor_client.datasets import DatasetRecord
from editor_client.experiments import Comparison, Experiment, ExperimentRecord, NewExperiment, ResultRecord
from editor_client.sync import Client

PASSED, FAILED, UNJUDGED, INTERRUPTED = DONE, 1, 3, 130
RULES: Final = ("worse", "must", "errors")
SECONDS_BETWEEN: Final = 1.0
STATUSES: Final = ("draft", "published")
EPILOG: Final = """\
rules of --fail-on:
  worse   the version is found to be worse than what it is compared with
  must    an item with the tag `must` fails, in any attempt
  errors  an answer is missing because of an error

exit codes:
  0    passed
  1    a rule failed
  2    wrong usage
  3    it could not be judged: errors, skipped or too few items, timed out
  4    the server has refused, or does not answer; or the agent or the dataset was not found
  130  interrupted; the experiment goes on on the server
"""


def add_to(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "evaluate",
        help="run an agent over a dataset, and fail where it is not good enough",
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
    parser.add_argument("--attempts", type=int, default=1, metavar="N")
    parser.add_argument("--fail-on", type=_rules, default=RULES, metavar="RULES", help=",".join(RULES))
    parser.add_argument("--max-tokens", type=int, metavar="N", help="stop when so many are spent")
    parser.add_argument(
        "--timeout", dest="patience", type=float, default=1800, metavar="SECONDS", help="to wait; 1800"
    )
    for form in ("junit", "json", "markdown"):
        parser.add_argument(f"--{form}", type=Path, metavar="FILE")
    parser.set_defaults(command=reporting_errors(evaluate))


def _rules(text: str) -> Sequence[str]:
    rules = [one for one in text.split(",") if one]
    unknown = [one for one in rules if one not in RULES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown rule {unknown[0]!r}; there are {', '.join(RULES)}")
    return rules


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it: the exit code, and why in sentences."""

    code: int
    reasons: Sequence[str]


def evaluate(client: Client, given: argparse.Namespace) -> int:
    """Run it, wait, print what came of it, and return the exit code."""
    dataset = _dataset(client, given.dataset)
    if dataset is None:
        sys.stderr.write(f"error: there is no dataset {given.dataset!r} that the key may read\n")
        return REFUSED
    started = client.start_experiment(dataset.id, **_request(given))
    experiment = client.get_experiment(dataset.id, started.experiment_id)
    try:
        ended = _waited(experiment, given.patience)
        baseline = None
        if ended.outcome and ended.pair_of is not None:
            baseline = _waited(client.get_experiment(dataset.id, ended.pair_of), given.patience)
    except KeyboardInterrupt:
        address = f"/datasets/{dataset.id}/experiments/{experiment.id}"
        sys.stderr.write(f"\nThe experiment goes on on the server; follow it at GET {address}\n")
        return INTERRUPTED
    results = list(experiment.iter_results(per_page=100))
    comparison = experiment.compare() if ended.pair_of is not None else None
    outcome = judge(ended, baseline, comparison, results, given.fail_on)
    _report(given, ended, comparison, results, outcome)
    return outcome.code


def _request(given: argparse.Namespace) -> NewExperiment:
    chosen = {"status": given.version} if given.version in STATUSES else {"versionId": given.version}
    request: NewExperiment = {
        "target_type": "agent",
        "target_id": given.agent,
        "selector": chosen,
        "baseline": given.against,
        "attempts": given.attempts,
        "name": f"editor evaluate {given.agent}",
    }
    if given.max_tokens is not None:
        request["limits"] = {"tokens": given.max_tokens}
    return request


def _dataset(client: Client, name: str) -> DatasetRecord | None:
    return next((one for one in client.iter_datasets(per_page=100) if name in {one.name, one.id}), None)


def _waited(experiment: Experiment[Client], patience: float) -> ExperimentRecord:
    """Wait until an experiment is over, or the time is; say on standard error how far it is."""
    until, said = time.monotonic() + patience, ""
    while True:
        record = experiment.details()
        counts = record.counts
        line = f"{counts['cells'] - counts['queued']} of {counts['cells']} answers, {counts['errors']} errors"
        if line != said:
            sys.stderr.write(f"{line}\n")
            said = line
        if record.outcome or time.monotonic() >= until:
            return record
        time.sleep(SECONDS_BETWEEN)


def judge(
    ended: ExperimentRecord,
    baseline: ExperimentRecord | None,
    comparison: Comparison | None,
    results: Sequence[ResultRecord],
    fail_on: Collection[str],
) -> Outcome:
    """Return what came of it: a rule that failed comes before what could not be judged."""
    both = [one for one in (ended, baseline) if one is not None]
    primary = None if comparison is None else comparison.primary
    failed, unjudged = [], list(_obstacles(both, fail_on))
    if "worse" in fail_on:
        if primary is None:
            unjudged.append("There is nothing to compare with.")
        elif primary.verdict == "worse":
            failed.append(f"It is worse: {_said(primary.wins, primary.losses, primary.difference)}.")
        elif primary.verdict == "tooFew":
            unjudged.append("There are too few items to compare.")
    lost = {one.item_id for one in results if _is_must(one) and not _passes(one, primary)}
    if "must" in fail_on and lost:
        failed.append(f"{len(lost)} items with the tag 'must' fail: {', '.join(sorted(lost))}.")
    if failed:
        return Outcome(code=FAILED, reasons=[*failed, *unjudged])
    return Outcome(code=UNJUDGED if unjudged else PASSED, reasons=unjudged)


def _obstacles(both: Sequence[ExperimentRecord], fail_on: Collection[str]) -> Iterator[str]:
    """Yield why runs cannot be judged, whatever their answers are like."""
    for one in both:
        if one.outcome != "complete":
            yield f"It is not complete: {one.outcome or 'it still runs'}."
    if any(one.counts["skipped"] for one in both):
        yield "Items were skipped."
    if "errors" in fail_on and any(one.counts["errors"] for one in both):
        yield "There were errors."


def _said(wins: int, losses: int, difference: float) -> str:
    return f"{wins} won, {losses} lost, {100 * difference:+.1f} points"


def _is_must(result: ResultRecord) -> bool:
    tags = (result.metadata or {}).get("tags")
    return isinstance(tags, list | tuple) and "must" in tags


def _passes(result: ResultRecord, primary: Any) -> bool:
    """Return whether an answer passes by the primary scorer, or without one by all."""
    if result.error is not None:
        return False
    scores = [one for one in result.scores if primary is None or one["scorerId"] == primary.scorer_id]
    return bool(scores) and all(one.get("passed") for one in scores if not one.get("notScorable"))


def _report(
    given: argparse.Namespace,
    ended: ExperimentRecord,
    comparison: Comparison | None,
    results: Sequence[ResultRecord],
    outcome: Outcome,
) -> None:
    text = markdown(ended, comparison, outcome)
    sys.stdout.write(text)
    if given.markdown is not None:
        given.markdown.write_text(text)
    if given.json is not None:
        content = {
            "exitCode": outcome.code,
            "reasons": list(outcome.reasons),
            "experiment": ended.raw,
            "comparison": None if comparison is None else comparison.raw,
        }
        given.json.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    if given.junit is not None:
        given.junit.write_bytes(junit(ended, comparison, results))


def markdown(ended: ExperimentRecord, comparison: Comparison | None, outcome: Outcome) -> str:
    """Return the report for people."""
    word = {PASSED: "passed", FAILED: "failed"}.get(outcome.code, "could not be judged")
    lines = [f"## Evaluation {word}", "", *(f"- {reason}" for reason in outcome.reasons)]
    if comparison is not None:
        lines += ["", "| scorer | won | lost | tied | difference | verdict |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {one.scorer_id} | {one.wins} | {one.losses} | {one.ties} |"
            f" {100 * one.difference:+.1f} points | {one.verdict} |"
            for one in comparison.scorers
        ]
        primary = comparison.primary
        if primary is not None and primary.detectable is not None:
            lines += ["", f"{comparison.pairs} items would have shown a drop of {primary.detectable} points."]
    return "\n".join([*lines, "", f"Experiment {ended.id}", ""])


def junit(ended: ExperimentRecord, comparison: Comparison | None, results: Sequence[ResultRecord]) -> bytes:
    """Return the results in the form of JUnit: a case for each answer."""
    primary = None if comparison is None else comparison.primary
    suite = ElementTree.Element("testsuite", name=ended.name or ended.id, tests=str(len(results)))
    counts = {"failure": 0, "error": 0}
    for one in results:
        case = ElementTree.SubElement(suite, "testcase", name=f"{one.item_id} attempt {one.attempt + 1}")
        kind = "error" if one.error is not None else None if _passes(one, primary) else "failure"
        if kind is not None:
            counts[kind] += 1
            message = str((one.error or {}).get("message", "The answer does not pass."))
            ElementTree.SubElement(case, kind, message=message)
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    found: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return found
