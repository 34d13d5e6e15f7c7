"""The output of `export_overrides` and `import_overrides`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from versioning.editor.export_import import Outcome, OverrideResult


def report(
    output: OutputWrapper, results: Iterable[OverrideResult], *, dry_run: bool, **_options: Any
) -> None:
    """Print each override that changed, and a summary; raises `CommandError` if any was refused."""
    counts: Counter[Outcome] = Counter()
    for result in results:
        counts[result.outcome] += 1
        if result.outcome is not Outcome.UNCHANGED:
            reason = f": {result.reason}" if result.reason else ""
            output.write(f"{result.outcome:12}{result.agent_id}{reason}")
    summary = (
        ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]) or "no agents"
    )
    output.write(f"{summary}; nothing was changed (dry run)" if dry_run else summary)
    if counts[Outcome.REFUSED]:
        raise CommandError("Some overrides were refused; the lines above say why.")
