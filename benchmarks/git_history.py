# a script, and no package: it prints, and runs git
"""The cost of reading an override file's history, compared with Git itself.

    python -m benchmarks.git_history [RUNS [COMMITS]]

The repository has 5 000 commits of 200 override files, each commit changing one of them. Bare Git
is one `git log --follow` and one `git cat-file --batch`, whose output is not parsed. Ours and Git's
take turns in random order; the processor time, children included, is shown next to the clock time,
because other load distorts it less. The targets are a factor of at most 1.1 for the first read after
HEAD has moved, and 1 ms for the next one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.timing import in_turns
from versioning.runtime import Agent
from versioning.sources.overrides import OverrideSource

FILES = 200
DEPTH = 50
FOLDER = "service/editor"
AGENT = Agent(id="agent-7", name="Agent", instructions="code")
FILE = f"{FOLDER}/agents/{AGENT.id}.json"
FACTOR = 1.1
NEXT_READ_MS = 1.0
SENTENCES = 20
COMMITS: list[str] = []
"""The commits that HEAD moves to."""
WHO = {
    "PATH": os.environ["PATH"],
    **{
        f"GIT_{role}_{what}": "ann@example.com"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def content(number: int, commit: int) -> str:
    """Return a realistic override that differs by one sentence from one commit to the next."""
    words = [f"Agent {number} knows the answer {number * SENTENCES + one}." for one in range(SENTENCES)]
    words[commit % SENTENCES] = f"Since change {commit} it says so."
    return json.dumps({"instructions": "\n".join(words), "tools": {"search": {}}}, indent=2) + "\n"


def build(top: Path, commits: int) -> None:
    """Create the repository, printing the progress."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", top], check=True)
    importer = subprocess.Popen(["git", "-C", top, "fast-import", "--quiet"], stdin=subprocess.PIPE)
    assert importer.stdin is not None
    for commit in range(commits):
        number = commit % FILES
        text, subject = content(number, commit).encode(), f"Change {commit}".encode()
        path = f"{FOLDER}/agents/agent-{number}.json".encode()
        importer.stdin.write(
            b"commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata %d\n%s\n"
            b"M 100644 inline %s\ndata %d\n%s\n"
            % (1_700_000_000 + commit * 60, len(subject), subject, path, len(text), text)
        )
        if commit % 1000 == 0:
            print(f"  {commit} of {commits} commits", file=sys.stderr)
    importer.stdin.close()
    assert importer.wait() == 0
    subprocess.run(["git", "-C", top, "reset", "--quiet", "--hard"], check=True)


def bare(top: Path) -> int:
    """Let Git alone read the same commits and contents; return the number of commits."""
    git = ["git", "-C", str(top)]
    log = [*git, "log", "--follow", f"--max-count={DEPTH}", "--raw", "--no-abbrev", "--format=%H %at %an %s"]
    touched = subprocess.run([*log, "--", FILE], capture_output=True, check=True).stdout
    blobs = re.findall(rb"^:\d+ \d+ \w+ (\w+) ", touched, re.MULTILINE)
    subprocess.run(
        [*git, "cat-file", "--batch"], input=b"\n".join(blobs) + b"\n", capture_output=True, check=True
    )
    return len(blobs)


def moved(top: Path, source: OverrideSource) -> None:
    """Move HEAD to a new commit, without a process, and read the history."""
    branch = top / ".git/refs/heads/main"
    branch.write_text(f"{COMMITS.pop()}\n")
    source.versions(AGENT)


def commits_after(top: Path, number: int) -> list[str]:
    """Create commits after HEAD that change nothing; HEAD stays."""
    made = []
    for one in range(number):
        command = ["git", "-C", top, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", f"Nothing {one}"]
        done = subprocess.run([*command], env=WHO, capture_output=True, text=True, check=True)
        made.append(done.stdout.strip())
    return made


def main(runs: int, commits: int) -> None:
    """Build, measure and print."""
    with TemporaryDirectory() as folder:
        top = Path(folder)
        build(top, commits)
        warm = OverrideSource(top / FOLDER, DEPTH)
        found, expected = len(warm.versions(AGENT)), bare(top)
        assert found == expected, f"{found} versions of {expected} commits"
        COMMITS.extend(commits_after(top, runs + 1))
        contenders: dict[str, Callable[[], object]] = {
            "bare git": lambda: bare(top),
            "HEAD moved": lambda: moved(top, warm),
            "next read": lambda: warm.versions(AGENT),
        }
        times = dict(zip(contenders, in_turns(list(contenders.values()), runs), strict=True))
    report(times, f"{commits} commits, {FILES} files, {found} versions of one, {runs} runs")


def report(times: dict[str, list[tuple[float, float]]], what: str) -> None:
    """Print the table."""
    print(f"{what}; milliseconds, medians\n")
    print(f"{'':12}{'clock':>9}{'fastest':>9}{'processor':>11}")
    for name, measured in times.items():
        clock, busy = zip(*measured, strict=True)
        print(f"{name:12}{median(clock):9.1f}{min(clock):9.1f}{median(busy):11.1f}")
    (bare_clock, first, following) = (median(clock for clock, _ in measured) for measured in times.values())
    print(f"\nHEAD moved / bare git: {first / bare_clock:.2f} (target: at most {FACTOR})")
    print(f"next read: {following:.1f} ms (target: under {NEXT_READ_MS:g} ms)")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(25, 5000)[len(given) :])
