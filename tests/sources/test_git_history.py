"""The versions that Git has of an override file: which commits count, in real repositories of every shape."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.override_files import Folder, Repository, define, repository
from tests.support.people import key_of, person
from tests.support.served import served
from versioning.domain.access import Role
from versioning.runtime import Agent
from versioning.sources import commits, identity
from versioning.sources.overrides import GitVersion, OverrideSource

ANSWERS = Agent(id="answers", name="Answers", instructions="code")
LONG = "Be brief, be kind, and say where you know it from. " * 20
"""Git takes a changed file for a renamed one when most of it is the same."""
NOBODY = 65534


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """An empty repository with the folder of the overrides."""
    return repository(tmp_path / "top")


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


def versions(folder: Folder, depth: int = 50) -> tuple[GitVersion, ...]:
    """Read the history anew."""
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
    """Commit a text at a minute of its own, which is the subject as well; return the version's id."""
    repo.put({"instructions": instructions}, agent_id)
    return repo.commit(f"minute {minute}", at=moment(minute))


def merge(repo: Repository, minute: int, *arguments: str) -> None:
    """Merge a branch and make a commit of it, whatever Git would rather do."""
    when = {"GIT_AUTHOR_DATE": moment(minute), "GIT_COMMITTER_DATE": moment(minute)}
    repo.git("merge", "--quiet", "--no-ff", "--message", f"minute {minute}", *arguments, **when)


# Which commits count


def test_every_commit_of_the_file_is_a_version_with_the_words_of_its_author(repo: Repository) -> None:
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


def test_only_the_newest_commits_are_looked_at_and_the_oldest_of_them_is_number_one(
    repo: Repository,
) -> None:
    for minute in range(55):
        save(repo, minute, f"text {minute}")
    assert seen(repo) == [(position, f"text {position + 4}") for position in range(50, 0, -1)]
    assert seen(repo, depth=3) == [(3, "text 54"), (2, "text 53"), (1, "text 52")]


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


def test_the_setting_says_how_deep(repo: Repository, settings: Any, admin: Api) -> None:
    for minute in range(4):
        save(repo, minute, f"text {minute}")
    settings.EDITOR_GIT_HISTORY_DEPTH = 2
    define(settings, repo.root)
    listed = AGENTS.versions(admin, "answers")
    assert [(found["versionNumber"], found["instructions"]) for found in listed] == [
        (2, "text 3"),
        (1, "text 2"),
    ]


def test_of_equal_commits_the_oldest_stays(repo: Repository) -> None:
    save(repo, 1, "one")
    kept = save(repo, 2, "two")
    repo.put(b'{\n\n"instructions":"\\u0074wo"}')
    repo.commit("Formatted anew", at=moment(3))
    save(repo, 4, "two")
    save(repo, 5, "three")
    assert seen(repo) == [(5, "three"), (2, "two"), (1, "one")]
    assert versions(repo)[1].version_id == kept


def test_what_is_equal_to_an_earlier_but_not_to_the_one_before_is_a_version(repo: Repository) -> None:
    for minute, text in enumerate(["one", "two", "one"]):
        save(repo, minute, text)
    assert seen(repo) == [(3, "one"), (2, "two"), (1, "one")]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff",
        b'{"instructions": ""}',
        b'{"a": 1, "a": 2}',
        b'{"other": 1}',
        b"NaN",
    ],
    ids=repr,
)
def test_a_commit_that_holds_no_override_is_skipped(repo: Repository, broken: bytes) -> None:
    save(repo, 1, "one")
    repo.put(broken)
    repo.commit("Broken", at=moment(2))
    save(repo, 3, "one")
    save(repo, 4, "two")
    # It does not end a row of equal ones either.
    assert seen(repo) == [(4, "two"), (1, "one")]


def test_a_commit_that_is_too_large_to_be_read_is_skipped_and_no_removal(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "MAX_BYTES", 1000)
    save(repo, 1, "one")
    save(repo, 2, "x" * 1000)
    save(repo, 3, "one")
    assert seen(repo) == [(1, "one")]


def test_a_removal_ends_a_row_of_equal_ones_and_what_comes_back_is_a_version(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    repo.commit("Removed", at=moment(2))
    back = save(repo, 3, "one")
    newest, oldest = versions(repo)
    assert (newest.number, oldest.number) == (3, 1)
    assert newest.version_id == back
    assert newest.changed_fields == ["instructions"]


def test_a_file_that_is_gone_has_its_history(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    assert seen(repo) == [(1, "one")]
    repo.commit("Removed", at=moment(2))
    assert seen(repo) == [(1, "one")]
    (repo.root / "agents").rmdir()
    assert seen(repo) == [(1, "one")]


def test_a_commit_in_which_something_else_has_the_name_ends_a_row_like_a_removal(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.path().unlink()
    repo.path().symlink_to("elsewhere")
    repo.commit("A link", at=moment(2))
    repo.path().unlink()
    save(repo, 3, "one")
    assert seen(repo) == [(3, "one"), (1, "one")]


# Renames and copies


@pytest.mark.parametrize("old", ["service/editor/agents/before.json", "before.json", 'odd\t"name"\n.json'])
@pytest.mark.parametrize("edited", [False, True], ids=["as-it-was", "edited"])
def test_a_rename_is_followed(repo: Repository, old: str, *, edited: bool) -> None:
    path = repo.top / old
    path.parent.mkdir(parents=True, exist_ok=True)
    for minute in (1, 2):
        path.write_text(f'{{"instructions": "{LONG}{minute}"}}')
        repo.commit(f"minute {minute}", at=moment(minute))
    repo.path().parent.mkdir(exist_ok=True)
    path.rename(repo.path())
    if edited:
        repo.put({"instructions": f"{LONG}3"})
    repo.commit("Renamed", at=moment(3))
    expected = [(2, f"{LONG}2"), (1, f"{LONG}1")]
    assert seen(repo) == ([(3, f"{LONG}3"), *expected] if edited else expected)
    assert len(versions(repo, depth=2)) == (2 if edited else 1)


def test_a_chain_of_renames_is_followed(repo: Repository) -> None:
    save(repo, 0, f"{LONG}0", "one")
    for minute, (before, after) in enumerate(pairwise(["one", "two", "answers"]), start=1):
        repo.path(before).rename(repo.path(after))
        save(repo, minute, f"{LONG}{minute}", after)
    assert seen(repo) == [(3, f"{LONG}2"), (2, f"{LONG}1"), (1, f"{LONG}0")]


def test_the_history_of_a_file_that_another_one_resembles_is_its_own(repo: Repository) -> None:
    save(repo, 1, LONG, "team/lead")
    save(repo, 2, f"{LONG} more", "team/lead")
    save(repo, 3, f"{LONG} more")
    assert subjects(repo) == ["minute 3"]


def test_what_comes_back_has_its_own_history_though_another_file_resembles_it(repo: Repository) -> None:
    save(repo, 1, LONG)
    save(repo, 2, "lead", "team/lead")
    repo.path().unlink()
    save(repo, 3, LONG, "team/lead")
    save(repo, 4, LONG)
    assert subjects(repo) == ["minute 4", "minute 1"]


def test_a_rename_is_followed_though_another_file_resembles_the_new_one_more(repo: Repository) -> None:
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
    # The merge is a commit of its own, and equal to the feature's.
    assert seen(forked) == [(4, "last"), (2, "feature"), (1, "one")]


def test_a_merge_that_left_the_file_as_it_was_does_not_count(forked: Repository) -> None:
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


def test_a_conflict_that_was_resolved_by_hand_is_a_version(forked: Repository) -> None:
    forked.git("checkout", "--quiet", "main")
    save(forked, 3, "main")
    forked.git("merge", "--quiet", "--strategy", "ours", "--no-commit", "feature")
    save(forked, 4, "by hand")
    assert len(forked.git("rev-list", "--parents", "--max-count=1", "HEAD").split()) == 3
    assert seen(forked) == [(4, "by hand"), (3, "main"), (2, "feature"), (1, "one")]


def test_a_merge_that_took_theirs_is_a_version(forked: Repository) -> None:
    forked.git("checkout", "--quiet", "main")
    save(forked, 3, "main")
    merge(forked, 4, "--strategy-option", "theirs", "feature")
    assert forked.config() == {"instructions": "feature"}
    assert seen(forked) == [(4, "feature"), (3, "main"), (2, "feature"), (1, "one")]


def test_a_file_that_came_with_a_merge_has_the_history_of_its_branch(repo: Repository) -> None:
    (repo.top / "README").write_text("first")
    repo.commit("First", at=moment(0))
    repo.git("checkout", "--quiet", "-b", "feature")
    save(repo, 1, LONG)
    save(repo, 2, f"{LONG} more")
    repo.git("checkout", "--quiet", "main")
    save(repo, 3, f"{LONG} more", "team/lead")
    merge(repo, 4, "feature")
    assert seen(repo) == [(2, f"{LONG} more"), (1, LONG)]


# Repositories of every shape


def test_a_worktree_has_the_history_of_its_own_head(repo: Repository, tmp_path: Path) -> None:
    save(repo, 1, "one")
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    other = Repository(top=tmp_path / "other", root=tmp_path / "other/service/editor")
    save(other, 2, "other")
    save(repo, 3, "main")
    assert seen(other) == [(2, "other"), (1, "one")]
    assert seen(repo) == [(2, "main"), (1, "one")]


def test_a_shallow_clone_has_a_shorter_history_until_it_is_deepened(repo: Repository, tmp_path: Path) -> None:
    for minute in range(5):
        save(repo, minute, f"text {minute}")
    repo.git("clone", "--quiet", "--depth", "2", f"file://{repo.top}", str(tmp_path / "clone"))
    clone = Repository(top=tmp_path / "clone", root=tmp_path / "clone/service/editor")
    source = OverrideSource(clone.root, 50)
    assert [found.number for found in source.versions(ANSWERS)] == [2, 1]
    clone.git("fetch", "--quiet", "--deepen", "1")
    assert [found.number for found in source.versions(ANSWERS)] == [3, 2, 1]
    clone.git("fetch", "--quiet", "--unshallow")
    assert [found.number for found in source.versions(ANSWERS)] == [5, 4, 3, 2, 1]


def test_a_detached_head_has_the_history_that_leads_to_it(repo: Repository) -> None:
    for minute in range(3):
        save(repo, minute, f"text {minute}")
    source = OverrideSource(repo.root, 50)
    assert len(source.versions(ANSWERS)) == 3
    repo.git("checkout", "--quiet", "--detach", "HEAD~1")
    assert len(source.versions(ANSWERS)) == 2
    repo.git("checkout", "--quiet", "main")
    assert len(source.versions(ANSWERS)) == 3


def test_a_branch_that_was_set_back_and_grown_anew_is_seen(repo: Repository) -> None:
    save(repo, 1, "one")
    save(repo, 2, "two")
    source = OverrideSource(repo.root, 50)
    assert len(source.versions(ANSWERS)) == 2
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    save(repo, 3, "another")
    assert [found.config["instructions"] for found in source.versions(ANSWERS)] == ["another", "one"]


def test_a_submodule_has_a_history_of_its_own(repo: Repository, tmp_path: Path) -> None:
    save(repo, 1, "one")
    outer = repository(tmp_path / "outer", "other")
    outer.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.top), "service"
    )  # fmt: skip
    outer.commit("With a submodule", at=moment(2))
    inner = Repository(top=outer.top / "service", root=outer.top / "service/service/editor")
    assert seen(inner) == [(1, "one")]
    save(inner, 3, "two")
    assert seen(inner) == [(2, "two"), (1, "one")]


def give_away(tree: Path) -> None:
    """Give a whole tree to another user."""
    for path in [tree, *tree.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can give files to somebody else.")
def test_the_repository_of_another_user_has_its_history(repo: Repository) -> None:
    save(repo, 1, "one")
    give_away(repo.top)
    with pytest.raises(AssertionError, match="dubious ownership"):
        repo.git("log")
    assert seen(repo) == [(1, "one")]


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can give files to somebody else.")
def test_the_repository_of_another_user_has_its_history_by_way_of_a_link_too(
    repo: Repository, tmp_path: Path
) -> None:
    save(repo, 1, "one")
    give_away(repo.top)
    (tmp_path / "link").symlink_to(repo.root)
    assert seen(Folder(tmp_path / "link")) == [(1, "one")]


def without_a_commit(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a repository as `git init` makes it."""


def without_a_repository(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what makes the repository away."""
    save(repo, 1, "one")
    (repo.top / ".git").rename(repo.top / "git")


def without_the_program(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for programs where there are none."""
    save(repo, 1, "one")
    monkeypatch.setenv("PATH", str(repo.root))


def with_a_repository_that_git_refuses(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for a form of repository that nobody knows."""
    save(repo, 1, "one")
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.unheardOf", "true")


def with_a_broken_repository(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose all objects."""
    save(repo, 1, "one")
    for path in (repo.top / ".git/objects").rglob("*"):
        if path.is_file():
            path.unlink()


def outside_of_the_file(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit everything but the file."""
    save(repo, 1, "lead", "team/lead")
    repo.put({"instructions": "one"})


NOTHING = [
    without_a_commit,
    without_a_repository,
    without_the_program,
    with_a_repository_that_git_refuses,
    with_a_broken_repository,
    outside_of_the_file,
]


@pytest.mark.parametrize("happened", NOTHING, ids=lambda happened: happened.__name__)
def test_without_a_history_there_are_no_versions_and_no_error(
    repo: Repository,
    admin: Api,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    happened: Callable[[Repository, pytest.MonkeyPatch], None],
) -> None:
    happened(repo, monkeypatch)
    repo.put({"instructions": "now"})
    define(settings, repo.root)
    listed = admin.get(AGENTS.url("answers", "versions"))
    assert (listed.status, listed.body["versions"]) == (200, [])
    agent = served(admin, "answers")
    assert agent["instructions"] == "now"
    assert agent["activeVersionId"].startswith("file-")


def test_a_folder_above_that_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    made = repository(tmp_path / "made")
    save(made, 1, "one")
    made.git("clone", "--quiet", "--bare", str(made.top), str(bare))
    folder = Folder(bare / "service/editor")
    folder.put({"instructions": "one"})
    Repository(root=folder.root, top=folder.root).git("log")  # it does look like one
    assert versions(folder) == ()


def test_a_folder_that_is_no_longer_there_has_the_history_of_the_repository_above(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.git("rm", "--quiet", "-r", "service")
    assert not (repo.top / "service").exists()
    assert seen(repo) == [(1, "one")]


# Strange commits


def raw_commit(repo: Repository, author: bytes, message: bytes = b"Subject", header: bytes = b"") -> str:
    """Commit the index with these very bytes, which Git itself would refuse to write."""
    tree, parent = repo.git("write-tree").encode(), repo.git("rev-parse", "HEAD").encode()
    raw = repo.top / ".git/raw"
    raw.write_bytes(
        b"tree %s\nparent %s\nauthor %s\ncommitter Carl <c@example.com> 1767268800 +0000\n%s\n%s"
        % (tree, parent, author, header, message)
    )
    commit = repo.git("hash-object", "-t", "commit", "-w", "--literally", str(raw))
    repo.git("update-ref", "HEAD", commit)
    return commit


ANN = b"Ann Author <ann@example.com> 1767268800 +0000"
EPOCH, END = "1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z"
MINUTE, NOON = "1970-01-01T00:01:00.000Z", "2026-01-01T12:00:00.000Z"
STRANGE = {
    "no name": (b" <ann@example.com> 60 +0000", b"S", ("", "S", MINUTE)),
    "no space": (b"<ann@example.com> 60 +0000", b"S", ("", "S", MINUTE)),
    "no date": (b"Ann <ann@example.com>", b"S", ("Ann", "S", EPOCH)),
    "no author at all": (b"", b"S", ("", "S", EPOCH)),
    "a date before time": (b"Ann <a> -86400 +0000", b"S", ("Ann", "S", EPOCH)),
    "a date after time": (b"Ann <a> 99999999999999 +0000", b"S", ("Ann", "S", END)),
    "a date that no number holds": (b"Ann <a> 18446744073709551617 +0000", b"S", ("Ann", "S", END)),
    "a date of 5000 digits": (b"Ann <a> " + b"9" * 5000 + b" +0000", b"S", ("Ann", "S", END)),
    "a zone that is none": (b"Ann <a> 60 +9999", b"S", ("Ann", "S", MINUTE)),
    "bytes that are no text": (b"\xc3 <a> 60 +0000", b"\xff S", ("\ufffd", "\ufffd S", MINUTE)),
    "no subject": (ANN, b"", ("Ann Author", "", NOON)),
    "nothing but lines": (ANN, b"\n\n\n", ("Ann Author", "", NOON)),
    "a subject of two lines and a body": (ANN, b"a\nb\n\nc", ("Ann Author", "a\nb\n\nc", NOON)),
    "a NUL": (ANN, b"a\0b", ("Ann Author", "a", NOON)),
    "a log's own words": (ANN, b":100644 100644 a b M", ("Ann Author", ":100644 100644 a b M", NOON)),
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_a_strange_commit_is_a_version_like_any_other(
    repo: Repository, admin: Api, settings: Any, strange: tuple[bytes, bytes, tuple[str, str, str]]
) -> None:
    author, message, expected = strange
    save(repo, 1, "one")
    repo.put({"instructions": "two"})
    repo.git("add", "--all")
    commit = raw_commit(repo, author, message)
    define(settings, repo.root)
    answer = admin.get(AGENTS.url("answers", "versions"), **{"orderBy[field]": "versionNumber"})
    assert answer.status == 200
    by_commit = {found["commit"]: found for found in answer.body["versions"]}
    version = by_commit[commit]
    assert len(by_commit) == 2
    assert (version["instructions"], version["versionNumber"]) == ("two", 2)
    assert (version["authorName"], version["changeMessage"], version["createdAt"]) == expected
    assert served(admin, "answers")["activeVersionId"] == f"git-{commit}"
    assert admin.post(AGENTS.url("answers", "unpublish")).status == 200
    assert admin.post(AGENTS.url("answers", "versions", f"git-{commit}", "activate")).status == 200
    assert admin.post(AGENTS.url("answers", "versions", f"git-{commit}", "restore")).status == 201


def test_a_subject_in_another_encoding_is_read_in_that_encoding(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.put({"instructions": "two"})
    repo.git("add", "--all")
    raw_commit(repo, ANN, "Größer".encode("latin-1"), b"encoding ISO-8859-1\n")
    assert subjects(repo) == ["Größer", "minute 1"]


def test_a_version_was_created_when_its_author_wrote_it(repo: Repository, admin: Api, settings: Any) -> None:
    repo.put({"instructions": "one"})
    repo.git("add", "--all")
    repo.git(
        "commit", "--quiet", "--message", "Written long before",
        GIT_AUTHOR_DATE="2020-05-06T07:08:09+02:00", GIT_COMMITTER_DATE=moment(1),
    )  # fmt: skip
    define(settings, repo.root)
    [version] = AGENTS.versions(admin, "answers")
    assert version["createdAt"] == "2020-05-06T05:08:09.000Z"
    assert admin.get(AGENTS.url("answers")).body["createdAt"] == version["createdAt"]


CONFIGURED = [
    "log.showRoot=false",
    "diff.relative=true",
    "diff.renames=false",
    "log.follow=false",
    "log.diffMerges=off",
    "diff.renameLimit=1",
    "log.decorate=full",
    "format.pretty=raw",
    "color.ui=always",
    "i18n.logOutputEncoding=latin1",
    "log.abbrevCommit=true",
]


@pytest.mark.parametrize("configured", CONFIGURED)
def test_the_configuration_of_a_repository_changes_nothing_about_its_history(
    repo: Repository, configured: str
) -> None:
    (repo.top / "before.json").write_text(f'{{"instructions": "{LONG}"}}')
    repo.commit("Größer", at=moment(0))
    repo.path().parent.mkdir()
    (repo.top / "before.json").rename(repo.path())
    save(repo, 1, f"{LONG} more")
    save(repo, 2, "two")
    name, _, value = configured.partition("=")
    repo.git("config", name, value)
    assert subjects(repo) == ["minute 2", "minute 1", "Größer"]


# What is kept


def put_first_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Let a script run first whenever git is asked for; unless it ends, Git itself runs after it."""
    folder.mkdir()
    program, path = folder / "git", os.environ["PATH"]
    program.write_text(f'#!/bin/sh\n{script}\nPATH={shlex.quote(path)} exec git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Write down every git command, and return those that ran since the last look."""
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
    """Let whatever was changed have been changed long ago."""
    monkeypatch.setattr(identity, "SETTLED_AFTER", -1)


@pytest.mark.usefixtures("settled")
def test_a_history_is_read_once_for_a_commit(repo: Repository, commands: Callable[[], list[str]]) -> None:
    for minute in range(20):
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
    assert len(source.versions(ANSWERS)) == 21
    assert sorted(commands()) == ["cat-file", "log"]


@pytest.mark.usefixtures("settled")
def test_every_file_has_a_history_of_its_own(repo: Repository, commands: Callable[[], list[str]]) -> None:
    lead = Agent(id="team/lead", name="Lead", instructions="code")
    save(repo, 1, "one")
    save(repo, 2, "lead", "team/lead")
    source = OverrideSource(repo.root, 50)
    commands()
    assert [found.config["instructions"] for found in source.versions(ANSWERS)] == ["one"]
    assert [found.config["instructions"] for found in source.versions(lead)] == ["lead"]
    commands()
    source.versions(ANSWERS)
    source.versions(lead)
    assert commands() == []


def test_a_history_that_could_not_be_read_once_is_read_the_next_time(
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
