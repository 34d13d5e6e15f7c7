"""The commit at HEAD is read without a process, and equals that of Git in repositories of every shape."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from tests.support.git_histories import moment, put_first_on_path, save
from tests.support.override_files import Repository, repository
from versioning.sources import files, git, head
from versioning.sources.head import Head


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as made long ago, and search for the repository each time."""
    monkeypatch.setattr(files, "SETTLED_AFTER", -1)
    monkeypatch.setattr(head, "LOOK_AROUND_AFTER", 0)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with two commits on `main`."""
    made = repository(tmp_path / "top")
    save(made, 1, "one")
    save(made, 2, "two")
    return made


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the `git` command ran since the last call; the tests' own commands count too."""
    log = tmp_path / "asked"
    log.touch()
    put_first_on_path(monkeypatch, tmp_path / "programs", f"echo x >> {log}")

    def count() -> int:
        lines = log.read_text().split()
        log.write_text("")
        return len(lines)

    return count


def commit_of(place: Head) -> str | None:
    read = place.read()
    return read and read.split(" ")[0]


def said_by_git(repo: Repository) -> str | None:
    done = repo.run("rev-parse", "--verify", "--quiet", "HEAD")
    return done.stdout.strip() if done.returncode == 0 else None


def amended(repo: Repository) -> None:
    repo.git(
        "commit", "--quiet", "--amend", "--allow-empty", "--message", "Again", GIT_COMMITTER_DATE=moment(9)
    )


def detached(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "--detach", "HEAD~1")


def packed(repo: Repository) -> None:
    repo.git("pack-refs", "--all")
    assert not (repo.top / ".git/refs/heads/main").exists()


def packed_and_moved(repo: Repository) -> None:
    repo.git("pack-refs", "--all")
    repo.git("reset", "--quiet", "--hard", "HEAD~1")


def on_another_branch(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "-b", "größer/als.main@2")
    save(repo, 3, "three")


def on_a_branch_without_a_commit(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "--orphan", "new")


def on_a_symbolic_branch(repo: Repository) -> None:
    repo.git("branch", "target", "HEAD~1")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/target")
    (repo.top / ".git/HEAD").write_text("ref: refs/heads/alias\n")


def on_no_branch(repo: Repository) -> None:
    repo.git("update-ref", "refs/tags/odd", "HEAD~1")
    (repo.top / ".git/HEAD").write_text("ref: refs/tags/odd\n")


def with_head_as_a_link(repo: Repository) -> None:
    repo.git("branch", "other", "HEAD~1")
    (repo.top / ".git/HEAD").unlink()
    (repo.top / ".git/HEAD").symlink_to("refs/heads/other")


def with_a_link_as_branch(repo: Repository) -> None:
    repo.git("branch", "other", "HEAD~1")
    branch = repo.top / ".git/refs/heads/main"
    branch.unlink()
    branch.symlink_to("other")


def with_a_broken_head(repo: Repository) -> None:
    (repo.top / ".git/HEAD").write_text("nonsense\n")


def with_a_branch_out_of_the_repository(repo: Repository) -> None:
    (repo.top / "outside").write_text(f"{'a' * 40}\n")
    (repo.top / ".git/HEAD").write_text("ref: refs/heads/../../../outside\n")


def with_its_folder_moved(repo: Repository) -> None:
    (repo.top / ".git").rename(repo.top / "elsewhere")
    (repo.top / ".git").write_text(f"gitdir: {repo.top / 'elsewhere'}\n")
    save(repo, 3, "three")


def refused(repo: Repository) -> None:
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.unheardOf", "true")


def gone(repo: Repository) -> None:
    (repo.top / ".git").rename(repo.top / "elsewhere")


def without_its_objects(repo: Repository) -> None:
    (repo.top / ".git/objects").rename(repo.top / "objects")


def within_another_one(repo: Repository) -> None:
    """Make a repository between the folder and the one that it was in."""
    inner = Repository(root=repo.root, top=repo.top / "service")
    inner.git("init", "--quiet", "--initial-branch", "inner")
    save(inner, 5, "inner")


HAPPENS = [
    amended, detached, packed, packed_and_moved, on_another_branch, on_a_branch_without_a_commit,
    on_a_symbolic_branch, on_no_branch, with_head_as_a_link, with_a_link_as_branch, with_a_broken_head,
    with_a_branch_out_of_the_repository, with_its_folder_moved, refused, gone, without_its_objects,
]  # fmt: skip


@pytest.mark.parametrize("happened", HAPPENS, ids=lambda happened: happened.__name__)
def test_the_commit_at_head_equals_that_of_git_after_every_change_of_the_repository(
    repo: Repository, happened: Callable[[Repository], None]
) -> None:
    place = Head(repo.root)
    assert commit_of(place) == said_by_git(repo) is not None
    happened(repo)
    for _ in range(2):
        assert commit_of(place) == said_by_git(repo) == commit_of(Head(repo.root))


def test_the_nearest_repository_is_used_even_if_created_later(repo: Repository) -> None:
    place = Head(repo.root)
    outer = commit_of(place)
    within_another_one(repo)
    inner = Repository(root=repo.root, top=repo.top / "service")
    assert commit_of(place) == said_by_git(inner) != outer


def test_a_separate_working_tree_has_its_own_head(repo: Repository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "tree"), "HEAD~1")
    tree = Repository(root=tmp_path / "tree/service/editor", top=tmp_path / "tree")
    place, main = Head(tree.root), Head(repo.root)
    assert commit_of(place) == said_by_git(tree) != commit_of(main)
    save(tree, 7, "in the tree")
    assert commit_of(place) == said_by_git(tree)
    assert commit_of(main) == said_by_git(repo)


def test_git_is_run_once_to_locate_the_repository(repo: Repository, asked: Callable[[], int]) -> None:
    place = Head(repo.root)
    first = place.read()
    assert asked() == 1
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    repo.git("pack-refs", "--all")
    asked()
    assert place.read() != first
    assert (asked(), Head(repo.root.parent).read(), asked()) == (0, place.read(), 1)


@pytest.mark.parametrize("happened", [detached, packed_and_moved, gone])
def test_changes_of_head_are_seen_without_locating_the_repository_again(
    repo: Repository, happened: Callable[[Repository], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "LOOK_AROUND_AFTER", 1000)
    place = Head(repo.root)
    assert commit_of(place) == said_by_git(repo) is not None
    happened(repo)
    assert commit_of(place) == said_by_git(repo)


def test_without_a_repository_git_is_not_run(tmp_path: Path, asked: Callable[[], int]) -> None:
    assert (Head(tmp_path).read(), asked()) == (None, 0)


def test_a_very_recent_change_is_not_cached(
    repo: Repository, asked: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SETTLED_AFTER", 60)
    place = Head(repo.root)
    assert place.read() == place.read()
    assert asked() == 2


@pytest.mark.parametrize("name", ["HEAD", "packed-refs"])
def test_reading_head_does_not_wait_for_a_pipe(
    repo: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git itself does wait for it, and is ended."""
    monkeypatch.setattr(git, "TIME_LIMIT", 0.5)
    place = Head(repo.root)
    place.read()
    repo.git("pack-refs", "--all")
    path = repo.top / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    over = Timer(20, os.kill, (os.getpid(), 14))
    over.start()
    try:
        with pytest.raises(git.GitTooSlow):
            place.read()
    finally:
        over.cancel()
