"""Show how a branch would change the agents' overrides, and refuse invalid files.

    python check_overrides.py origin/main

Exits with 1 if an override file would be ignored: it does not parse, contains fields that its agent does not
allow, or belongs to no agent.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from editor_client.shared import ids
from team.agents import AGENTS

from versioning.sources.overrides import OverrideSource

Override = Mapping[str, Any]


def git(*arguments: str) -> str | None:
    """Return the output of a git command; None if it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, encoding="utf-8", check=False)  # noqa: S603, S607
    return done.stdout if done.returncode == 0 else None


def override_at(commit: str, path: Path) -> Override:
    """Return an override file's content in a commit; empty if it is missing or unreadable."""
    text = git("show", f"{commit}:./{path}")
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def lines(value: Any) -> list[str]:
    """Return a value as lines for comparison."""
    text = (
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    )
    return [] if value is None else text.splitlines()


def differences(before: Override, after: Override) -> Iterator[str]:
    """Yield the lines of the fields that differ."""
    for field in sorted({*before, *after}):
        if before.get(field) != after.get(field):
            yield f"  {field}"
            compared = unified_diff(lines(before.get(field)), lines(after.get(field)), n=2, lineterm="")
            yield from (f"    {line}" for line in compared if not line.startswith(("---", "+++", "@@")))


def main() -> int:
    """Print what the branch would change, and return the exit code."""
    parser = ArgumentParser(description="Show what a branch would change of what the agents are told.")
    parser.add_argument("base", help="the branch that the pull request is for, such as origin/main")
    parser.add_argument("--folder", type=Path, default=Path("service/editor"), help="EDITOR_CODE_PATH")
    given = parser.parse_args()
    logging.basicConfig(format="%(message)s", stream=sys.stdout)  # explains why a file would be ignored
    base = (git("merge-base", given.base, "HEAD") or "").strip()
    if not base:
        parser.error(f"{given.base} and HEAD have no commit in common; is it fetched?")
    source, is_sound = OverrideSource(given.folder, depth=0), True
    files = {given.folder / "agents" / f"{ids.encode(agent.id)}.json": agent for agent in AGENTS}
    for path, agent in files.items():
        current = source.current(agent)
        is_sound &= current is not None or not path.exists()
        before, after = override_at(base, path), current.config if current else {}
        if before != after:
            print(agent.id if current else f"{agent.id}: as its code says")
            print(*differences(before, after), sep="\n")
    for path in sorted(set((given.folder / "agents").glob("*")) - set(files)):
        print(f"{path} belongs to no agent")
        is_sound = False
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
