"""From the first migration to the newest: the data is preserved, and is served as it was."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from django.db.migrations.loader import MigrationLoader

from tests.operations.first_release import ANSWERS, KEYS, ROWS
from tests.support import fork_server
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.installation import SQLITE, Installation, installation
from tests.support.remote import connected
from tests.support.service import Service
from versioning import __version__

pytestmark = pytest.mark.database

APP = "versioning"
FRAMEWORK = "tests.operations.first_release.framework"
FIRST_RELEASE = """
from django.core.management import call_command
call_command("migrate", "versioning", {first!r}, verbosity=0, skip_checks=True)
call_command("migrate", "auth", verbosity=0, skip_checks=True)
"""
# Remains of a migration that this release does not know.
NEWER = f"""
ALTER TABLE {APP}_agent ADD COLUMN mood varchar(9);
INSERT INTO django_migrations (app, name, applied) VALUES ('{APP}', '9999_mood', '2030-01-01 00:00:00');
"""
# In the middle of the first migration, and near its end: the later ones are made of the same transactions.
WORDS_OF_STATEMENTS = ["versioning_auditentry", "agent_latest_version_is_own"]
# Ends the process before a statement, as a machine that fails would.
KILLED_MIGRATION = """
import os, signal
from django.core.management import call_command
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
execute = BaseDatabaseSchemaEditor.execute
def watched(self, statement, *arguments, **options):
    if {word!r} in str(statement):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, statement, *arguments, **options)
BaseDatabaseSchemaEditor.execute = watched
call_command("migrate", verbosity=0)
"""


def first_migration() -> str:
    [(_, name)] = MigrationLoader(None).graph.root_nodes(APP)
    return str(name)


def insert(installed: Installation, statements: str) -> None:
    """Insert rows without the application, in one transaction."""
    if SQLITE:
        with sqlite3.connect(installed.folder / "var/editor.sqlite3") as database:
            database.executescript(f"BEGIN; {statements} COMMIT;")
        database.close()
        return
    numbering = installed.service.manage("sqlsequencereset", "auth", APP, "--no-color")
    with psycopg.connect(installed.service.environment["DATABASE_URL"], options="-c TimeZone=UTC") as server:
        server.execute(statements)  # type: ignore[call-overload]
        # The tables of later migrations are not there yet, and have no numbers to go on from.
        tables = {name for (name,) in server.execute("SELECT tablename FROM pg_tables").fetchall()}
        for statement in numbering.splitlines():
            if statement.startswith("SELECT") and statement.rsplit('"', 2)[1] in tables:
                server.execute(statement)  # type: ignore[call-overload]


@dataclass(frozen=True)
class Upgraded:
    """An installation, and its answers before any test had changed something."""

    installed: Installation
    answers: dict[str, dict[str, Answer]]

    @property
    def service(self) -> Service:
        """The running service."""
        return self.installed.service


@pytest.fixture(scope="module")
def upgraded_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """An installation of the first release, with its data, migrated to this one and started."""
    folder = tmp_path_factory.mktemp("upgrade") / "editor"
    with installation(folder, EDITOR_FRAMEWORK=FRAMEWORK) as installed:
        installed.python(FIRST_RELEASE.format(first=first_migration()))
        insert(installed, ROWS)
        installed.service.manage("migrate", "--verbosity", "0", "--skip-checks")
        installed.service.start()
        yield Upgraded(installed, {who: asked_again(installed.service, who) for who in KEYS})


def asked_again(service: Service, who: str) -> dict[str, Answer]:
    """Send the requests that the first release was sent."""
    with connected(service, KEYS[who]) as api:
        return {path: api.get(path) for path in ANSWERS[who]}


def is_within(expected: Any, found: Any) -> bool:
    """Return whether all expected members are present; a later release may add more."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and is_within(value, found[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list) and len(found) == len(expected) and all(map(is_within, expected, found))
        )
    return bool(expected == found)


def without_times(body: Any) -> Any:
    """Return an answer without `updatedAt`: it no longer reveals drafts to callers who cannot read them."""
    if isinstance(body, list):
        return [without_times(one) for one in body]
    if isinstance(body, dict):
        return {name: without_times(value) for name, value in body.items() if name != "updatedAt"}
    return body


WITHDRAWN = "/away"
"""How the addresses of what was unpublished end. In 0.1.0, readers of drafts got the newest one there."""


@pytest.mark.parametrize("who", KEYS)
def test_every_key_gets_the_same_answers_as_before(upgraded_service: Upgraded, who: str) -> None:
    for path, expected in ANSWERS[who].items():
        found = upgraded_service.answers[who][path]
        if path.endswith(WITHDRAWN) and expected["status"] == 200:
            assert (found.status, found.code) == (404, "unpublished"), path
            continue
        assert found.status == expected["status"], path
        if found.status == 200:
            body = without_times(expected["body"]) if who == "viewer" else expected["body"]
            assert is_within(body, found.body), (path, body, found.body)
        else:
            assert found.code == expected["body"]["code"], path


def test_the_recorded_answers_differ_between_readers() -> None:
    statuses = {answer["status"] for answer in ANSWERS["viewer"].values()}
    assert statuses == {200, 403, 404}


@pytest.mark.parametrize(
    ("kind", "resource_id"), [(AGENTS, "team/writer"), (PROMPT_BLOCKS, "tone")], ids=["agents", "blocks"]
)
def test_work_continues_after_the_upgrade(upgraded_service: Upgraded, kind: Kind, resource_id: str) -> None:
    with connected(upgraded_service.service, KEYS["admin"]) as api:
        newest = kind.versions(api, resource_id)[0]["versionNumber"]
        saved = kind.save(api, resource_id, "after the upgrade", autoPublish=True)
        assert kind.versions(api, resource_id)[0]["versionNumber"] == newest + 1
        assert saved["activeVersionId"] == saved["latestVersionId"]
        label = api.put(kind.url(resource_id, "labels", "upgraded"), {"versionId": saved["latestVersionId"]})
        assert label.status == 200
        assert api.get(kind.url(resource_id), label="upgraded").body[kind.text] == "after the upgrade"


def test_migrating_again_changes_nothing(upgraded_service: Upgraded) -> None:
    dump = "call_command('dumpdata', exclude=['sessions'])"
    program = f"""
from django.core.management import call_command
{dump}; print()
call_command("migrate", skip_checks=True)
{dump}
"""
    before, *said, after = upgraded_service.installed.python(program).split("\n")
    assert "  No migrations to apply." in said
    assert json.loads(before) == json.loads(after)
    entries = [row for row in json.loads(after) if row["model"] == f"{APP}.event"]
    assert len(entries) >= ROWS.count(f"INSERT INTO {APP}_auditentry") > 0


def test_a_release_works_after_a_newer_one_extended_the_tables(upgraded_service: Upgraded) -> None:
    with connected(upgraded_service.service, KEYS["admin"]) as api:
        assert api.get("/agents/lead").status == 200
        insert(upgraded_service.installed, NEWER)
        assert httpx2.get(f"{upgraded_service.service.url}/readyz", trust_env=False).status_code == 200
        AGENTS.save(api, "lead", "meanwhile", autoPublish=True)
        assert api.get("/agents/lead").body["instructions"] == "meanwhile"


@pytest.fixture
def empty_service(tmp_path: Path) -> Iterator[Installation]:
    """An installation whose database has no tables."""
    with installation(tmp_path / "editor") as installed:
        yield installed


def test_a_killed_migration_is_repeated_completely_the_next_time(empty_service: Installation) -> None:
    service = empty_service.service
    for word in WORDS_OF_STATEMENTS:
        program = KILLED_MIGRATION.format(word=word)
        shell = ("manage.py", "shell", "--no-imports", "-c", program)
        done = fork_server.run(*shell, env=service.environment, is_set_up=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
    first = first_migration()
    empty_service.python(FIRST_RELEASE.format(first=first))
    assert f"[X] {first}" in service.manage("showmigrations", APP)
    insert(empty_service, ROWS)


def test_a_server_without_tables_names_the_command_to_run(empty_service: Installation) -> None:
    bind = empty_service.service.url.removeprefix("http://")
    done = fork_server.run(
        "manage.py", "serve", "--bind", bind, env=empty_service.service.environment, is_set_up=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == ["CommandError: The database lacks migrations: run manage.py migrate."]


@pytest.fixture
def used_service(tmp_path: Path) -> Iterator[Service]:
    """A running service."""
    with installation(tmp_path / "editor", is_set_up=True) as installed:
        installed.service.start()
        yield installed.service


def test_readiness_follows_tables_that_are_dropped_and_created_again(
    used_service: Service,
) -> None:
    with connected(used_service, "") as probe:
        probe.prefix = ""
        used_service.manage("migrate", "experiments", "zero", "--verbosity", "0", "--skip-checks")
        pending = probe.get("/readyz")
        assert (pending.code, pending.body["migrations"]) == ("not_migrated", "pending")
        assert probe.get("/healthz").status == 200
        used_service.manage("migrate", "--verbosity", "0", "--skip-checks")
        assert probe.get("/readyz").body == {"status": "ok", "version": __version__, "migrations": "current"}
