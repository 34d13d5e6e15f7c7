"""Erasing a person: the name and the address go everywhere, and what the person did stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from capabilities.accounts.models import DirectoryAccount, Identity, OpenSession, SecondFactor
from capabilities.delivery import running
from capabilities.delivery.models import Delivery, DeliveryAttempt, Webhook
from capabilities.evaluation.experiments.models import Cell, Experiment
from capabilities.mail.models import Mail, MailKind, MailPreferences
from capabilities.rollouts.models import Rollout, RolloutStep
from capabilities.schedules.models import Schedule
from studio.models import Density, Preferences, SavedFilter
from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.honest_requests import COMMENT, REVIEW, make_one_of_everything, versions_of
from tests.support.people import command, give_role, person
from tests.support.studio import Visitor
from tests.support.unchanged import is_refusal
from versioning.api.schemas import ResponseSchema
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Role
from versioning.domain.errors import Message
from versioning.models import AgentVersion, ApiKey, Event, IdempotentRequest, Invitation, Membership, events
from versioning.models.personal_data import PEOPLE_IN_ANSWERS

ADDRESS = "alice@home.example"
FULL = "Alicia Keen"
ERASE = "/people/alice/erase"
NAMED = re.compile(rf"(?<![\w-])alice(?!\w)|{ADDRESS}|{FULL}", re.IGNORECASE)
"""Keys of the cast begin with `ek_alice-`."""


@pytest.fixture(scope="module")
def versions(
    stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]
) -> dict[Kind, list[str]]:
    """Something of everything, which alice has made; paula is another admin."""
    with stored_once():
        made = make_one_of_everything(shared_keys)
        give_role("paula", "acme", "admin")
        leave_traces(Api(shared_keys["alice"]))
        return made


@pytest.fixture
def cast(versions: dict[Kind, list[str]], shared_cast: Cast) -> Cast:
    return shared_cast


PLACES = {
    *("auth_user.username", "auth_user.email", "django_admin_log.object_repr"),
    *("versioning_event.actor", "versioning_event.detail", "versioning_agentversion.bypassed_by"),
    *("versioning_apikey.name", "versioning_invitation.mail", "versioning_idempotentrequest.body"),
    *("delivery_webhook.created_by", "delivery_delivery.body", "mail_mail.detail"),
    *("review_comment.author_name", "review_comment.resolved_by_name"),
    *("review_review.author_name", "review_verdict.author_name"),
    *("schedules_schedule.author_name", "schedules_schedule.problem"),
    *(
        "experiments_rollout.author_name",
        "experiments_rolloutstep.author_name",
        "experiments_rolloutstep.problem",
        "experiments_usage.last_used_by",
    ),
    *("evaluation_experiment.author_name", "evaluation_cell.error_message"),
    *("company_directoryaccount.external_id", "studio_savedfilter.query"),
}
"""Where somebody's name or address is stored as text."""


def leave_traces(alice: Api) -> None:
    """Leave what is stored about a person in every other place."""
    user = User.objects.get(username="alice")
    user.email, (user.first_name, user.last_name) = ADDRESS, FULL.split()
    user.save()
    Client().force_login(user)
    assert alice.put(AGENTS.url("writer", "favorite")).status == 200
    SavedFilter.objects.create(user=user, kind="agent", name="Mine", query="tag=x")
    paula = User.objects.get(username="paula")
    SavedFilter.objects.create(user=paula, kind="agent", name="Hers", query="author=alice&tag=x%20y")
    Preferences.objects.change(user.pk, density=Density.COMPACT)
    Identity.objects.create(user=user, issuer="https://id.example.com", subject="1")
    SecondFactor(user=user, kind="totp", name="the phone").store({"secret": "x", "step": 0})
    DirectoryAccount.objects.create(user=user, external_id=ADDRESS)
    MailPreferences.objects.create(user=user, daily=True)
    Mail.due(MailKind.NEWS, user=user).save()
    for asked in ("alice", ADDRESS):
        Mail.due(MailKind.FORGOTTEN_PASSWORD, detail={"asked": asked}).save()
    get_editor().invitation.invite("acme", "alicia", Role.VIEWER, mail=ADDRESS, by=paula)
    about = {"object_id": str(user.pk), "object_repr": "alice", "action_flag": CHANGE}
    of_users = ContentType.objects.get_for_model(User)
    LogEntry.objects.create(user=paula, content_type=of_users, change_message="[]", **about)
    made = alice.post("/keys", {"name": "Alice's laptop"}, idempotency_key="once")
    assert made.status == 201
    review = alice.post("/reviews", {"resource": {"kind": "agent", "id": "calm"}}).body
    verdict = {"versionId": versions_of("reviewed")["latest"], "verdict": "approve"}
    assert (
        alice.post(f"/reviews/{REVIEW}/verdicts", verdict).status == 200 and review["requestedBy"] == "alice"
    )
    assert alice.patch(f"/comments/{COMMENT}", {"resolved": True}).status == 200
    used = {"resource": {"kind": "agent", "id": "shared"}, "versionId": versions_of("shared")["active"]}
    assert alice.post("/usage", {**used, "runs": 1}).status == 201
    Webhook.objects.update(created_by="alice")
    ping = alice.post("/webhooks/6f9619ff-8b86-4011-b42d-00c04fc964f0/ping")
    assert ping.status in {200, 201}, ping.body
    running.fill()
    policy = {"required": 1, "bypass": "admin"}
    assert alice.put("/workspaces/acme/review-policy", policy).status == 200
    draft = AGENTS.make(alice, "bypassed")["latestVersionId"]
    reason = {"bypassReview": {"reason": "It is urgent."}}
    assert alice.post(AGENTS.url("bypassed", "versions", draft, "activate"), reason).status == 200
    gone = Message("The account {name!r} is gone, or switched off.", name="alice")
    Schedule.objects.update(problem=gone)
    rollout, now = Rollout.objects.earliest("started_at"), timezone.now()
    author = {"author": user, "author_name": "alice"}
    step = RolloutStep(rollout=rollout, arm="new", weight=500, run_at=now, due_at=None, **author)
    step.state, step.problem = "failed", gone
    step.save()
    Cell.objects.update(error_message=str(gone))
    Experiment.objects.update(author=user, author_name="alice")


def traces() -> list[str]:
    """Return every column of every table in which the person is named."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                found += [
                    f"{table}.{name}: {value}"
                    for name, value in zip(names, row, strict=True)
                    if NAMED.search(str(value))
                ]
    return found


@pytest.mark.database  # how JSON is searched
def test_no_trace_of_the_name_is_left_and_what_was_done_stays(
    cast: Cast, versions: dict[Kind, list[str]]
) -> None:
    assert {one.partition(":")[0] for one in traces()} == PLACES
    entries, memberships = Event.objects.count(), Membership.objects.filter(workspace="acme").count()
    authored = AgentVersion.objects.filter(author__username="alice").count()
    tag = cast.paula.get(AGENTS.url("writer"), status="draft").headers["ETag"]
    answer = cast.root.post(ERASE)
    assert answer.status == 200
    name = answer.body["username"]
    assert re.fullmatch(r"erased-[0-9a-f]{8}", name)
    assert [one for one in traces() if not one.startswith("django_session.")] == []
    user = User.objects.get(username=name)
    assert not (user.is_active or user.has_usable_password() or user.email or user.get_full_name())
    assert AgentVersion.objects.filter(author=user).count() == authored
    assert Event.objects.filter(actor=name).exists()
    assert AgentVersion.objects.get(resource="bypassed").bypassed_by == name
    about = {"query": {"status": "draft"}, "if_none_match": tag}
    record = cast.paula.request("GET", AGENTS.url("writer"), **about)  # type: ignore[arg-type]
    assert (record.status, record.body["authorId"]) == (200, name)
    for model in (Identity, SecondFactor, OpenSession, MailPreferences):
        assert not model.objects.filter(user=user).exists()
    assert SavedFilter.objects.get().query == f"author={name}&tag=x+y"
    assert Membership.objects.filter(workspace="acme").count() == memberships - 1
    assert not ApiKey.objects.filter(owner=user, revoked_at=None).exists()
    assert cast.alice.get(AGENTS.path).status == 401
    ended = list(Event.objects.order_by("position", "ordinal")[entries:].values_list("type", flat=True))
    assert ended[-1] == "person.erased" and "member.removed" in ended
    last = Event.objects.order_by("-position").first()
    assert last is not None and (last.actor, last.detail) == ("root", {"username": name})
    assert {one["type"] for one in cast.root.get("/events", type="person.*").body["events"]} == {
        "person.erased"
    }
    assert cast.paula.get("/events", type="person.*").body["events"] == []
    # Again: nothing is left of the old name, and the new one stays.
    assert is_refusal(cast.root.post(ERASE), 404, "not_found")
    assert cast.root.post(f"/people/{name}/erase").body == {"username": name}
    assert Event.objects.filter(type="person.erased").count() == 1


@pytest.mark.parametrize("who", ["paula", "edgar", "charlie", "nobody"])
def test_only_superusers_erase(cast: Cast, who: str) -> None:
    for name in ("vera", "missing"):
        refused = getattr(cast, who).post(f"/people/{name}/erase")
        assert refused.status == (401 if who == "nobody" else 403)
    assert User.objects.filter(username="vera").exists()


def test_a_last_superuser_and_a_last_admin_stay(cast: Cast) -> None:
    assert is_refusal(cast.root.post("/people/charlie/erase"), 409, "last_admin")
    assert is_refusal(cast.root.post("/people/root/erase"), 409, "own_account")
    with pytest.raises(CommandError, match="last superuser"):
        command("erase_person", "root")
    assert {"charlie", "root"} <= set(User.objects.values_list("username", flat=True))
    give_role("paula", "elsewhere", "admin")
    assert cast.root.post("/people/charlie/erase").status == 200


def test_the_command_erases_the_name_of_an_account_that_is_gone(cast: Cast) -> None:
    person("leonie", acme="viewer")
    User.objects.get(username="leonie").delete()
    assert Event.objects.filter(detail__username="leonie").exists()
    name = command("erase_person", "leonie").strip()
    assert name.startswith("erased-")
    assert not Event.objects.filter(detail__username="leonie").exists()
    assert Event.objects.filter(type="member.added", detail__username=name).exists()
    with pytest.raises(CommandError, match=r"^Nothing is stored under the name 'leonie'\.$"):
        call_command("erase_person", "leonie")


@pytest.mark.database
def test_a_name_in_letters_beyond_ascii_is_found(cast: Cast) -> None:
    person("zoë", acme="viewer")
    assert cast.root.post("/people/zo%C3%AB/erase").status == 200
    assert not [entry for entry in Event.objects.all() if "zoë" in (entry.actor, *entry.detail.values())]


@pytest.mark.database  # how JSON is searched
@pytest.mark.parametrize("name", ["admin", "acme", "api", "username"])
def test_a_name_that_is_an_ordinary_word_is_replaced_only_where_people_are_named(
    cast: Cast, name: str
) -> None:
    webhook = Webhook.objects.order_by("pk")[0]
    details: dict[str, dict[str, Any]] = {
        "member.roleChanged": {"username": "bob", "from": name, "to": name, "invitedBy": name},
        "key.created": {"owner": "bob", "name": name, "role": name, "actions": [name], "prefix": name},
        "signIn.succeeded": {"username": name, "provider": name, "roles": {"owner": name}},
        "review.requested": {"reviewers": ["bob", name], "fields": [name]},
        "schedule.created": {"createdBy": name, "action": name},
    }
    person(name)
    with events.transaction():
        for event_type, detail in details.items():
            events.record(event_type, by=APPLICATION, workspace_id="acme", **detail)
    event = {"actor": {"id": name, "via": name}, "workspaceId": name, "detail": details["key.created"]}
    delivery = Delivery(webhook=webhook, event_id=uuid4(), body=json.dumps(event), state="done")
    delivery.save()
    response = (
        f'{{"actor": {{"id": "{name}", "via": "{name}"}}, '
        f'"detail": {{"reviewers": ["bob", "{name}"], "from": "{name}", "own'
    )
    attempt = DeliveryAttempt(delivery=delivery, at=timezone.now(), milliseconds=1, response=response)
    attempt.save()
    saved = SavedFilter.objects.get(name="Hers")
    SavedFilter.objects.filter(pk=saved.pk).update(query=f"author={name}&tag={name}")

    new = cast.root.post(f"/people/{name}/erase").body["username"]
    details["member.roleChanged"]["invitedBy"] = new
    details["signIn.succeeded"]["username"] = new
    details["review.requested"]["reviewers"] = ["bob", new]
    details["schedule.created"]["createdBy"] = new
    for event_type, detail in details.items():
        assert Event.objects.filter(type=event_type).order_by("-position")[0].detail == detail
    delivery.refresh_from_db()
    assert json.loads(delivery.body) == {**event, "actor": {"id": new, "via": name}}
    attempt.refresh_from_db()
    assert attempt.response == (
        f'{{"actor": {{"id": "{new}", "via": "{name}"}}, '
        f'"detail": {{"reviewers": ["bob", "{new}"], "from": "{name}", "own'
    )
    saved.refresh_from_db()
    assert saved.query == f"author={new}&tag={name}"


@pytest.mark.database
@pytest.mark.parametrize("name", ["admin", "asked", "username"])
def test_answers_and_mail_that_only_hold_the_word_stay(cast: Cast, name: str) -> None:
    person(name)
    IdempotentRequest.objects.all().delete()
    others = {
        "agent": {"id": name, "name": name, "authorId": "bob", "metadata": {"owner": name, "tags": [name]}},
        "key": {"owner": "bob", "role": name, "actions": [name]},
        "problem": {"problems": [{"code": name, "message": f"The role {name} is gone."}]},
    }
    about = {
        "version": {"id": "x", "authorId": name},
        "review": {"reviewers": ["bob", name]},
        "verdict": {"verdicts": [{"by": name, "verdict": "approve"}]},
        "ping": {"event": {"actor": {"id": name}}},
        "schedule": {"problems": [{"message": f"The account {name!r} is gone, or switched off."}]},
    }
    stored = {key: json.dumps(body) for key, body in {**others, **about}.items()}
    for key, body in {**stored, "text": f'a text with "{name}"'}.items():
        IdempotentRequest.objects.create(
            caller="bob", key=key, digest="x", begun_at=timezone.now(), status=201, body=body
        )
    Mail.objects.all().delete()
    for asked in (name, name.upper(), "bob"):
        Mail.due(MailKind.FORGOTTEN_PASSWORD, detail={"asked": asked, "other": name}).save()
    Mail.due(MailKind.NEWS, user=User.objects.get(username="paula"), detail={"events": [name]}).save()

    assert cast.root.post(f"/people/{name}/erase").status == 200
    assert set(IdempotentRequest.objects.values_list("key", flat=True)) == {*others, "text"}
    left = [mail.detail.get("asked") for mail in Mail.objects.filter(kind=MailKind.FORGOTTEN_PASSWORD)]
    assert left == ["bob"] and Mail.objects.filter(kind=MailKind.NEWS).count() == 1


def test_members_of_answers_that_hold_people_are_known() -> None:
    """An erasure finds a person in the answers that are stored for repeated requests."""

    def subclasses(schema: type[ResponseSchema]) -> Iterator[type[ResponseSchema]]:
        for one in schema.__subclasses__():
            yield one
            yield from subclasses(one)

    people = re.compile(r".*By|author(Id)?|owner|username|reviewers|mail|actor|by")
    names = {
        canonical
        for schema in subclasses(ResponseSchema)
        for name in schema.model_fields
        if people.fullmatch(canonical := re.sub("_(.)", lambda found: found[1].upper(), name))
    }
    assert names - {"actor", "bucketBy", "orderBy"} <= PEOPLE_IN_ANSWERS
    assert names >= PEOPLE_IN_ANSWERS, "a member that no answer has"


def test_superusers_erase_on_a_page_that_asks_for_the_name(cast: Cast) -> None:
    vera = User.objects.get(username="vera")
    page = f"/studio/auth/user/{vera.pk}/erase/"
    root = Visitor("root")
    assert page in root.get(f"/studio/auth/user/{vera.pk}/change/").markup
    assert root.get(page).status == 200
    assert root.post(page, username="edgar").status == 400
    assert User.objects.filter(username="vera").exists()
    assert Visitor("paula").post(page, username="vera").status == 403
    sent = root.post(page, username="vera")
    assert (sent.status, sent.headers["Location"]) == (302, "/studio/auth/user/")
    vera.refresh_from_db()
    assert vera.username.startswith("erased-") and not vera.is_active
    assert f"erased a person, who is {vera.username} now" in root.get("/studio/activity/").text


def test_the_directory_misses_an_erased_person(cast: Cast, settings: Any) -> None:
    edgar = User.objects.get(username="edgar")
    assert cast.root.post("/people/edgar/erase").status == 200
    assert DirectoryAccount.objects.get(user=edgar).deleted_at is not None
    assert not Invitation.objects.filter(username="edgar").exists()
