"""The output of `export_overrides` and `import_overrides`."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from versioning.domain.times import parse_moment
from versioning.editor.export_import import ImportOutcome, OverrideResult


def report(
    output: OutputWrapper, results: Iterable[OverrideResult], *, dry_run: bool, **_options: Any
) -> None:
    """Print each override that changed, and a summary; raises `CommandError` if any was refused."""
    counts: Counter[ImportOutcome] = Counter()
    for result in results:
        counts[result.outcome] += 1
        if result.outcome is not ImportOutcome.UNCHANGED:
            reason = f": {result.reason}" if result.reason else ""
            output.write(f"{result.outcome:12}{result.agent_id}{reason}")
    summary = (
        ", ".join(f"{counts[outcome]} {outcome}" for outcome in ImportOutcome if counts[outcome])
        or "no agents"
    )
    output.write(f"{summary}; nothing was changed (dry run)" if dry_run else summary)
    if counts[ImportOutcome.REFUSED]:
        raise CommandError("Some overrides were refused; see the reasons above.")


def parse_option(text: str, option: str) -> datetime.datetime:
    """Return the time in an option, in UTC; raises `CommandError` unless it is ISO 8601."""
    moment = parse_moment(text, zone=datetime.UTC)
    if moment is None:
        raise CommandError(f"{option} must be ISO 8601, not {text!r}")
    return moment
