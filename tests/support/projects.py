"""Third-party Django projects with the wheels, in which docs/guides/embed-in-django.md is followed."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support import fork_server
from tests.support.pages import commands
from tests.support.ports import free_port, wait_for
from tests.support.service import ROOT
from tests.support.wheels import installed

PAGE = ROOT / "docs/guides/embed-in-django.md"
API_HEADING = "Choose the capabilities"
"""The heading below which the page adds the API."""
OURS = {"DATABASE_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY"}
"""What the tests' own environment says, and a team's does not."""

_MARK = "— the next command —"
_COMMANDS = f"""
import importlib, json, sys
import manage
for sys.argv in json.loads(sys.argv[1]):
    importlib.invalidate_caches()
    print({_MARK!r})
    manage.main()
"""


@dataclass(frozen=True)
class Project:
    """A project of a Django team."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> str:
        """Run a command there and return its output."""
        done = fork_server.run(*command, env=self.environment, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def manage(self, *commands: str) -> list[str]:
        """Run commands of `manage.py`, and return the output of each.

        They share a process, because to start one takes longer than most of them.
        """
        lines = [["manage.py", *shlex.split(command)] for command in commands]
        return self.run("-c", _COMMANDS, json.dumps(lines)).split(f"{_MARK}\n")[1:]

    def write(self, module: str, text: str) -> None:
        """Write a module of the project, such as `people.models`."""
        (self.folder / module.replace(".", "/")).with_suffix(".py").write_text(text)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve it with Django's own server, and yield its host and port."""
        port, log = free_port(), self.folder / "server.log"
        with log.open("wb") as output:
            command = ("manage.py", "runserver", "--noreload", f"127.0.0.1:{port}")
            files = {"stdout": output, "stderr": output}
            process = fork_server.start(*command, env=self.environment, cwd=self.folder, **files)
        try:
            wait_for(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def fresh_project(tmp_path: Path) -> Project:
    """Install the wheels, and make a project called `shop`."""
    folder = tmp_path / "project"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    made = Project(folder, environment | {"PYTHONPATH": str(installed("editor-client", "editor-server"))})
    made.run("-m", "django", "startproject", "shop", ".")
    return made


def commands_of(heading: str) -> list[str]:
    """Return the last commands of a section of the page, without `python manage.py`."""
    lines = commands(PAGE, heading)[-1].splitlines()
    assert all(line.startswith("python manage.py ") for line in lines)
    return [line.removeprefix("python manage.py ") for line in lines]


def asked(address: str, **headers: str) -> tuple[int, str, str]:
    """Return the status, the type and the text of an answer."""
    try:
        with urlopen(Request(address, headers=headers)) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()
