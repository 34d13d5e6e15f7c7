"""From SQLite to PostgreSQL and back, by the command of the page: an installation that goes on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.releases.conftest import item
from tests.schedules.conftest import ahead, reference
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Kind
from tests.support.calls import ECHO, PUBLISHED_WORDS, make_history
from tests.support.comments import say
from tests.support.experiments import make_experiment, submit
from tests.support.installation import Installation, installation
from tests.support.locks import by_lock, locked
from tests.support.pages import GUIDES, commands
from tests.support.receiver import Receiver, receiving
from tests.support.remote import RemoteApi, connected
from tests.support.reviews import approve, ask
from tests.support.rollouts import arm, started
from tests.support.runs import ran
from tests.support.studio import visiting
from tests.support.webhooks import make_webhook, verify
from tests.support.writing import DELICATE

KINDS: Final = (AGENTS, PROMPT_BLOCKS, SCORERS)
PASSWORD: Final = "a long password"
SETTINGS: Final = {"EDITOR_THROTTLE": "100000/min", "EDITOR_WEBHOOK_ALLOW": "127.0.0.1"}
"""What the installation needs, before and after a move."""

# Actions without a route: in forms of the studio, or on the machine.
IN_THE_STUDIO: Final = f"""
from datetime import timedelta
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from capabilities.accounts.models import DirectoryAccount, SecondFactor
from capabilities.accounts.models import Identity
from capabilities.rollouts.models import Rollout, RolloutStep
from capabilities.mail.models import Mail, MailCursor, MailKind, MailPreferences
from capabilities.review.models import Look, Review
from studio.models import Density, Example, Preferences, Presence, SavedFilter
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import Agent
ada = User.objects.create_superuser("ada", password={PASSWORD!r})
ada.groups.add(Group.objects.create(name="writers"))
ada.user_permissions.add(Permission.objects.first())
Preferences.objects.change(ada.pk, density=Density.COMPACT)
SavedFilter.objects.create(user=ada, kind="agent", name="Mine", query="author=ada")
writer = Agent.objects.get(pk="writer")
Example.objects.create(kind="agent", resource_id="writer", identity=writer.uuid, name="Gold", author=ada)
of_agents = ContentType.objects.get_for_model(Agent)
Presence.objects.note(ada.pk, kind="agent", resource_id="writer", workspace_id="default")
review = Review.objects.all()[0]
Look.objects.note(str(review.pk), ada.pk, review.version_id, latest=None)
LogEntry.objects.create(user=ada, content_type=of_agents, object_id="writer", action_flag=ADDITION)
get_editor().invitation.invite("default", "lena", Role.VIEWER)
DirectoryAccount.objects.create(user=ada, external_id="e-1")
MailPreferences.objects.create(user=ada, daily=True)
MailCursor.objects.create(position=1)
Mail.due(MailKind.NEWS, timezone.now() + timedelta(days=1), user=ada).save()
Identity.objects.create(user=ada, issuer="https://id.example.com", subject="1")
later = timezone.now() + timedelta(days=1)
tried = Rollout.objects.filter(kind="agent").get()
RolloutStep.objects.create(rollout=tried, arm="new", weight=2500, run_at=later, due_at=later, author=ada)
SecondFactor(user=User.objects.create_user("safe"), kind="totp").store({{"secret": "x", "step": 0}})
"""


@dataclass(frozen=True)
class Life:
    """The data needed to continue with it elsewhere."""

    keys: tuple[str, str]
    """Of the admin robot, and of rita, who approves."""
    lock: dict[str, Any]
    webhook: dict[str, Any]
    """With its secret."""
    schedules: dict[Kind, dict[str, Any]]
    """Each of a draft."""
    release: dict[str, Any]
    """Not published yet."""


def live_a_life(installed: Installation, receiver: Receiver) -> Life:
    """Fill a running installation, and stop it; only one message is left for a worker."""
    service = installed.service
    rita = service.manage("create_api_key", "rita", "--workspace", "default", "--role", "admin")
    with connected(service) as robot, connected(service, rita) as reviewer:
        webhook = make_webhook(robot, receiver.url, "agent.*", workspace="default")
        _write(robot)
        _review(robot, reviewer)
        lock = locked(robot, "lead")
        _publish_together(robot)
        _try_on_a_share(robot)
        waiting = _release(robot, "waiting", "later words")
        schedules = {kind: _schedule(robot, kind) for kind in KINDS}
        policy = {"required": 1, "bypass": "admin"}
        assert robot.put("/workspaces/default/review-policy", policy).status == 200
    installed.python(IN_THE_STUDIO)
    with visiting(service.url) as ada:
        assert not ada.sign_in("ada", "a wrong one")
        assert ada.sign_in("ada", PASSWORD)
    service.manage("work", "--once")
    with connected(service) as robot:
        AGENTS.make(robot, "told-later", "not told yet")
    service.stop()
    return Life((service.key, rita), lock, webhook, schedules, waiting)


def _write(api: RemoteApi) -> None:
    metadata = {"n": 1.5, "big": 2**60, "text": DELICATE, "list": [None, True], "tags": ["one", "two"]}
    for kind in KINDS:
        make_history(kind, api, "writer", metadata=metadata)
        away = kind.make(api, "away", DELICATE)
        kind.save(api, "away", "kept in its place")
        assert api.delete(kind.url("away", "versions", away["latestVersionId"])).status == 200
        assert api.put(kind.url("writer", "favorite")).status == 200
    instructions = [{"type": "prompt_block_ref", "id": "writer"}]
    named = {"agents": {"writer": {}}, "scorers": {"writer": {}}}
    AGENTS.make(api, "lead", instructions, model=ECHO, autoPublish=True, **named)
    again = {"name": "Again", "instructions": "Once."}
    for _ in range(2):
        assert api.request("POST", AGENTS.path, again, idempotency_key="once").status == 201
    dataset = api.post("/datasets", {"name": DELICATE[:200], "workspaceId": "default"}).body["id"]
    assert api.post(f"/datasets/{dataset}/items", {"input": DELICATE, "externalId": "one"}).status == 201
    experiment = make_experiment(api, f"/datasets/{dataset}", name=DELICATE[:200], metadata=metadata)
    asked = api.get(f"/datasets/{dataset}/items").body["items"][0]["id"]
    submit(
        api, experiment, asked, DELICATE, scores=[{"scorerId": "people", "score": 0.5, "reason": DELICATE}]
    )
    _, _, experiment_id = experiment.rpartition("/")
    label = {"experimentId": experiment_id, "itemId": asked, "name": "helpful", "value": True}
    assert api.post("/labels", {**label, "comment": DELICATE}).status == 201
    make_experiment(api, f"/datasets/{dataset}", targetType="agent", targetId="lead", scorerIds=["writer"])
    gate = {"datasetId": dataset, "scorerIds": ["writer"], "rules": [{"rule": "notWorse"}], "enabled": False}
    made = api.post("/gates", {**gate, "resource": {"kind": "agent", "id": "lead"}})
    assert made.status == 201, made.body
    override = {"id": "support", "instructions": "of the editors", "autoPublish": True}
    assert api.post(AGENTS.path, override).status == 201
    assert api.get("/agents/support").body["instructions"] == "of the editors"


def _review(author: RemoteApi, reviewer: RemoteApi) -> None:
    for kind in KINDS:
        made = kind.make(author, "reviewed", "first words")
        review = ask(author, kind, "reviewed", reviewers=["rita"])
        thread = say(reviewer, made, kind, field=kind.text, body=DELICATE)
        say(author, made, kind, body="Because, @rita.", parent=thread["id"])
        approve(reviewer, review)


def _release(api: RemoteApi, name: str, text: str) -> dict[str, Any]:
    for kind in KINDS:
        kind.make(api, name, text)
    body = {"workspaceId": "default", "title": name, "items": [item(kind, name) for kind in KINDS]}
    answer = api.post("/releases", body)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def _publish_together(api: RemoteApi) -> None:
    release = _release(api, "together", "words of a release")
    assert api.post(f"/releases/{release['id']}/publish").status == 200


def _try_on_a_share(api: RemoteApi) -> None:
    for kind in KINDS:
        kind.make(
            api, "tried", "first words", autoPublish=True, **({"model": ECHO} if kind is AGENTS else {})
        )
        draft = kind.save(api, "tried", "other words")["latestVersionId"]
        started(api, kind, arm(draft, weight=500), resource_id="tried")
    answer = ran(api, "tried", requestContext={"userId": "ada"})
    said = api.post("/feedback", {"runId": answer["runId"], "name": "helpful", "value": True})
    assert said.status == 201, said.body


def _schedule(api: RemoteApi, kind: Kind) -> dict[str, Any]:
    kind.make(api, "scheduled", PUBLISHED_WORDS, autoPublish=True)
    draft = kind.save(api, "scheduled", "words of tomorrow")["latestVersionId"]
    body = {"resource": reference(kind, "scheduled"), "versionId": draft, "runAt": ahead()}
    answer = api.post("/schedules", body)
    assert answer.status == 201, answer.body
    return dict(answer.body)


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
    with pytest.raises(AssertionError, match="already contains an installation"):
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
        assert ada.sign_in("ada", PASSWORD)
        page = ada.get("/studio/search/", q="tomorrow").markup
        for kind in ("agent", "promptblock"):
            assert f"/studio/versioning/{kind}/scheduled/" in page
