"""Histories of override files in real repositories: making them, and reading them as the editor does."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.override_files import Folder, Repository
from versioning.runtime import Agent
from versioning.sources.overrides import GitVersion, OverrideSource

ANSWERS = Agent(id="answers", name="Answers", instructions="code")
LONG = "Be brief, be kind, and say where you know it from. " * 20
"""Git takes a changed file for a renamed one when most of it is the same."""


def versions(folder: Folder, depth: int = 50) -> tuple[GitVersion, ...]:
    """Read the history again."""
    return OverrideSource(folder.root, depth).versions(ANSWERS)


def seen(folder: Folder, depth: int = 50) -> list[tuple[int, Any]]:
    """Return the numbers and instructions of the versions, newest first."""
    return [(found.number, found.config["instructions"]) for found in versions(folder, depth)]


def subjects(folder: Folder, depth: int = 50) -> list[str]:
    """Return the subjects of the commits that made versions, newest first."""
    return [found.change_message for found in versions(folder, depth)]


def moment(minute: int) -> str:
    """Return a time; commits of the same second have no order."""
    return f"2026-01-01T{12 + minute // 60}:{minute % 60:02d}:00Z"


def save(repo: Repository, minute: int, instructions: Any, agent_id: str = "answers") -> str:
    """Commit a text at a separate minute, which is the subject as well; return the version's id."""
    repo.put({"instructions": instructions}, agent_id)
    return repo.commit(f"minute {minute}", at=moment(minute))


def merge(repo: Repository, minute: int, *arguments: str) -> None:
    """Merge a branch with a merge commit, even if Git would fast-forward."""
    when = {"GIT_AUTHOR_DATE": moment(minute), "GIT_COMMITTER_DATE": moment(minute)}
    repo.git("merge", "--quiet", "--no-ff", "--message", f"minute {minute}", *arguments, **when)


def raw_commit(repo: Repository, author: bytes, message: bytes = b"Subject", header: bytes = b"") -> str:
    """Commit the index with exactly these bytes, which Git itself would refuse to write."""
    tree, parent = repo.git("write-tree").encode(), repo.git("rev-parse", "HEAD").encode()
    raw = repo.top / ".git/raw"
    raw.write_bytes(
        b"tree %s\nparent %s\nauthor %s\ncommitter Carl <c@example.com> 1767268800 +0000\n%s\n%s"
        % (tree, parent, author, header, message)
    )
    commit = repo.git("hash-object", "-t", "commit", "-w", "--literally", str(raw))
    repo.git("update-ref", "HEAD", commit)
    return commit


def put_first_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Run a script before every git command; unless it exits, Git itself runs after it."""
    folder.mkdir()
    program, path = folder / "git", os.environ["PATH"]
    program.write_text(f'#!/bin/sh\n{script}\nPATH={shlex.quote(path)} exec git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")
