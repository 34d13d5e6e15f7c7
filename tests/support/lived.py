"""An installation that has been in use: objects of every stored type, created by people over HTTP.

`test_moving` counts the rows of every table, so a new capability has to add its own rows here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tests.releases.conftest import item
from tests.schedules.conftest import ahead, reference
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Kind
from tests.support.browsing import sign_in, visiting
from tests.support.calls import ECHO, PUBLISHED_WORDS, make_history
from tests.support.comments import say
from tests.support.experiments import make_experiment, submit
from tests.support.installation import Installation
from tests.support.locks import locked
from tests.support.receiver import Receiver
from tests.support.remote import RemoteApi, connected
from tests.support.reviews import approve, ask
from tests.support.rollouts import arm, started
from tests.support.runs import ran
from tests.support.webhooks import make_webhook
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
        assert not sign_in(ada, "ada", "a wrong one")
        assert sign_in(ada, "ada", PASSWORD)
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
