"""The versions that Git has of an override file: which commits count, and what is read once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.git_histories import (
    ANSWERS,
    LONG,
    merge,
    moment,
    put_first_on_path,
    save,
    seen,
    subjects,
    versions,
)
from tests.support.override_files import Repository, define
from versioning.sources import files, histories
from versioning.sources.overrides import OverrideSource

# Which commits count


def test_every_commit_of_the_file_is_a_version_with_its_message_and_author(repo: Repository) -> None:
    first, second = save(repo, 1, "one"), save(repo, 2, "two")
    (repo.top / "README").write_text("something else")
    repo.commit("Elsewhere", at=moment(3))
    newest, oldest = versions(repo)
    assert (newest.version_id, oldest.version_id) == (second, first)
    assert (newest.number, oldest.number) == (2, 1)
    assert newest.config == {"instructions": "two"}
    assert (newest.change_message, newest.author_name) == ("minute 2", "Ann Author")
    assert (newest.source, newest.read_only, newest.commit) == ("git", True, second.removeprefix("git-"))
    assert (newest.changed_fields, oldest.changed_fields) == (["instructions"], ["instructions"])


def test_only_the_newest_commits_are_read_and_numbered_from_one(
    repo: Repository, settings: Any, admin: Api
) -> None:
    for minute in range(5):
        save(repo, minute, f"text {minute}")
    assert seen(repo) == [(position, f"text {position - 1}") for position in range(5, 0, -1)]
    assert seen(repo, depth=3) == [(3, "text 4"), (2, "text 3"), (1, "text 2")]
    settings.EDITOR_GIT_HISTORY_DEPTH = 2
    define(settings, repo.root)
    listed = AGENTS.versions(admin, "answers")
    found = [(one["versionNumber"], one["instructions"]) for one in listed]
    assert found == [(2, "text 4"), (1, "text 3")]


def test_the_depth_counts_commits_before_any_is_skipped(repo: Repository) -> None:
    for minute, text in enumerate(["one", "two", "two", "two"]):
        repo.put({"instructions": text} if minute != 2 else b'{ "instructions" : "two" }\n')
        repo.commit(f"minute {minute}", at=moment(minute))
    repo.put(b"{}  ")
    repo.commit("Nothing", at=moment(5))
    repo.put(b"{broken")
    repo.commit("Broken", at=moment(6))
    assert [found.number for found in versions(repo)] == [5, 2, 1]
    assert [found.number for found in versions(repo, depth=3)] == [2, 1]
    assert versions(repo, depth=1) == ()


def test_the_oldest_of_consecutive_equal_commits_is_the_version(repo: Repository) -> None:
    save(repo, 1, "one")
    kept = save(repo, 2, "two")
    repo.put(b'{\n\n"instructions":"\\u0074wo"}')
    repo.commit("Formatted anew", at=moment(3))
    save(repo, 4, "two")
    save(repo, 5, "one")  # equal to an earlier one, but not to the one before
    assert seen(repo) == [(5, "one"), (2, "two"), (1, "one")]
    assert versions(repo)[1].version_id == kept


def test_a_commit_without_a_valid_override_is_skipped(repo: Repository) -> None:
    save(repo, 1, "one")
    for content in (b"", b"[]", b"\xff", b'{"instructions": ""}', b'{"a": 1, "a": 2}', b'{"other": 1}'):
        repo.put(content)
        repo.commit("Broken", at=moment(2))
    save(repo, 3, "one")
    save(repo, 4, "two")
    # It does not end a row of equal ones either.
    assert seen(repo) == [(9, "two"), (1, "one")]


def test_a_too_large_commit_is_skipped_and_not_treated_as_a_removal(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "MAX_BYTES", 1000)
    save(repo, 1, "one")
    save(repo, 2, "x" * 1000)
    save(repo, 3, "one")
    assert seen(repo) == [(1, "one")]


def test_a_file_restored_after_a_removal_is_a_new_version(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    repo.commit("Removed", at=moment(2))
    back = save(repo, 3, "one")
    newest, oldest = versions(repo)
    assert (newest.number, oldest.number) == (3, 1)
    assert newest.version_id == back
    assert newest.changed_fields == ["instructions"]


def test_a_deleted_file_has_its_history(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    assert seen(repo) == [(1, "one")]
    repo.commit("Removed", at=moment(2))
    assert seen(repo) == [(1, "one")]
    (repo.root / "agents").rmdir()
    assert seen(repo) == [(1, "one")]


def test_a_commit_that_replaces_the_file_by_another_object_counts_as_a_removal(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    repo.path().symlink_to("elsewhere")
    repo.commit("A link", at=moment(2))
    repo.path().unlink()
    save(repo, 3, "one")
    assert seen(repo) == [(3, "one"), (1, "one")]


# Renames and copies


@pytest.mark.parametrize("old", ["service/editor/agents/before.json", 'odd\t"name"\n.json'])
def test_a_rename_is_followed(repo: Repository, old: str) -> None:
    path = repo.top / old
    path.parent.mkdir(parents=True, exist_ok=True)
    for minute in (1, 2):
        path.write_text(f'{{"instructions": "{LONG}{minute}"}}')
        repo.commit(f"minute {minute}", at=moment(minute))
    repo.path().parent.mkdir(parents=True, exist_ok=True)
    path.rename(repo.path())
    repo.commit("Renamed", at=moment(3))
    assert seen(repo) == [(2, f"{LONG}2"), (1, f"{LONG}1")]
    assert len(versions(repo, depth=2)) == 1


def test_a_chain_of_renames_is_followed(repo: Repository) -> None:
    save(repo, 0, f"{LONG}0", "one")
    for minute, (before, after) in enumerate(pairwise(["one", "two", "answers"]), start=1):
        repo.path(before).rename(repo.path(after))
        save(repo, minute, f"{LONG}{minute}", after)
    assert seen(repo) == [(3, f"{LONG}2"), (2, f"{LONG}1"), (1, f"{LONG}0")]


def test_a_copy_of_another_file_does_not_inherit_its_history(repo: Repository) -> None:
    save(repo, 1, LONG, "team/lead")
    save(repo, 2, f"{LONG} more", "team/lead")
    save(repo, 3, f"{LONG} more")
    assert subjects(repo) == ["minute 3"]


def test_a_restored_file_has_its_own_history_even_if_another_file_is_similar(repo: Repository) -> None:
    save(repo, 1, LONG)
    save(repo, 2, "lead", "team/lead")
    repo.path().unlink()
    save(repo, 3, LONG, "team/lead")
    save(repo, 4, LONG)
    assert subjects(repo) == ["minute 4", "minute 1"]


def test_a_rename_is_followed_even_if_another_file_is_more_similar(repo: Repository) -> None:
    save(repo, 1, LONG, "before")
    save(repo, 2, f"{LONG} more", "team/lead")
    repo.path("before").rename(repo.path())
    save(repo, 3, f"{LONG} more")
    assert subjects(repo) == ["minute 3", "minute 1"]


# Merges


@pytest.fixture
def forked(repo: Repository) -> Repository:
    """A repository with a commit on `main` and another on `feature`, which is checked out."""
    save(repo, 1, "one")
    repo.git("checkout", "--quiet", "-b", "feature")
    save(repo, 2, "feature")
    return repo


def test_a_clean_merge_that_changed_the_file_counts(forked: Repository) -> None:
    forked.git("checkout", "--quiet", "main")
    (forked.top / "README").write_text("something else")
    forked.commit("Elsewhere", at=moment(3))
    merge(forked, 4, "feature")
    save(forked, 5, "last")
    # The merge is a separate commit, and equal to the feature's.
    assert seen(forked) == [(4, "last"), (2, "feature"), (1, "one")]


def test_a_merge_that_did_not_change_the_file_does_not_count(forked: Repository) -> None:
    forked.git("checkout", "--quiet", "main")
    save(forked, 3, "main")
    merge(forked, 4, "--strategy", "ours", "feature")
    save(forked, 5, "last")
    assert [(found.number, found.change_message) for found in versions(forked)] == [
        (4, "minute 5"),
        (3, "minute 3"),
        (2, "minute 2"),
        (1, "minute 1"),
    ]


def test_a_merge_that_took_the_other_side_is_a_version(forked: Repository) -> None:
    forked.git("checkout", "--quiet", "main")
    save(forked, 3, "main")
    merge(forked, 4, "--strategy-option", "theirs", "feature")
    assert forked.config() == {"instructions": "feature"}
    assert seen(forked) == [(4, "feature"), (3, "main"), (2, "feature"), (1, "one")]


def test_a_file_added_by_a_merge_has_the_history_of_its_branch(repo: Repository) -> None:
    (repo.top / "README").write_text("first")
    repo.commit("First", at=moment(0))
    repo.git("checkout", "--quiet", "-b", "feature")
    save(repo, 1, LONG)
    save(repo, 2, f"{LONG} more")
    repo.git("checkout", "--quiet", "main")
    save(repo, 3, f"{LONG} more", "team/lead")
    merge(repo, 4, "feature")
    assert seen(repo) == [(2, f"{LONG} more"), (1, LONG)]


# The cache of histories


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Record every git command, and return those since the last call."""
    log = tmp_path / "commands"
    log.touch()
    put_first_on_path(
        monkeypatch,
        tmp_path / "programs",
        f'for part; do case "$part" in log|cat-file|rev-parse) echo "$part" >> {log};; esac; done',
    )

    def ran() -> list[str]:
        lines = log.read_text().split()
        log.write_text("")
        return lines

    return ran


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as made long ago."""
    monkeypatch.setattr(files, "SETTLED_AFTER", -1)


@pytest.mark.usefixtures("settled")
def test_a_history_is_read_once_per_commit(repo: Repository, commands: Callable[[], list[str]]) -> None:
    for minute in range(3):
        save(repo, minute, f"text {minute}")
    source = OverrideSource(repo.root, 50)
    commands()
    first = source.versions(ANSWERS)
    assert sorted(commands()) == ["cat-file", "log", "rev-parse"]
    assert source.versions(ANSWERS) == first
    repo.put({"instructions": "not committed"})
    assert source.versions(ANSWERS) == first
    assert commands() == []
    repo.commit("Another", at=moment(30))
    commands()
    assert len(source.versions(ANSWERS)) == 4
    assert sorted(commands()) == ["cat-file", "log"]


def test_reading_a_history_is_retried_after_a_failure(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    save(repo, 1, "one")
    source = OverrideSource(repo.root, 50)
    with monkeypatch.context() as broken:
        put_first_on_path(broken, tmp_path / "programs", 'case "$*" in *" log "*) exit 1;; esac')
        with caplog.at_level(logging.WARNING, "versioning"):
            assert source.versions(ANSWERS) == ()
    assert "no history of answers.json" in caplog.text
    assert len(source.versions(ANSWERS)) == 1
