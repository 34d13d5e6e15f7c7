"""A change is refused if its right is lost before the commit: races with another process."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.support.api import AGENTS
from tests.support.held_writer import Answer, held
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service
from versioning import editor
from versioning.domain.access import APPLICATION, Caller, Right, RightsChanged
from versioning.models import Workspace, caller_for, events

WRITERS = 16
MAKE = """
import json
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace
home, keys = Workspace.objects.get(id="default"), {{}}
for number in range({writers}):
    for name in (f"writer{{number}}-2", f"writer{{number}}"):
        user = User.objects.create_user(name)
        Membership.objects.grant(user, home, Role.ADMIN)
    keys[name] = ApiKey.objects.issue(user)[1]
print(json.dumps(keys))
"""
CHANGE = """
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace
user, home = User.objects.get(username="{name}"), Workspace.objects.get(id="default")
key, membership = ApiKey.objects.get(owner=user), Membership.objects.get(user=user)
{change}
"""
REVOKED = "key.revoke()"
SWITCHED_OFF = "User.objects.filter(pk=user.pk).update(is_active=False)"
VIEWER = "Membership.objects.grant(user, home, Role.VIEWER)"
EDITOR = "Membership.objects.grant(user, home, Role.EDITOR)"
ELSEWHERE = "Membership.objects.grant(User.objects.create_user('{name}-3'), home, Role.VIEWER)"


@pytest.fixture
def api(live_service: Service) -> Iterator[RemoteApi]:
    """The admin who checks the results."""
    with connected(live_service) as connection:
        yield connection


@pytest.fixture(scope="session")  # as long as the service: a process can come back to this module
def people(live_service: Service) -> Iterator[tuple[str, str]]:
    """Admins of `default`, each with a key and with a second admin whom only they may demote."""
    keys: dict[str, str] = json.loads(
        live_service.manage("shell", "--no-imports", "-c", MAKE.format(writers=WRITERS))
    )
    return iter(keys.items())


class Writer:
    """An admin with an agent of the same name, whose write is held while another process makes a change."""

    def __init__(self, service: Service, api: RemoteApi, folder: Path, person: tuple[str, str]) -> None:
        self.service, self.api, self.folder, self.person = service, api, folder, person
        self.name = person[0]
        made = AGENTS.make(api, self.name)
        label = {"versionId": made["latestVersionId"]}
        assert api.put(AGENTS.url(self.name, "labels", "stable"), label).status == 200

    def manage(self, program: str) -> str:
        """Run a program in a separate process."""
        return self.service.manage("shell", "--no-imports", "-c", program.replace("{name}", self.name))

    def stored(self) -> list[Any]:
        """Return the stored agent, and the log entries about it."""
        record = self.api.get(AGENTS.url(self.name), status="draft").body
        log = self.api.get("/events", type="agent.*", limit=1000, id=self.name).body["events"]
        found = self.api.get(AGENTS.path, search=self.name).body["total"]
        return [record, [event["position"] for event in log], found]

    def write(self, what: str, change: str) -> Answer:
        """Return the answer to a write during which another process committed a change."""
        program = CHANGE.replace("{change}", change)
        return held(self.service, self.folder, what, by=self.person, change=lambda: self.manage(program))


@pytest.fixture
def writer(
    live_service: Service, api: RemoteApi, tmp_path: Path, people: Iterator[tuple[str, str]]
) -> Writer:
    """A person who writes."""
    return Writer(live_service, api, tmp_path, next(people))


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("write", "change", "answer"),
    [
        ("save", REVOKED, {"status": 401, "code": "unauthorized"}),
        ("save", VIEWER, {"status": 404, "code": "not_found"}),
        ("save and publish", EDITOR, {"status": 403, "code": "forbidden"}),
        ("publish in the studio", EDITOR, {"status": 403, "location": ""}),
        ("edit in Python", VIEWER, {"code": "not_found"}),
        ("demote another admin", EDITOR, {"code": "forbidden"}),
    ],
)
def test_a_right_that_is_lost_before_the_commit_saves_nothing(
    writer: Writer, write: str, change: str, answer: Answer
) -> None:
    """One write of each sort; a test below checks in the code that every verb is retried."""
    before = writer.stored()
    assert writer.write(write, change) == answer
    assert writer.stored() == before


@pytest.mark.postgresql
def test_an_account_switched_off_before_the_commit_has_to_sign_in(writer: Writer) -> None:
    before = writer.stored()
    answer = writer.write("publish in the studio", SWITCHED_OFF)
    assert answer["status"] == 302
    assert answer["location"].startswith("/studio/login/")
    assert writer.stored() == before


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("write", "change"),
    [("save and publish", ELSEWHERE), ("save", EDITOR)],
)
def test_a_change_of_other_rights_does_not_prevent_a_save(writer: Writer, write: str, change: str) -> None:
    before = writer.stored()
    assert writer.write(write, change)["status"] in {200, 302}
    assert writer.stored() != before


@pytest.mark.django_db
def test_a_caller_constructed_with_rights_has_them() -> None:
    Workspace.objects.make("a", "A")
    given = Caller(username="ada", everywhere=APPLICATION.everywhere)
    position = events.position()
    with events.transaction():
        events.record("workspace.updated", by=given, workspace_id="a", fields=["name"])
    assert events.position() == position + 1


@pytest.mark.django_db
def test_a_change_without_a_retry_is_refused_too() -> None:
    root = User.objects.create_user("root", is_superuser=True)
    caller = caller_for(root)
    User.objects.filter(pk=root.pk).update(is_superuser=False)
    position = events.position()
    with pytest.raises(RightsChanged) as refused, events.transaction():
        events.record("workspace.updated", by=caller, workspace_id="a", fields=["name"])
    assert events.position() == position
    assert not refused.value.caller.may(Right.READ, "a")


def verbs() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Return every function of the use cases that changes something for a caller."""
    for path in sorted(Path(editor.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and acts(node):
                yield f"{path.stem}.{node.name}", node


def acts(node: ast.FunctionDef) -> bool:
    """Return whether a verb opens a transaction for a caller; context managers of verbs do not count."""
    opens = ("changing", "administering", "transaction", "_mark", "_insert")
    names = {called.func for called in ast.walk(node) if isinstance(called, ast.Call)}
    found = {name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "") for name in names}
    return "by" in {arg.arg for arg in node.args.kwonlyargs} and bool(found & set(opens))


def test_every_verb_is_retried_when_rights_have_changed() -> None:
    found = dict(verbs())
    assert {"saving.edit", "favorites.favorite", "workspaces.rename", "saving.create"} <= found.keys()
    plain = {
        name
        for name, node in found.items()
        if "retry_on_conflict" not in map(ast.unparse, node.decorator_list)
    }
    assert plain == set()
