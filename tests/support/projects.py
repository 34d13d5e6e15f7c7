"""Third-party Django projects, in which the wheels are installed and docs/embedding.md is followed."""

from __future__ import annotations

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

PAGE = ROOT / "docs/embedding.md"
OURS = {"DATABASE_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY"}
"""What the tests' own environment says, and a team's does not."""


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


def key_of(project: Project) -> str:
    """Follow the page about tables and keys, and return the key."""
    return run_what_the_page_says(project, "The API").strip()


def run_what_the_page_says(project: Project, heading: str, *options: str) -> str:
    """Run the last commands of a section, and return the output of the last one."""
    printed = ""
    for line in commands(PAGE, heading)[-1].splitlines():
        python, *command = shlex.split(line)
        assert python == "python"
        printed = project.run(*command, *options)
    return printed


def asked(address: str, **headers: str) -> tuple[int, str, str]:
    """Return the status, the type and the text of an answer."""
    try:
        with urlopen(Request(address, headers=headers)) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()
