"""Workspaces, members and invitations over HTTP; who may do it is in tests/api/test_rights_of_routes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, connections

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.datasets import make_dataset
from tests.support.people import give_role, key_of
from tests.support.unchanged import is_refusal
from tests.support.webhooks import WebhookFactory
from versioning.editor import gate
from versioning.editor import saving as creating
from versioning.models import Agent, Event, Membership, PromptBlock, Workspace
from versioning.models.events import OpenTransaction


def newest() -> tuple[str, dict[str, Any]]:
    """Return the type and the detail of the newest entry of the log."""
    event = Event.objects.order_by("position", "ordinal").last()
    assert event is not None
    return event.type, event.detail


def test_who_am_i(cast: Cast) -> None:
    give_role("alice", "elsewhere", "viewer")
    me = cast.alice.get("/me").body
    assert me["key"].pop("prefix").startswith("ek_alice")
    assert me == {
        "username": "alice",
        "displayName": "alice",
        "superuser": False,
        "workspaces": [{"id": "acme", "role": "admin"}, {"id": "elsewhere", "role": "viewer"}],
        "key": {"actions": None, "idPrefix": None, "expiresAt": None},
    }
    limited = key_of("alice", workspace="acme", role="editor").get("/me").body
    assert limited["workspaces"] == [{"id": "acme", "role": "editor"}]
    assert cast.root.get("/me").body["superuser"] is True


def test_members_see_their_workspaces_and_superusers_all(cast: Cast) -> None:
    listed = cast.vera.get("/workspaces").body
    [seen] = listed["workspaces"]
    assert (seen["id"], seen["name"], seen["role"], listed["total"]) == ("acme", "Acme", "viewer", 1)
    assert cast.vera.get("/workspaces/acme").body == seen
    everything = cast.root.get("/workspaces").body["workspaces"]
    assert {"acme", "elsewhere"} <= {one["id"] for one in everything}
    assert {one["role"] for one in everything} == {"admin"}


def test_superusers_make_workspaces_and_admins_rename_them(cast: Cast) -> None:
    made = cast.root.post("/workspaces", {"name": "New Team"})
    assert (made.status, made.body["id"], made.body["role"]) == (201, "new-team", "admin")
    assert made.headers["Location"] == "/api/workspaces/new-team"
    assert is_refusal(cast.root.post("/workspaces", {"id": "acme", "name": "A"}), 409, "id_taken")
    assert cast.root.post("/workspaces", {"name": " "}).fields == ["name"]
    assert is_refusal(cast.alice.post("/workspaces", {"name": "Mine"}), 403, "forbidden")
    assert cast.alice.patch("/workspaces/acme", {"name": "Acme & Sons"}).body["name"] == "Acme & Sons"
    assert newest() == ("workspace.updated", {"fields": ["name"], "from": "Acme", "to": "Acme & Sons"})


@pytest.mark.parametrize("belonging", ["agents", "webhooks", "code", "datasets"])
def test_a_workspace_that_owns_something_is_not_deleted(cast: Cast, belonging: str) -> None:
    workspace = "default" if belonging == "code" else "acme"
    if belonging == "agents":
        AGENTS.make(cast.alice)
    elif belonging == "webhooks":
        WebhookFactory(workspace_id="acme")
    elif belonging == "datasets":
        make_dataset(cast.alice)
    refused = cast.root.delete(f"/workspaces/{workspace}")
    assert is_refusal(refused, 409, "not_empty") and belonging in refused.body["error"]
    assert Workspace.objects.filter(pk=workspace).exists()


def test_with_an_empty_workspace_go_members_and_keys(cast: Cast) -> None:
    key = key_of("alice", workspace="acme")
    assert is_refusal(cast.alice.delete("/workspaces/acme"), 403, "forbidden")
    assert cast.root.delete("/workspaces/acme").status == 200
    assert newest() == ("workspace.deleted", {"name": "Acme"})
    assert Event.objects.filter(type="member.removed", actor="root").count() == 4
    assert key.get("/me").status == 401
    assert cast.alice.get("/workspaces/acme").status == cast.root.get("/workspaces/acme").status == 404


def test_a_workspace_with_an_earlier_id_does_not_show_the_earlier_log(cast: Cast) -> None:
    assert cast.root.delete("/workspaces/acme").status == 200
    assert cast.root.post("/workspaces", {"id": "acme", "name": "Another"}).status == 201
    give_role("alice", "acme", "admin")
    AGENTS.make(cast.alice, "new", workspaceId="acme")
    shown = cast.alice.get("/events", workspaceId="acme", limit=200).body["events"]
    assert {one["type"] for one in shown} == {"workspace.created", "member.added", "agent.created"}
    assert {"member.removed", "workspace.deleted"} <= {
        one["type"] for one in cast.root.get("/events", limit=200).body["events"]
    }


@pytest.mark.database
@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        pytest.param(AGENTS, (gate, "_find_needed_checks"), marks=pytest.mark.postgresql),
        pytest.param(PROMPT_BLOCKS, (OpenTransaction, "write"), marks=pytest.mark.postgresql),
        (PROMPT_BLOCKS, (creating, "_insert")),
    ],
)
def test_what_is_made_in_a_workspace_that_is_being_deleted_is_refused(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, kind: Kind, moment: tuple[Any, str]
) -> None:
    """The workspace goes after the right was checked; on PostgreSQL that is also after the insertion."""
    owner, name = moment
    assert cast.root.post("/workspaces", {"id": "going", "name": "Going"}).status == 201
    original = getattr(owner, name)

    def interrupted(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(owner, name, original)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(delete_and_close).result()
        return original(*args, **named)

    def delete_and_close() -> None:
        assert cast.root.delete("/workspaces/going").status == 200
        connections.close_all()

    monkeypatch.setattr(owner, name, interrupted)
    answer = cast.root.post(kind.path, {"name": "Tone", kind.text: "Plain.", "workspaceId": "going"})
    assert is_refusal(
        answer, *((403, "forbidden") if connection.vendor == "sqlite" else (409, "workspace_deleted"))
    )
    assert not Agent.objects.exists() and not PromptBlock.objects.exists()
    assert not Workspace.objects.filter(pk="going").exists()


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize("whom", ["themselves", "each other"])
def test_of_two_last_admins_one_stays(cast: Cast, whom: str) -> None:
    give_role("vera", "acme", "admin")
    together = Barrier(2)

    def demote(by: tuple[str, Api]) -> int:
        name, api = by
        other = name if whom == "themselves" else next(one for one in ("alice", "vera") if one != name)
        together.wait()
        status = api.put(f"/workspaces/acme/members/{other}", {"role": "viewer"}).status
        connections.close_all()
        return status

    with ThreadPoolExecutor(2) as admins:
        statuses = sorted(admins.map(demote, [("alice", cast.alice), ("vera", cast.vera)]))
    assert statuses[0] == 200 and statuses[1] in {403, 409}
    assert Membership.objects.filter(workspace="acme", role="admin").count() == 1


def test_members_see_members_and_only_admins_when_they_signed_in(cast: Cast) -> None:
    members = cast.vera.get("/workspaces/acme/members").body["members"]
    assert [(one["username"], one["role"]) for one in members] == [
        ("alice", "admin"),
        ("edgar", "editor"),
        ("paula", "publisher"),
        ("vera", "viewer"),
    ]
    assert {(one["origin"], one["service"], one["lastSignInAt"]) for one in members} == {
        ("manual", False, None)
    }


def test_a_role_is_changed_and_a_membership_ended(cast: Cast) -> None:
    changed = cast.alice.put("/workspaces/acme/members/vera", {"role": "publisher"})
    assert (changed.status, changed.body["role"]) == (200, "publisher")
    assert newest() == ("member.roleChanged", {"username": "vera", "from": "viewer", "to": "publisher"})
    assert cast.alice.delete("/workspaces/acme/members/vera").status == 200
    assert newest() == ("member.removed", {"username": "vera", "from": "publisher", "to": None})
    assert cast.vera.get("/workspaces/acme").status == 404
    for api in (cast.alice, cast.root):
        for method in ("PUT", "DELETE"):
            body = {"role": "viewer"} if method == "PUT" else None
            assert api.request(method, "/workspaces/acme/members/charlie", body).status == 404
    assert cast.alice.put("/workspaces/acme/members/edgar", {"role": "owner"}).fields == ["role"]


def test_the_last_admin_stays(cast: Cast) -> None:
    for api in (cast.alice, cast.root):
        lowered = api.put("/workspaces/acme/members/alice", {"role": "viewer"})
        assert is_refusal(lowered, 409, "last_admin")
        assert is_refusal(api.delete("/workspaces/acme/members/alice"), 409, "last_admin")


def test_an_invitation_is_shown_once_and_withdrawn(cast: Cast) -> None:
    body = {"username": "ida", "role": "editor", "mail": "ida@example.com"}
    made = cast.alice.post("/workspaces/acme/invitations", body)
    assert made.status == 201 and "/studio/" in made.body["url"] and "ei_" in made.body["url"]
    assert made.headers["Cache-Control"] == "private, no-store"
    [listed] = cast.alice.get("/workspaces/acme/invitations").body["invitations"]
    assert listed == {name: value for name, value in made.body.items() if name != "url"}
    assert (listed["mail"], listed["hasAccount"], listed["isAcceptable"]) == ("ida@example.com", False, True)
    assert cast.alice.post("/workspaces/acme/invitations", body).fields == ["username"]
    wrong = {"username": "ivo", "role": "viewer", "mail": "nowhere"}
    assert cast.alice.post("/workspaces/acme/invitations", wrong).fields == ["mail"]
    address = f"/workspaces/acme/invitations/{listed['id']}"
    for other in ("0", "x", "9" * 30):
        assert cast.alice.delete(f"/workspaces/acme/invitations/{other}").status == 404
    assert Api(cast.charlie.key).delete(address).status == 404
    assert cast.alice.delete(address).status == 200
    assert newest()[0] == "invitation.withdrawn"
    assert cast.alice.delete(address).status == 404
