"""A repository in which Git is slow: no request waits twice, and eventually the whole history is read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import current_thread

import pytest

from tests.support.override_files import Repository, long_history, repository
from versioning.runtime import Agent
from versioning.sources import git, histories
from versioning.sources.overrides import OverrideSource

ANSWERS = Agent(id="answers", name="Answers", instructions="code")
COMMITS = 50_000
NEWEST = str(COMMITS - 1)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository of many commits without a commit-graph; only the first and the last are of the file."""
    made = repository(tmp_path_factory.mktemp("long") / "project")
    long_history(made, COMMITS)
    return made


@pytest.fixture(scope="module")
def in_time(repo: Repository) -> float:
    """Half of the seconds that Git takes here for all commits: it finds the newest, and not the first."""
    began = time.monotonic()
    found = histories.history(repo.root / "agents" / "answers.json", 50, limit=60)
    assert len(found.commits) == 2
    return (time.monotonic() - began) / 2


def texts(source: OverrideSource) -> list[str]:
    return [version.config["instructions"] for version in source.versions(ANSWERS)]


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that have read a history from Git."""
    asked: list[str] = []

    def noting(path: Path, depth: int, *, limit: float) -> histories.History:
        asked.append(current_thread().name)
        return read(path, depth, limit=limit)

    read = histories.history
    monkeypatch.setattr(histories, "history", noting)
    return asked


def test_the_commits_found_in_time_are_used_and_the_rest_is_read_in_the_background(
    repo: Repository,
    in_time: float,
    readers: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(git, "TIME_LIMIT", in_time)
    monkeypatch.setattr(git, "PATIENCE", 60 / in_time)
    source = OverrideSource(repo.root, 50)
    with caplog.at_level(logging.WARNING, "versioning"):
        assert texts(source) == [NEWEST]
    assert "git commit-graph write" in caplog.text
    eventually(lambda: texts(source) == [NEWEST, "0"])
    assert readers == [current_thread().name, "versioning.sources"]
    repo.commit("Elsewhere", at="2027-01-01T00:00:00Z")
    assert texts(source) == [NEWEST, "0"], "what is known, while it is read anew"
    eventually(lambda: len(readers) == 3)
    assert readers[2] == "versioning.sources"
