"""A process that writes, and is held at the last moment at which another process can still commit.

On SQLite that is the beginning of the transaction, on PostgreSQL the statement that takes the position in
the log, after which nothing but the commit follows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from editor_project.database.sqlite.base import DatabaseWrapper
from tests.support.service import Service
from versioning.conf import get_editor
from versioning.domain.access import Role, Via
from versioning.domain.errors import VersioningError
from versioning.models import Agent, caller_for

SECONDS = 60
LAST = ("WITH taken", 'INSERT INTO "versioning_logposition"')
"""How the last statement begins, on PostgreSQL."""

Answer = dict[str, Any]
Write = Callable[[], Answer]
Prepare = Callable[[str, str], Write]


def held(
    service: Service, folder: Path, write: str, *, by: tuple[str, str], change: Callable[[], Any]
) -> Answer:
    """Let a person (a name and a key) write in a separate process; return the answer.

    While the process is held, the change is made.
    """
    arguments = ", ".join(map(repr, (str(folder), write, *by)))
    program = f"from tests.support.held_writer import main; main({arguments})"
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(service.manage, "shell", "--no-imports", "-c", program)
        _wait(lambda: (folder / "held").exists() or writing.done())
        assert (folder / "held").exists(), writing.result()
        try:
            change()
        finally:
            (folder / "go").touch()
        answer: Answer = json.loads(writing.result().splitlines()[-1])
        return answer


def main(folder: str, write: str, name: str, key: str) -> None:
    """Prepare a person's write to the agent of the same name, do it, and print the result."""
    ready = WRITES[write](name, key)
    with _holding(Path(folder)):
        answer = ready()
    sys.stdout.write(json.dumps(answer))


@contextmanager
def _holding(folder: Path) -> Iterator[None]:
    """Hold this process at the last moment, once."""
    is_first = True

    def hold() -> None:
        nonlocal is_first
        if is_first:
            is_first = False
            (folder / "held").touch()
            _wait((folder / "go").exists)

    def begin(database: DatabaseWrapper, **how: bool) -> bool:
        hold()
        return _try_begin(database, **how)

    def execute_last(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        if statement.startswith(LAST):
            hold()
        return execute(statement, *rest)

    if connection.vendor == "sqlite":
        with patch.object(DatabaseWrapper, "_try_begin", begin):
            yield
    else:
        with connection.execute_wrapper(execute_last):
            yield


_try_begin = DatabaseWrapper._try_begin


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _over_http(method: str, path: str, body: Any = None) -> Prepare:
    def prepare(name: str, key: str) -> Write:
        client = Client(headers={"authorization": f"Bearer {key}"}, SERVER_NAME="localhost")
        assert client.get("/api/stored/agents").status_code == 200  # the process knows the key from here on

        def write() -> Answer:
            sent = json.dumps(body).replace("NAME", name)
            address = f"/api/stored/agents{path}".replace("NAME", name)
            response = client.generic(method, address, sent, content_type="application/json")
            return {"status": response.status_code, "code": response.json().get("code")}

        return write

    return prepare


def _approve(name: str, key: str) -> Write:
    client = Client(headers={"authorization": f"Bearer {key}"}, SERVER_NAME="localhost")
    [review] = client.get("/api/reviews", {"kind": "agent", "id": name}).json()["reviews"]

    def write() -> Answer:
        said = {"versionId": review["versionId"], "verdict": "approve"}
        address = f"/api/reviews/{review['id']}/verdicts"
        response = client.post(address, said, content_type="application/json")
        return {"status": response.status_code, "code": response.json().get("code")}

    return write


def _in_the_studio(name: str, key: str) -> Write:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username=name))
    address = f"/studio/versioning/agent/{name}/publish/"
    page = client.get(address)
    assert page.status_code == 200
    agent = Agent.objects.get(pk=name)

    def write() -> Answer:
        response = client.post(address, {"version": str(agent.latest_version_id), "tag": agent.etag})
        return {"status": response.status_code, "location": response.headers.get("Location", "")}

    return write


def _in_python(change: Callable[[Any, str], Any]) -> Prepare:
    def prepare(name: str, key: str) -> Write:
        by = caller_for(User.objects.get(username=name), Via.PYTHON)

        def write() -> Answer:
            try:
                change(by, name)
            except VersioningError as error:
                return {"code": error.code}
            return {"code": None}

        return write

    return prepare


WRITES: dict[str, Prepare] = {
    "save": _over_http("PATCH", "/NAME", {"instructions": "two"}),
    "save and publish": _over_http("PATCH", "/NAME", {"instructions": "two", "autoPublish": True}),
    "create": _over_http("POST", "", {"id": "NAME-2", "name": "N", "instructions": "two"}),
    "label": _over_http("DELETE", "/NAME/labels/stable", {}),
    "delete": _over_http("DELETE", "/NAME", {}),
    "mark": _over_http("PUT", "/NAME/favorite", {}),
    "approve": _approve,
    "publish in the studio": _in_the_studio,
    "publish in Python": _in_python(
        lambda by, name: get_editor().agent.publish(name, get_editor().agent.find(name).latest_id, by=by)
    ),
    "edit in Python": _in_python(lambda by, name: get_editor().agent.edit(name, {"name": "New"}, by=by)),
    "demote another admin": _in_python(
        lambda by, name: get_editor().workspace.change_role("default", f"{name}-2", Role.VIEWER, by=by)
    ),
}
