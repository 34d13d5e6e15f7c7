"""The command line of the client, against the service in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from editor_client import Client
from editor_client.transfer import command_line

from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.api import Api

DONE, CONFLICTS, USAGE, REFUSED = 0, 1, 2, 4


@dataclass
class Desk:
    """A person with a folder, and the command line."""

    client: Client
    api: Api
    folder: Path
    run: Callable[..., Any]
    out: str = ""
    err: str = ""

    def write(self, name: str, content: Any) -> Path:
        """Write a file: a text, or a value as JSON."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def does(self, *arguments: Any) -> int:
        """Run a command, and return its exit code."""
        code, self.out, self.err = self.run(*map(str, arguments))
        return int(code)

    def plan(self, source: str, path: Path | str, *more: str, code: int = DONE) -> dict[str, Any]:
        file = self.folder.parent / "plan.json"
        assert self.does("import", source, path, "--plan", file, *more) == code, self.err
        return dict(json.loads(file.read_text()))

    def apply(self, *more: str, code: int = DONE) -> None:
        """Apply the plan that was made last."""
        assert self.does("import", "--apply", self.folder.parent / "plan.json", *more) == code, self.err

    def imports(self, source: str, path: Path | str) -> dict[str, Any]:
        plan = self.plan(source, path)
        self.apply()
        return plan

    def refuses(self, source: str, path: Path | str) -> str:
        """Plan what cannot be read, and return the error."""
        file = self.folder.parent / "refused.json"
        assert self.does("import", source, path, "--plan", file) == USAGE
        assert not file.exists() and "Traceback" not in self.err
        return self.err


@pytest.fixture
def desk(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Desk]:
    """A publisher's desk."""
    folder = tmp_path / "files"
    folder.mkdir()
    with httpx2.Client(transport=httpx2.WSGITransport(app=application)) as http:
        connected = partial(Client, http_client=http)
        monkeypatch.setattr(command_line, "Client", connected)
        server = ["--url", "http://testserver", "--api-key", cast.paula.key]

        def run(*arguments: str) -> tuple[int, str, str]:
            try:
                code = command_line.main([*server, *arguments])
            except SystemExit as error:
                code = int(str(error.code))
            return (code, *capsys.readouterr())

        with connected("http://testserver", api_key=cast.paula.key) as client:
            yield Desk(client, cast.paula, folder, run)


def losses(plan: dict[str, Any]) -> set[str]:
    return {loss["code"] for loss in plan["losses"]}


def actions(plan: dict[str, Any]) -> dict[str, str]:
    return {f"{one['kind']} {one['id']}": one["action"] for one in plan["resources"]}
