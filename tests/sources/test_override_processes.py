"""Several processes publish the same agent: a failure of one does not affect the other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.support import fork_server
from tests.support.override_files import Folder
from tests.support.service import environment_of, new_database, template_database

pytestmark = pytest.mark.processes

# Publishes a text; with a second argument COMMIT fails, and the program waits when the database has
# forgotten all of it, and has let go of the row.
PROGRAM = """
import re, sys, uuid
import django
django.setup()
from django.db import connection
from versioning.conf import get_editor
from versioning.models import AgentLabel
from versioning.models.guarded import save_row

def break_a_reference(execute, statement, *others):
    result = execute(statement, *others)
    if re.match('(INSERT INTO|UPDATE) "versioning_agent" ', statement):
        save_row(AgentLabel(resource_id="nobody", name=uuid.uuid4().hex, version_id=uuid.uuid4()))
    return result

def wait():
    roll_back()
    print("rolled back", flush=True)
    sys.stdin.readline()

if len(sys.argv) > 2:
    connection.execute_wrappers.append(break_a_reference)
    roll_back, connection.rollback = connection.rollback, wait
get_editor().agent.update("answers", instructions=sys.argv[1])
"""

# Looks for changes past the editor as a worker does, and says how many it has logged.
WATCH = """
import django
django.setup()
from versioning.models import Event
from versioning.worker.housekeeping import OverrideWatch
OverrideWatch().look()
print(Event.objects.filter(via="file").count(), flush=True)
"""


class Publisher:
    """A process that publishes a text."""

    def __init__(self, environment: dict[str, str], program: str, *arguments: str) -> None:
        its_input, self.input = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), "rw", strict=True))
        self.output, its_output = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), "rw", strict=True))
        with its_input, its_output:
            self.process = fork_server.start(
                "-c", program, *arguments, env=environment, stdin=its_input, stdout=its_output, is_set_up=True
            )

    def end(self) -> int:
        """Let it go on, wait for its end and return its status."""
        with suppress(BrokenPipeError), self.output, self.input:
            self.input.write("go on\n")
        return self.process.wait(60)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "overrides")


@pytest.fixture
def environment(tmp_path: Path, folder: Folder) -> Iterator[dict[str, str]]:
    """The shared environment: a database, the folder, and an override with the text `one`."""
    with new_database(tmp_path / "db.sqlite3", template_database().url) as database_url:
        yield environment_of(
            database_url,
            DJANGO_SETTINGS_MODULE="editor_project.settings",
            EDITOR_SOURCE="code",
            EDITOR_CODE_PATH=str(folder.root),
            EDITOR_FRAMEWORK="tests.support.code.framework",
        )


@pytest.fixture
def start(environment: dict[str, str]) -> Callable[..., Publisher]:
    """Start such a process; one has published `one`."""
    assert Publisher(environment, PROGRAM, "one").end() == 0
    return partial(Publisher, environment, PROGRAM)


def failing(start: Callable[..., Publisher]) -> Publisher:
    """Publish `two` until the file is written and the database has refused the commit."""
    publisher = start("two", "fail")
    assert publisher.output.readline() == "rolled back\n"
    return publisher


def test_a_failed_commit_does_not_overwrite_a_publication_by_another_process(
    start: Callable[..., Publisher], folder: Folder
) -> None:
    first = failing(start)
    second = start("three")
    try:
        second.process.wait(2)  # or it waits for the first one to end
    except subprocess.TimeoutExpired:
        assert folder.config() == {"instructions": "two"}
    assert first.end() != 0
    assert second.end() == 0
    assert folder.config() == {"instructions": "three"}
    assert [path.name for path in (folder.root / "agents").iterdir()] == ["answers.json"]


def test_a_failed_commit_does_not_overwrite_a_change_by_hand(
    start: Callable[..., Publisher], folder: Folder
) -> None:
    publisher = failing(start)
    folder.put({"instructions": "by hand"})
    assert publisher.end() != 0
    assert folder.config() == {"instructions": "by hand"}


def test_a_failed_commit_restores_the_file(start: Callable[..., Publisher], folder: Folder) -> None:
    assert failing(start).end() != 0
    assert folder.config() == {"instructions": "one"}


def test_a_publication_that_is_rolled_back_is_not_logged_meanwhile(
    start: Callable[..., Publisher], environment: dict[str, str], folder: Folder
) -> None:
    publisher = failing(start)
    assert folder.config() == {"instructions": "two"}
    watch = Publisher(environment, WATCH)
    with pytest.raises(subprocess.TimeoutExpired):
        watch.process.wait(3)
    assert publisher.end() != 0
    assert watch.output.readline() == "0\n"
    assert watch.end() == 0
    assert folder.config() == {"instructions": "one"}
