"""The history of an override file in repositories of every shape, and with unusual commits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.git_histories import (
    ANSWERS,
    LONG,
    moment,
    raw_commit,
    save,
    seen,
    subjects,
    versions,
)
from tests.support.override_files import Folder, Repository, define, repository
from tests.support.served import served
from versioning.sources.overrides import OverrideSource

NOBODY = 65534


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
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    save(repo, 9, "another")
    assert [found.config["instructions"] for found in source.versions(ANSWERS)][:2] == ["another", "text 1"]


def test_a_submodule_has_its_own_history(repo: Repository, tmp_path: Path) -> None:
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


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can give files to someone else.")
def test_the_repository_of_another_user_has_its_history(repo: Repository, tmp_path: Path) -> None:
    save(repo, 1, "one")
    for path in [repo.top, *repo.top.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(AssertionError, match="dubious ownership"):
        repo.git("log")
    (tmp_path / "link").symlink_to(repo.root)
    assert seen(repo) == seen(Folder(tmp_path / "link")) == [(1, "one")]


def without_a_commit(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a repository as `git init` makes it."""


def without_a_repository(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the `.git` directory."""
    save(repo, 1, "one")
    (repo.top / ".git").rename(repo.top / "git")


def without_the_program(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for programs where there are none."""
    save(repo, 1, "one")
    monkeypatch.setenv("PATH", str(repo.root))


def with_a_repository_that_git_refuses(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for an unknown form of repository."""
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


def test_a_parent_folder_that_only_looks_like_a_repository_is_ignored(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    made = repository(tmp_path / "made")
    save(made, 1, "one")
    made.git("clone", "--quiet", "--bare", str(made.top), str(bare))
    folder = Folder(bare / "service/editor")
    folder.put({"instructions": "one"})
    Repository(root=folder.root, top=folder.root).git("log")  # it does look like one
    assert versions(folder) == ()


def test_a_deleted_folder_has_the_history_of_the_repository_above(repo: Repository) -> None:
    save(repo, 1, "one")
    repo.git("rm", "--quiet", "-r", "service")
    assert not (repo.top / "service").exists()
    assert seen(repo) == [(1, "one")]


# Strange commits


ANN = b"Ann Author <ann@example.com> 1767268800 +0000"
EPOCH, END = "1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z"
MINUTE, NOON = "1970-01-01T00:01:00.000Z", "2026-01-01T12:00:00.000Z"
STRANGE = {
    "no name": (b" <ann@example.com> 60 +0000", b"S", ("", "S", MINUTE)),
    "no date": (b"Ann <ann@example.com>", b"S", ("Ann", "S", EPOCH)),
    "no author at all": (b"", b"S", ("", "S", EPOCH)),
    "a date before time": (b"Ann <a> -86400 +0000", b"S", ("Ann", "S", EPOCH)),
    "a date that no number holds": (b"Ann <a> 18446744073709551617 +0000", b"S", ("Ann", "S", END)),
    "a zone that is none": (b"Ann <a> 60 +9999", b"S", ("Ann", "S", MINUTE)),
    "bytes that are no text": (b"\xc3 <a> 60 +0000", b"\xff S", ("\ufffd", "\ufffd S", MINUTE)),
    "no subject": (ANN, b"", ("Ann Author", "", NOON)),
    "a subject of two lines and a body": (ANN, b"a\nb\n\nc", ("Ann Author", "a\nb\n\nc", NOON)),
    "a NUL": (ANN, b"a\0b", ("Ann Author", "a", NOON)),
    "a log's own words": (ANN, b":100644 100644 a b M", ("Ann Author", ":100644 100644 a b M", NOON)),
}


def test_unusual_commits_are_versions_like_any_other(repo: Repository, admin: Api, settings: Any) -> None:
    save(repo, 0, "first")
    expected = {}
    for number, (author, message, said) in enumerate(STRANGE.values()):
        repo.put({"instructions": f"text {number}"})
        repo.git("add", "--all")
        expected[raw_commit(repo, author, message)] = (f"text {number}", number + 2, *said)
    define(settings, repo.root)
    query = {"orderBy[field]": "versionNumber", "perPage": 100}
    answer = admin.get(AGENTS.url("answers", "versions"), **query)
    assert answer.status == 200
    members = ("instructions", "versionNumber", "authorName", "changeMessage", "createdAt")
    found = {one["commit"]: tuple(one[name] for name in members) for one in answer.body["versions"]}
    assert {commit: found.get(commit) for commit in expected} == expected
    newest = list(expected)[-1]
    assert served(admin, "answers")["activeVersionId"] == f"git-{newest}"
    assert admin.post(AGENTS.url("answers", "unpublish")).status == 200
    for commit in expected:
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


def test_the_configuration_of_a_repository_changes_nothing_about_its_history(repo: Repository) -> None:
    (repo.top / "before.json").write_text(f'{{"instructions": "{LONG}"}}')
    repo.commit("Größer", at=moment(0))
    repo.path().parent.mkdir()
    (repo.top / "before.json").rename(repo.path())
    save(repo, 1, f"{LONG} more")
    save(repo, 2, "two")
    for configured in CONFIGURED:
        name, _, value = configured.partition("=")
        repo.git("config", name, value)
        assert subjects(repo) == ["minute 2", "minute 1", "Größer"], configured
        repo.git("config", "--unset", name)
