"""Agents whose overrides are files: a folder, optionally in a repository, and changes by hand."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editor_client.shared import ids

from versioning.editor import Editor
from versioning.runtime import Agent, Framework

ECHO = {"provider": "echo", "name": "echo"}

framework: Framework
"""The framework of the test that runs; `define` makes it."""


def look_up(question: str) -> str:
    return f"nothing about {question}"


def define(settings: Any, root: Path, *, source: str = "code", **about: Any) -> Framework:
    """Define `answers` and its lead in code, with overrides as files in a folder, or as rows."""
    global framework  # noqa: PLW0603  EDITOR_FRAMEWORK names it
    settings.EDITOR_SOURCE = source
    settings.EDITOR_CODE_PATH = str(root)
    settings.EDITOR_FRAMEWORK = f"{__name__}.framework"
    answers = Agent(id="answers", name="Answers", instructions="code", model=ECHO, tools=[look_up], **about)
    lead = Agent(id="team/lead", name="Lead", instructions="lead", model=ECHO, agents=[answers])
    framework = Framework(agents=[answers, lead], editor=Editor())
    return framework


@dataclass(frozen=True)
class Folder:
    """The folder of `EDITOR_CODE_PATH`, as a developer sees it."""

    root: Path

    def path(self, agent_id: str = "answers") -> Path:
        """Return the file of an agent's override."""
        return self.root / "agents" / f"{ids.encode(agent_id)}.json"

    def put(self, config: Any, agent_id: str = "answers") -> None:
        """Write a file by hand: bytes unchanged, anything else as JSON in an unusual format."""
        path = self.path(agent_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
        # The clock of files is some milliseconds late, in which a fast test has saved the next row.
        now = time.time_ns()
        os.utime(path, ns=(now, now))

    def text(self, agent_id: str = "answers") -> str:
        """Return the content of the file."""
        return self.path(agent_id).read_text()

    def config(self, agent_id: str = "answers") -> Any:
        """Return the configuration that the file holds."""
        return json.loads(self.text(agent_id))


@dataclass(frozen=True)
class Repository(Folder):
    """A folder in a real Git repository."""

    top: Path

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a git command, as a developer with an identity and no settings of their own."""
        return subprocess.run(
            ["git", "-C", str(self.top), *arguments],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.top),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                **{f"GIT_{who}_NAME": "Ann Author" for who in ("AUTHOR", "COMMITTER")},
                **{f"GIT_{who}_EMAIL": "ann@example.com" for who in ("AUTHOR", "COMMITTER")},
                **environment,
            },
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def git(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        """Run a git command that succeeds and return its output."""
        done = self.run(*arguments, stdin=stdin, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, message: str = "Change", *, at: str = "2026-01-01T12:00:00Z") -> str:
        """Commit everything and return the id of the version that the commit makes."""
        self.git("add", "--all")
        self.git(
            "commit", "--quiet", "--allow-empty", "--message", message,
            GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at,
        )  # fmt: skip
        return f"git-{self.git('rev-parse', 'HEAD')}"


def long_history(repo: Repository, commits: int) -> None:
    """Give a repository the oldest and the newest commit of the file, and many of another one between."""
    path = f"service/editor/agents/{repo.path().name}"
    who = "committer Ann Author <ann@example.com>"
    stream = []
    for number in range(commits):
        is_end = number in {0, commits - 1}
        name, text = (path, json.dumps({"instructions": f"{number}"})) if is_end else ("other", f"{number}")
        stream.append(
            f"commit refs/heads/main\n{who} {1767268800 + number} +0000\ndata 1\nx\n"
            f"M 644 inline {name}\ndata {len(text)}\n{text}\n"
        )
    repo.git("fast-import", "--quiet", stdin="".join(stream))
    repo.git("checkout", "--quiet", "--force", "main")


def repository(top: Path, folder: str = "service/editor") -> Repository:
    """Make an empty repository with the folder of the overrides in it."""
    root = top / folder
    root.mkdir(parents=True)
    made = Repository(root=root, top=top)
    made.git("init", "--quiet", "--initial-branch", "main")
    return made
