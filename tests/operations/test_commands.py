"""The commands around the service: what starts it, what prevents the start, and the demo."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.test import Client
from pytest_django import Settings

from capabilities.accounts.models import FactorKey
from capabilities.delivery.models import RootKey
from tests.conftest import Cast
from tests.support import fork_server
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.people import command, key_of
from versioning import __version__
from versioning.conf import check_values
from versioning.models import LockKey, WorkerHeartbeat, Workspace

FRESH = "a new secret"
CODE_DEFINED = {"support", "supervisor"}


# Starting


def run(
    folder: Path, *arguments: str, is_set_up: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with an empty database and only the given settings; it must end by itself."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"SECRET_KEY", "DEBUG"}}
    env = {**inherited, "DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}", **environment}
    return fork_server.run("manage.py", *arguments, env=env, is_set_up=is_set_up)


@pytest.mark.parametrize(
    ("name", "environment"), [("serve", {}), ("migrate", {"SECRET_KEY": ""}), ("serve", {"DEBUG": "off"})]
)
def test_without_a_secret_key_the_start_fails_with_one_sentence(
    tmp_path: Path, name: str, environment: dict[str, str]
) -> None:
    done = run(tmp_path, name, **environment)
    assert done.returncode != 0
    assert re.search(r"SECRET_KEY is not set", done.stderr)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_with_debugging_it_starts_without_a_secret_key(tmp_path: Path) -> None:
    done = run(tmp_path, "check", is_set_up=True, DEBUG="on")
    assert done.returncode == 0, done.stderr


# Migrating


def test_migrate_makes_the_workspace_of_the_code_defined_agents(cast: Cast, kind: Kind) -> None:
    record = kind.make(cast.root, workspaceId="default")
    assert record["workspaceId"] == "default" == django_settings.EDITOR_CODE_WORKSPACE


def test_migrate_makes_the_workspace_that_the_settings_name(
    cast: Cast, kind: Kind, settings: Settings
) -> None:
    body = kind.body(id="writer", workspaceId="platform")
    assert cast.root.post(kind.path, body).status == 403
    settings.EDITOR_CODE_WORKSPACE = "platform"
    command("migrate", "--verbosity", "0")
    assert cast.root.post(kind.path, body).body["workspaceId"] == "platform"


def test_migrating_again_changes_nothing(cast: Cast) -> None:
    Workspace.objects.filter(id="default").update(name="Our own name")
    before = list(Workspace.objects.values())
    command("migrate", "--verbosity", "0")
    assert list(Workspace.objects.values()) == before


# The demo


def run_demo(*arguments: str) -> tuple[Api, str]:
    """Run the command; return the API with the printed key, and the whole output."""
    printed = command("demo", *arguments)
    keys = re.findall(r"ek_[\w-]+", printed)
    assert len(keys) == 1, printed
    return Api(keys[0]), printed


def contents(api: Api) -> dict[str, list[str]]:
    """All versions of all stored resources, by id."""
    found = {}
    for kind in (AGENTS, PROMPT_BLOCKS):
        for item in api.get(kind.path, status="all").body[kind.list_key]:
            found[f"{kind.list_key} {item['id']}"] = [row["id"] for row in kind.versions(api, item["id"])]
    return found


def test_the_demo_prints_how_to_get_in_and_holds_something_of_each_sort(db: None) -> None:
    api, printed = run_demo("--address", "http://127.0.0.1:8765")
    assert "http://127.0.0.1:8765/studio/" in printed
    signing_in = re.search(r"Sign in\s+(\S+) / (\S+)", printed)
    assert signing_in is not None
    assert Client().login(username=signing_in[1], password=signing_in[2])
    assert User.objects.get(username=signing_in[1]).is_staff

    agents = {item["id"]: item for item in api.get(AGENTS.path, status="all").body["agents"]}
    blocks = api.get(PROMPT_BLOCKS.path).body["promptBlocks"]
    assert agents and blocks
    assert not CODE_DEFINED & set(agents), "an override"
    assert any(item["hasDraft"] for item in [*agents.values(), *blocks])
    assert {item["workspaceId"] for item in [*agents.values(), *blocks]} == {"default"}
    for agent_id in agents:
        assert api.get(f"/agents/{agent_id}").body["warnings"] == []
    for kind in (AGENTS, PROMPT_BLOCKS):
        record = kind.make(api, "fresh", autoPublish=True)
        assert (record["workspaceId"], record["status"]) == ("default", "published")
        assert api.delete(kind.url("fresh")).status == 200


def test_without_an_address_the_demo_prints_paths(db: None) -> None:
    _, printed = run_demo()
    assert "Studio   /studio/" in printed and "http" not in printed


def test_the_demo_is_loaded_once_and_keeps_changes_by_people(db: None) -> None:
    first, _ = run_demo()
    deleted, edited, *_ = sorted(item["id"] for item in first.get(AGENTS.path).body["agents"])
    assert first.delete(AGENTS.url(deleted)).status == 200
    AGENTS.save(first, edited, "in our own words")
    User.objects.filter(username="demo").update(first_name="Renamed")
    before = contents(first)
    again, _ = run_demo()
    assert contents(again) == before
    assert again.get(AGENTS.url(edited), status="draft").body["instructions"] == "in our own words"


def test_the_demo_makes_a_new_key_each_time_and_revokes_only_the_last_one(db: None) -> None:
    first = run_demo()[0]
    own = key_of("demo", name="my own")
    keys = [first, *(run_demo()[0] for _ in range(2)), own]
    assert len({api.key for api in keys}) == 4
    assert [api.get("/stored/agents").status for api in keys] == [401, 401, 200, 200]


def test_the_demo_keeps_its_key_in_a_file(db: None, tmp_path: Path) -> None:
    file = tmp_path / "demo_key"
    first, second = (run_demo("--key-file", str(file))[0] for _ in range(2))
    assert first.key == second.key == file.read_text().strip()
    assert file.stat().st_mode & 0o777 == 0o600
    assert first.get(AGENTS.path).status == 200
    command("revoke_api_key", first.key)
    third = run_demo("--key-file", str(file))[0]
    assert [api.get(AGENTS.path).status for api in (first, third)] == [401, 200]
    assert third.key == file.read_text().strip()


def test_the_demo_takes_the_key_that_the_environment_names(db: None, settings: Settings) -> None:
    before = run_demo()[0]
    settings.EDITOR_DEMO_KEY = f"ek_{secrets.token_urlsafe(32)}"
    keys = [run_demo()[0] for _ in range(2)]
    assert {api.key for api in keys} == {settings.EDITOR_DEMO_KEY}
    assert [api.get(AGENTS.path).status for api in (before, *keys)] == [401, 200, 200]
    command("revoke_api_key", settings.EDITOR_DEMO_KEY)
    with pytest.raises(CommandError, match="revoked"):
        command("demo")
    settings.EDITOR_DEMO_KEY = "ek_short"
    [error] = check_values()
    assert "EDITOR_DEMO_KEY" in error.msg and "short" not in error.msg


# Keys and status


def test_what_lies_under_an_earlier_secret_key_is_put_under_the_newest(
    cast: Cast, client: Client, settings: Settings
) -> None:
    LockKey.load_key()
    RootKey.load_key()
    FactorKey.load_key()
    client.force_login(User.objects.get(username="alice"))
    earlier = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = FRESH, [earlier]
    state = json.loads(command("status", "--json"))
    assert (state["fallbacks"], set(state["keys"].values())) == (1, {"under a fallback"})
    said = command("rotate_keys")
    assert said.count("encrypted again") == 3 and "1 signed again" in said and "you can remove" in said
    again = command("rotate_keys")
    assert again.count("unchanged") == 3 and "0 signed again" in again

    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/studio/").status_code == 200
    assert "There is no fallback." in command("rotate_keys")
    settings.SECRET_KEY = earlier
    with pytest.raises(CommandError, match="Keep all fallbacks"):
        command("rotate_keys")
    assert set(json.loads(command("status", "--json"))["keys"].values()) == {"unreadable"}


@pytest.mark.database
def test_status_says_how_the_installation_is(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    state = json.loads(command("status", "--json"))
    log = cast.alice.get("/events", after="now").body
    assert (state["version"], state["migrations"]) == (__version__, "current")
    assert (state["log"]["position"], state["log"]["epoch"]) == (log["next"], log["epoch"])
    assert state["worker"] == {"running": False, "silentSince": None}
    WorkerHeartbeat.objects.beat("one")
    assert state["queues"].keys() >= {"delivery", "schedule"}
    lines = dict(re.split(r":\s+", line, maxsplit=1) for line in command("status").splitlines())
    assert (lines["Version"], lines["Log position"]) == (__version__, str(state["log"]["position"]))
    assert (lines["Worker"], lines["Key of the editor's locks"]) == (
        "running",
        state["keys"]["versioning.LockKey"],
    )
    assert lines["Waiting webhook deliveries"] == "0 due, 0 in progress, 0 later"
