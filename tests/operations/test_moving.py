"""From SQLite to PostgreSQL and back, by the command of the page: an installation that goes on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.browsing import sign_in, visiting
from tests.support.calls import PUBLISHED_WORDS
from tests.support.installation import Installation, installation
from tests.support.lived import KINDS, PASSWORD, SETTINGS, Life, live_a_life
from tests.support.locks import by_lock
from tests.support.pages import GUIDES, commands
from tests.support.receiver import Receiver, receiving
from tests.support.remote import RemoteApi, connected
from tests.support.reviews import approve, ask
from tests.support.webhooks import verify

pytestmark = pytest.mark.postgresql

[MOVE] = commands(GUIDES / "move.md", "From SQLite to PostgreSQL")

LEFT_BEHIND = {
    "versioning.AgentDocument",  # a worker fills the index of the search again
    "versioning.PromptBlockDocument",
    "evaluation.ScorerDocument",
    "versioning.SearchProgress",
}
WITHOUT_ROWS = {"versioning.KnownOverride"}
"""Only an installation whose overrides are files has any."""
# An administrator's first steps. In between it copies the database, which holds no installation yet.
SET_UP = """
import shutil
from django.core.management import call_command
from django.db import connection
call_command("migrate", verbosity=0, skip_checks=True)
connection.close()
shutil.copyfile(connection.settings_dict["NAME"], {back!r})
call_command("create_api_key", "robot", workspace="default", role="admin")
"""
COUNTS = """
import json
from django.apps import apps
print(json.dumps({model._meta.label: model._base_manager.count() for model in apps.get_models()}))
"""
IS_INDEXED = """
from versioning.models.text_search import SearchProgress
print(SearchProgress.objects.filter(is_whole=True).exists())
"""
IT_IS_TIME = """
from django.utils import timezone
from capabilities.schedules.models import Schedule
Schedule.objects.update(run_at=timezone.now(), due_at=timezone.now())
"""


@dataclass(frozen=True)
class Moving:
    """The state of the move."""

    old: Installation
    life: Life
    answers: dict[str, Any]
    """What was served before."""
    receiver: Receiver
    back: Path
    """Another database on SQLite, which has its tables already."""


@pytest.fixture(scope="module")
def old_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moving]:
    """An installation on SQLite that has been in use."""
    folder = tmp_path_factory.mktemp("moving") / "old"
    database, back = f"sqlite:///{folder}/var/editor.sqlite3", folder / "back.sqlite3"
    with receiving() as receiver, installation(folder, DATABASE_URL=database, **SETTINGS) as old:
        old.service.key = old.python(SET_UP.format(back=str(back)))
        old.service.start()
        life = live_a_life(old, receiver)
        old.service.start()
        with connected(old.service) as api:
            before = answers(api)
        old.service.stop()
        yield Moving(old, life, before, receiver, back)


@pytest.fixture
def new_service(tmp_path: Path) -> Iterator[Installation]:
    """An empty PostgreSQL."""
    with installation(tmp_path / "new", **SETTINGS) as new:
        yield new


def answers(api: RemoteApi) -> dict[str, Any]:
    """Return the served agents and blocks, and their history."""
    paths = ["/agents", f"{AGENTS.path}?status=all", PROMPT_BLOCKS.path, "/agents/lead", "/agents/support"]
    paths += ["/reviews", "/comments", "/releases", "/schedules", "/webhooks", "/events?limit=1000"]
    paths += ["/workspaces/default/review-policy", "/datasets", "/experiments", "/gates"]
    for kind in KINDS:
        for resource_id in ("writer", "away", "reviewed", "together"):
            rest = ("versions", "labels", "dependents")
            paths += [kind.url(resource_id), f"{kind.url(resource_id)}?status=draft"]
            paths += [kind.url(resource_id, part) for part in rest]
    found = {path: api.get(path) for path in paths}
    assert {answer.status for answer in found.values()} == {200}
    log = found.pop("/events?limit=1000").body["events"]  # the rest of it says how far the log is
    [webhook] = found["/webhooks"].body["webhooks"]
    sent = api.get(f"/webhooks/{webhook['id']}/deliveries", perPage=100).body["deliveries"]
    by_id = sorted(sent, key=itemgetter("id"))  # in the list, those of the same millisecond are in any order
    both = {"log": log, "deliveries": by_id}
    return {path: (answer.body, answer.headers.get("ETag")) for path, answer in found.items()} | both


def test_everything_moves_and_work_continues(old_service: Moving, new_service: Installation) -> None:
    old = old_service.old
    counts = json.loads(old.python(COUNTS))
    assert {label for label, count in counts.items() if not count} == WITHOUT_ROWS
    there = old.run(MOVE, NEW_DATABASE_URL=new_service.service.environment["DATABASE_URL"])
    *tables, _ = there.splitlines()
    assert len(tables) >= len(counts.keys() - LEFT_BEHIND)  # those between two models, too
    back = new_service.run(MOVE, NEW_DATABASE_URL=f"sqlite:///{old_service.back}")
    assert back == there
    with closing(sqlite3.connect(old_service.back)) as database, database:  # as an earlier release left it
        database.execute("DELETE FROM django_migrations WHERE app = 'mail'")
    with pytest.raises(AssertionError, match="holds an installation already"):
        old.run(MOVE, NEW_DATABASE_URL=f"sqlite:///{old_service.back}")

    service = new_service.service
    service.key, rita = old_service.life.keys
    service.start()
    with connected(service) as api, connected(service, rita) as reviewer:
        assert answers(api) == old_service.answers
        assert new_service.python(IS_INDEXED) == "False"
        search_works(new_service)
        for kind in KINDS:
            continue_working(api, reviewer, kind)
        assert by_lock(api, old_service.life.lock)["text"].startswith(PUBLISHED_WORDS)
        due_schedules_and_webhooks_run(old_service, new_service, api)
        assert new_service.python(IS_INDEXED) == "True"
        search_works(new_service)


def continue_working(api: RemoteApi, reviewer: RemoteApi, kind: Kind) -> None:
    """Make changes that need a new number, a new row and an old pointer."""
    assert api.get(kind.url("writer")).body[kind.text] == PUBLISHED_WORDS
    newest = kind.versions(api)[0]["versionNumber"]
    saved = kind.save(api, "writer", "after the move")["latestVersionId"]
    assert kind.versions(api)[0]["versionNumber"] == newest + 1
    position = api.get("/events", after="now").body["next"]
    # The policy of the workspace has moved along.
    refused = api.post(kind.url("writer", "versions", saved, "activate"))
    assert (refused.status, refused.code) == (403, "review_required")
    for resource_id in ("writer", "scheduled"):
        approve(reviewer, ask(api, kind, resource_id))
    kind.publish(api, "writer", saved)
    entries = [entry["type"] for entry in api.get("/events", after=position).body["events"]]
    assert entries[-1].endswith(".published")
    assert api.put(kind.url("writer", "labels", "moved"), {"versionId": saved}).status == 200
    # The pointers are guarded here as they were there.
    assert api.delete(kind.url("writer", "versions", saved)).status == 400


def due_schedules_and_webhooks_run(old_service: Moving, new: Installation, api: RemoteApi) -> None:
    """The schedule goes live, and the receiver gets the events from before and after the move."""
    told = {message.id for message in old_service.receiver.messages}
    new.python(IT_IS_TIME)
    new.service.manage("work", "--once")
    sent = [message for message in old_service.receiver.messages if message.id not in told]
    events = [verify(message, old_service.life.webhook["secret"]) for message in sent]
    assert {"told-later", "writer"} <= {event["resource"]["id"] for event in events}
    for schedule in old_service.life.schedules.values():
        assert api.get(f"/schedules/{schedule['id']}").body["state"] == "done"


def search_works(new: Installation) -> None:
    """Search for a word of both kinds."""
    with visiting(new.service.url) as ada:
        assert sign_in(ada, "ada", PASSWORD)
        page = ada.get("/studio/search/", params={"q": "tomorrow"}).text
        for kind in ("agent", "promptblock"):
            assert f"/studio/versioning/{kind}/scheduled/" in page
