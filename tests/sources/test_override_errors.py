"""A full disk, a read-only folder, a failing commit: changes happen completely or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.support.api import AGENTS, Answer, Api
from tests.support.override_files import Folder, define
from tests.support.served import served
from tests.support.unchanged import everything_stored, is_refusal
from versioning.models import AgentLabel
from versioning.models.guarded import save_row
from versioning.sources import files
from versioning.sources.files import OverrideFiles

URL = AGENTS.url("answers")
DISK = 256 * 1024


def run(*command: str) -> None:
    """Run a command as root; skip the test if even root cannot run it."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip()}")


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Iterator[Folder]:
    """The folder of the overrides, on a separate small disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk))
    define(settings, disk / "overrides")
    yield Folder(disk / "overrides")
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def publish(api: Api) -> Answer:
    """Publish the draft."""
    return api.post(f"{URL}/versions/{api.get(URL).body['latestVersionId']}/activate")


def save_and_publish(api: Api) -> Answer:
    """Save another text and publish it in the same request."""
    return api.patch(URL, {"instructions": "three", "autoPublish": True})


def unpublish(api: Api) -> Answer:
    """Unpublish the override."""
    return api.post(f"{URL}/unpublish")


def delete(api: Api) -> Answer:
    """Delete the override."""
    return api.delete(URL)


def create(api: Api) -> Answer:
    """Create an override and publish it in the same request."""
    return api.post(AGENTS.path, {"id": "answers", "instructions": "one", "autoPublish": True})


WRITING: list[Callable[[Api], Answer]] = [publish, save_and_publish]
CHANGING = [*WRITING, unpublish, delete]


@contextmanager
def full_disk(folder: Folder) -> Iterator[None]:
    """Fill the disk to the last byte."""
    filler = folder.root.parent / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 512)
    yield
    filler.unlink()


@contextmanager
def read_only_disk(folder: Folder) -> Iterator[None]:
    run("mount", "-o", "remount,ro", str(folder.root.parent))
    yield
    run("mount", "-o", "remount,rw", str(folder.root.parent))


@contextmanager
def read_only_folder(folder: Folder) -> Iterator[None]:
    """Let the folder of the files be mounted over itself, read-only."""
    (folder.root / "agents").mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", str(folder.root), str(folder.root))
    run("mount", "-o", "remount,bind,ro", str(folder.root))
    yield
    run("umount", str(folder.root))


@contextmanager
def no_folder(folder: Folder) -> Iterator[None]:
    """Let there be a file where the folder of the files should be."""
    folder.root.mkdir()
    (folder.root / "agents").touch()
    yield
    (folder.root / "agents").unlink()


Problem = Callable[[Folder], AbstractContextManager[None]]


def code_of(problem: Problem) -> str:
    """Return the code of the refusal."""
    return "storage_full" if problem is full_disk else "override_not_written"


CASES: list[tuple[Problem, Callable[[Api], Answer]]] = [
    *((full_disk, change) for change in WRITING),
    *((read_only_disk, change) for change in CHANGING),
    (read_only_folder, save_and_publish),
]


@dataclass(frozen=True)
class Before:
    """The state before a failing change."""

    stored: object
    record: Any
    content: bytes
    about: tuple[int, int]

    @classmethod
    def see(cls, api: Api, folder: Folder) -> Before:
        """Look at everything."""
        stored, record = everything_stored(), api.get(URL).body
        about = folder.path().stat()
        return cls(stored, record, folder.path().read_bytes(), (about.st_ino, about.st_mtime_ns))


@pytest.fixture
def published(admin: Api, folder: Folder) -> Before:
    """An override that serves `one` and has a draft `two`."""
    assert create(admin).status == 201
    AGENTS.save(admin, "answers", "two")
    return Before.see(admin, folder)


def names(folder: Folder) -> list[str]:
    """Return the names of all files in the folder."""
    return sorted(path.name for path in (folder.root / "agents").iterdir())


@pytest.mark.parametrize(("problem", "change"), CASES)
def test_if_the_file_cannot_be_written_it_is_unchanged_and_nothing_is_stored(
    admin: Api, folder: Folder, published: Before, problem: Problem, change: Callable[[Api], Answer]
) -> None:
    with problem(folder):
        assert is_refusal(change(admin), 503, code_of(problem))
        assert Before.see(admin, folder) == published
        assert served(admin, "answers")["instructions"] == "one"
        assert names(folder) == ["answers.json"]
    assert change(admin).status == 200
    assert Before.see(admin, folder) != published if folder.path().exists() else names(folder) == []


@pytest.mark.parametrize("problem", [full_disk, no_folder])
def test_a_first_file_that_cannot_be_written_leaves_no_override(
    admin: Api, folder: Folder, problem: Problem
) -> None:
    before = everything_stored()
    with problem(folder):
        assert is_refusal(create(admin), 503, code_of(problem))
        assert everything_stored() == before
        assert served(admin, "answers")["source"] == "code"
        assert admin.get(URL).status == 404
    assert not folder.path().exists()
    assert create(admin).status == 201
    assert (folder.config(), names(folder)) == ({"instructions": "one"}, ["answers.json"])


def test_changes_that_write_no_file_succeed_on_a_full_disk(
    admin: Api, folder: Folder, published: Before
) -> None:
    with full_disk(folder):
        assert AGENTS.save(admin, "answers", "three")["hasDraft"] is True
        version = admin.get(URL).body["activeVersionId"]
        assert admin.post(f"{URL}/versions/{version}/restore").status == 201
        assert admin.put(f"{URL}/labels/stable", {"versionId": version}).status == 200
        assert served(admin, "answers", status="draft")["instructions"] == "one"
    assert folder.path().read_bytes() == published.content


def test_a_file_that_does_not_fit_leaves_the_old_file_unchanged(
    admin: Api, folder: Folder, published: Before
) -> None:
    answer = admin.patch(URL, {"instructions": "x" * 2 * DISK, "autoPublish": True})
    assert is_refusal(answer, 503, "storage_full")
    assert Before.see(admin, folder) == published
    assert names(folder) == ["answers.json"]


def test_a_configuration_too_large_for_an_override_file_is_refused(
    admin: Api, folder: Folder, published: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    answer = admin.patch(URL, {"instructions": "x" * 1000, "autoPublish": True})
    assert (answer.status, answer.fields) == (400, ["body"])
    assert everything_stored() == published.stored
    assert folder.path().read_bytes() == published.content


# The database fails after the file was written


@pytest.fixture
def failing_commit(committed_db: None) -> Callable[[], AbstractContextManager[None]]:
    """Let transactions that save or delete an agent leave a broken reference, which fails at the commit."""

    def break_a_reference(execute: Callable[..., Any], statement: str, *others: Any) -> Any:
        result = execute(statement, *others)
        if re.match(r'(INSERT INTO|UPDATE|DELETE FROM) "versioning_agent" ', statement):
            save_row(AgentLabel(resource_id="nobody", name=uuid.uuid4().hex, version_id=uuid.uuid4()))
        return result

    return lambda: connection.execute_wrapper(break_a_reference)


@pytest.mark.parametrize("change", [save_and_publish, unpublish])
def test_the_file_is_restored_if_the_commit_fails(
    failing_commit: Callable[[], AbstractContextManager[None]],
    admin: Api,
    folder: Folder,
    published: Before,
    change: Callable[[Api], Answer],
) -> None:
    with failing_commit():
        answer = change(admin)
    assert answer.status >= 500
    assert folder.path().read_bytes() == published.content
    assert everything_stored() == published.stored
    assert names(folder) == ["answers.json"]
    assert served(admin, "answers")["instructions"] == "one"
    assert change(admin).status == 200


def test_a_first_file_is_removed_if_the_commit_fails(
    failing_commit: Callable[[], AbstractContextManager[None]], admin: Api, folder: Folder
) -> None:
    before = everything_stored()
    with failing_commit():
        assert create(admin).status >= 500
    assert names(folder) == []
    assert everything_stored() == before
    assert create(admin).status == 201


def test_an_unreadable_file_is_restored_as_well(
    failing_commit: Callable[[], AbstractContextManager[None]], admin: Api, folder: Folder
) -> None:
    assert admin.post(AGENTS.path, {"id": "answers", "instructions": "one"}).status == 201
    folder.path().parent.mkdir(parents=True)
    folder.path().touch()
    os.truncate(folder.path(), files.MAX_BYTES + 1)
    with failing_commit():
        assert publish(admin).status >= 500
    assert folder.path().stat().st_size == files.MAX_BYTES + 1


def test_an_old_file_is_restored_like_a_new_one(folder: Folder) -> None:
    there = OverrideFiles(folder.root)
    there.write("answers", b"old")
    os.utime(folder.path(), (0, 0))

    def fail_after_writing() -> None:
        with there.replacing("answers", b"new", expected=b"old"):
            there.write("other", b"other")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_writing()
    assert folder.path().read_bytes() == b"old"
    assert names(folder) == ["answers.json", "other.json"]
