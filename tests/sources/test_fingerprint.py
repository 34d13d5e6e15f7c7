"""The fingerprint of an override: equal ones say that an answer made of it is still right."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.git_histories import ANSWERS, put_first_on_path, save
from tests.support.override_files import Folder, Repository, repository
from versioning.runtime import Agent
from versioning.sources import files
from versioning.sources.overrides import OverrideSource


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as made long ago."""
    monkeypatch.setattr(files, "SETTLED_AFTER", -1)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with a committed override of `answers`."""
    made = repository(tmp_path / "top")
    save(made, 1, "one")
    return made


def read(source: OverrideSource) -> None:
    source.current(ANSWERS)
    source.versions(ANSWERS)


def overwritten(repo: Repository) -> None:
    repo.put({"instructions": "two"})


def overwritten_in_place_with_its_old_times(repo: Repository) -> None:
    """Write the same number of bytes, and restore the old times."""
    before = repo.path().stat()
    repo.put({"instructions": "two"})
    os.utime(repo.path(), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (repo.path().stat().st_size, repo.path().stat().st_mtime_ns) == (
        before.st_size,
        before.st_mtime_ns,
    )


def replaced(repo: Repository) -> None:
    other = repo.root / "other"
    other.write_text(json.dumps({"instructions": "two"}))
    other.replace(repo.path())


def removed(repo: Repository) -> None:
    repo.path().unlink()


def committed(repo: Repository) -> None:
    repo.commit("Elsewhere")


def reset(repo: Repository) -> None:
    repo.git("update-ref", "-d", "HEAD")


@pytest.mark.parametrize(
    "change",
    [overwritten, overwritten_in_place_with_its_old_times, replaced, removed, committed, reset],
    ids=lambda change: change.__name__,
)
def test_every_change_changes_the_fingerprint(repo: Repository, change: Callable[[Repository], None]) -> None:
    source = OverrideSource(repo.root, 50)
    read(source)
    before = source.fingerprint(ANSWERS)
    assert before is not None
    assert source.fingerprint(ANSWERS) == before
    change(repo)
    read(source)
    assert source.fingerprint(ANSWERS) not in {before, None}


def test_an_agent_has_a_fingerprint_without_a_file_and_without_a_repository(tmp_path: Path) -> None:
    source, folder = OverrideSource(tmp_path, 50), Folder(tmp_path)
    without = source.fingerprint(ANSWERS)
    assert without is not None
    folder.put({"instructions": "one"})
    assert source.fingerprint(ANSWERS) not in {without, None}


def test_there_is_no_fingerprint_after_a_failure_of_git(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = OverrideSource(repo.root, 50)
    with monkeypatch.context() as broken:
        put_first_on_path(broken, tmp_path / "programs", 'case "$*" in *" log "*) exit 1;; esac')
        read(source)
        assert source.fingerprint(ANSWERS) is None
    read(source)
    assert source.fingerprint(ANSWERS) is not None


def test_there_is_no_fingerprint_right_after_a_change(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another change within the same tick of the clock could leave the metadata of the file unchanged."""
    source = OverrideSource(repo.root, 50)
    read(source)
    monkeypatch.setattr(files, "SETTLED_AFTER", 60)
    assert source.fingerprint(ANSWERS) is None


def linked_file(repo: Repository) -> None:
    repo.path().rename(repo.root / "agents/elsewhere")
    repo.path().symlink_to("elsewhere")


def linked_folder(repo: Repository) -> None:
    (repo.root / "agents").rename(repo.root / "elsewhere")
    (repo.root / "agents").symlink_to("elsewhere")


def pipe(repo: Repository) -> None:
    repo.path().unlink()
    os.mkfifo(repo.path())


@pytest.mark.parametrize("shape", [linked_file, linked_folder, pipe], ids=lambda shape: shape.__name__)
def test_only_a_plain_file_has_a_fingerprint(repo: Repository, shape: Callable[[Repository], None]) -> None:
    shape(repo)
    source = OverrideSource(repo.root, 50)
    read(source)
    assert source.fingerprint(ANSWERS) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="Who runs the tests is root, who may read every file.")
def test_an_unreadable_file_changes_the_fingerprint(repo: Repository) -> None:
    source = OverrideSource(repo.root, 50)
    read(source)
    repo.path().chmod(0)
    read(source)
    before = source.fingerprint(ANSWERS)
    read(source)
    assert source.fingerprint(ANSWERS) != before


def test_the_ownership_of_fields_is_part_of_the_fingerprint(repo: Repository) -> None:
    source = OverrideSource(repo.root, 50)
    read(source)
    limited = Agent(id="answers", name="Answers", instructions="code", editor=False)
    assert source.fingerprint(limited) not in {source.fingerprint(ANSWERS), None}
