"""A process is killed while it publishes: there is either the old file or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from editor_client.shared import canonical

from tests.models.test_crash import crash_while, texts
from tests.support.api import AGENTS
from tests.support.override_files import Folder, define
from tests.support.people import key_of, person
from tests.support.remote import RemoteApi, connected
from tests.support.served import served
from tests.support.service import ROOT, Service, running_service
from tests.support.writing import DELICATE, SECONDS, Record, history
from versioning.domain.access import Role
from versioning.sources.files import OverrideFiles

pytestmark = pytest.mark.processes

URL = AGENTS.url("answers")
CRASHES = 2
# So long that it takes several writes to the disk; half a file would be seen.
LONG = DELICATE * 500
LEFT_BEHIND = ".0123456789abcdef0123456789abcdef.tmp"
OLD, NEW = b'{\n  "instructions": "old"\n}\n', b'{\n  "instructions": "new"\n}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "overrides")


@pytest.fixture
def service(tmp_path: Path, folder: Folder) -> Iterator[Service]:
    """A server with two worker processes that stores overrides as files."""
    with running_service(
        tmp_path,
        "--workers",
        "2",
        EDITOR_SOURCE="code",
        EDITOR_CODE_PATH=str(folder.root),
        EDITOR_FRAMEWORK="tests.support.code.framework",
    ) as running:
        yield running


@dataclass
class Reader:
    """A reader of the file, and the contents that it saw."""

    seen: set[str] = field(default_factory=set)
    broken: list[bytes] = field(default_factory=list)

    def look(self, path: Path) -> None:
        """Read the file once."""
        content = path.read_bytes()
        try:
            text = json.loads(content)["instructions"]
        except ValueError:
            self.broken.append(content)
            return
        if content.decode() != canonical.file_text({"instructions": text}):
            self.broken.append(content)
        self.seen.add(text)


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """Read a file again and again."""
    reader, enough = Reader(), Event()

    def read() -> None:
        while not enough.wait(0.001):
            reader.look(path)

    thread = Thread(target=read)
    thread.start()
    try:
        yield reader
    finally:
        enough.set()
        thread.join(SECONDS)


def publish(api: RemoteApi, writer: int, turn: int) -> Record:
    """Save a unique text and publish it in the same request."""
    return AGENTS.save(api, "answers", f"{writer}/{turn} at {time.time_ns()} {LONG}", autoPublish=True)


def test_the_file_is_always_complete_and_has_the_last_acknowledged_text(
    service: Service, folder: Folder
) -> None:
    with connected(service) as api:
        made = api.post(AGENTS.path, {"id": "answers", "instructions": "first", "autoPublish": True})
        assert made.status == 201
    for _ in range(CRASHES):
        with reading(folder.path()) as reader:
            acknowledged = crash_while(service, publish)
        assert reader.broken == []
        assert len(reader.seen) > 1

        in_the_file = folder.config()["instructions"]
        with connected(service) as api:
            assert served(api, "answers")["instructions"] == in_the_file.strip()
            record = api.get(URL).body
            versions = history(api, AGENTS, "answers")
        saved = texts(AGENTS, versions)
        for answer in acknowledged:
            assert saved[answer["activeVersionId"]] == answer["instructions"]
        numbers = {version["id"]: version["versionNumber"] for version in versions}
        newest = max(numbers[answer["activeVersionId"]] for answer in acknowledged)
        if record["activeVersionId"] in numbers:
            assert saved[record["activeVersionId"]] == in_the_file
            assert numbers[record["activeVersionId"]] >= newest
        else:
            # Written and killed before it was acknowledged: later than everything that was.
            assert record["activeVersionId"].startswith("file-")
            assert in_the_file not in saved.values()


def test_leftovers_of_a_killed_process_are_never_served_and_removed_once_old(
    db: None, settings: Any, folder: Folder
) -> None:
    define(settings, folder.root)
    person("ada", default=Role.ADMIN)
    api = key_of("ada")
    folder.put({"instructions": "whole"})
    old, young = folder.path().with_name(LEFT_BEHIND), folder.path().with_name(f".9{LEFT_BEHIND[2:]}")
    for path in (old, young):
        path.write_text('{"instructions": "half')
    two_hours_ago = time.time() - 7200
    os.utime(old, (two_hours_ago, two_hours_ago))
    assert sorted(api.get("/agents").body) == ["answers", "team/lead"]
    assert [record["id"] for record in api.get(AGENTS.path).body["agents"]] == ["answers"]
    assert served(api, "answers")["instructions"] == "whole"
    assert old.exists()
    AGENTS.save(api, "answers", "new", autoPublish=True)
    assert not old.exists()
    assert young.exists(), "someone may be about to finish it"


# Writes a file in a child that is killed at its n-th step, for n = 1, 2 … until there are no more.
PROGRAM = """
import json, os, signal, sys
from itertools import count
from pathlib import Path
from versioning.sources.files import OverrideFiles

root, old, new = Path(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode()

def write(step):
    steps = count(1)
    def hook(event, arguments):
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    OverrideFiles(root).write("answers", new)
    os._exit(0)

found, killed = [], True
for step in count(1):
    if not killed:
        break
    OverrideFiles(root).write("answers", old)
    child = os.fork()
    if not child:
        write(step)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    found.append(OverrideFiles(root).read("answers").content.decode())
print(json.dumps(found))
"""


def test_a_process_that_is_killed_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), OLD, NEW],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [content.encode() for content in json.loads(done.stdout)]
    moment = found.index(NEW)
    assert moment > 3
    assert found == [OLD] * moment + [NEW] * (len(found) - moment)

    folder = tmp_path / "agents"
    left = {path.name for path in folder.iterdir()} - {"answers.json"}
    assert left and all(name.startswith(".") and name.endswith(".tmp") for name in left)
    for name in left:
        os.utime(folder / name, (0, 0))
    OverrideFiles(tmp_path).write("other", NEW)
    assert {path.name for path in folder.iterdir()} == {"answers.json", "other.json"}
