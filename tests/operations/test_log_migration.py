"""The migration of audit log entries that earlier releases wrote."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.db.migrations.state import StateApps
from django.utils import timezone

from tests.support import migrating

pytestmark = pytest.mark.database

BEFORE = [("versioning", "0006_favorites")]
AFTER = [("versioning", "0008_audit_entries_in_log")]
START = timezone.now() - datetime.timedelta(days=1)
ONE, TWO, GONE = (str(uuid.uuid4()) for _ in range(3))


@pytest.fixture
def earlier_release(committed_db: None) -> Iterator[StateApps]:
    with migrating.earlier_release(BEFORE) as apps:
        yield apps


def entry(action: str, target: str, before: str = "", after: str = "", **detail: Any) -> dict[str, Any]:
    return {"action": action, "target": target, "from_version": before, "to_version": after, "detail": detail}


# An entry, and the types and details of the events that it becomes.
ENTRIES: list[tuple[dict[str, Any], list[tuple[Any, ...]]]] = [
    (entry("publish", "agent writer", "", GONE), [("agent.published", GONE, "", None, "", "readers", {})]),
    (entry("delete", "agent writer", GONE), [("agent.deleted", "", GONE, None, "", "readers", {})]),
    (entry("publish", "agent writer", GONE, ONE), [("agent.published", ONE, GONE, 1, "", "readers", {})]),
    (
        entry("unpublish", "prompt block a b", ONE),
        [("promptBlock.unpublished", "", ONE, None, "", "readers", {})],
    ),
    (
        entry("label", "agent writer", ONE, TWO, label="stable", released=True),
        [("agent.labelMoved", TWO, ONE, 2, "stable", "readers", {"released": True})],
    ),
    (
        entry("label", "agent writer", ONE, "", label="first"),
        [("agent.labelRemoved", "", ONE, None, "first", "editors", {"released": False})],
    ),
    (
        entry("restore", "agent writer", ONE, TWO),
        [("agent.versionCreated", TWO, "", 2, "", "editors", {"restoredFrom": ONE})],
    ),
    (
        entry("delete_version", "agent writer", GONE, number=7),
        [("agent.versionDeleted", GONE, "", 7, "", "editors", {})],
    ),
    (
        entry("prune", "agent writer", numbers=[3, 4]),
        [("agent.versionDeleted", "", "", number, "", "editors", {"pruned": True}) for number in (3, 4)],
    ),
    (
        entry("visibility", "agent writer", before="", after="") | {"detail": {"before": "a", "after": "b"}},
        [("agent.updated", "", "", None, "", "readers", {"fields": ["visibility"], "from": "a", "to": "b"})],
    ),
]
OF_WORKSPACES = [
    (entry("role", "ada") | {"detail": {"from": None, "to": "admin"}}, "member.added"),
    (entry("role", "ada") | {"detail": {"from": "admin", "to": "viewer"}}, "member.roleChanged"),
    (entry("role", "ada") | {"detail": {"from": "viewer", "to": None}}, "member.removed"),
    (entry("key_issued", "API key ek_ab of of ada", name="x", role=None), "key.created"),
    (entry("key_revoked", "API key ek_ab of of ada", name="x", role=None), "key.revoked"),
    (entry("invitation_made", "ada", role="viewer"), "invitation.created"),
    (entry("invitation_withdrawn", "ada", role="viewer"), "invitation.withdrawn"),
    (entry("workspace_created", "workspace acme", name="Acme"), "workspace.created"),
    (
        entry("workspace_renamed", "workspace acme") | {"detail": {"from": "a", "to": "b"}},
        "workspace.updated",
    ),
]


def test_every_entry_becomes_an_event_in_order_and_an_entry_again_when_reversed(
    earlier_release: StateApps,
) -> None:
    workspace = earlier_release.get_model("versioning", "Workspace").objects.create(id="acme", name="Acme")
    identity = uuid.uuid4()
    agents, versions = (earlier_release.get_model("versioning", one) for one in ("Agent", "AgentVersion"))
    with transaction.atomic():
        agents.objects.create(id="writer", uuid=identity, workspace=workspace, latest_version_id=TWO)
        for number, version in enumerate((ONE, TWO), start=1):
            versions.objects.create(id=version, resource_id="writer", number=number, changed_fields=[])
    old = earlier_release.get_model("versioning", "AuditEntry").objects
    given = [made for made, _ in ENTRIES] + [made for made, _ in OF_WORKSPACES]
    for number, made in enumerate(given):
        who = {"actor": "ada", "key_prefix": "ek_1" if number == 0 else "", "workspace_id": "acme"}
        old.create(at=START + datetime.timedelta(minutes=number), **who, **made)
    joined = entry("role", "first") | {"detail": {"from": None, "to": "viewer"}}
    old.create(at=START - datetime.timedelta(days=1), actor="", **joined)

    apps = migrating.migrate(AFTER)

    first, *found = apps.get_model("versioning", "Event").objects.order_by("position")
    assert (first.type, first.detail) == ("member.added", {"username": "first", "from": None, "to": "viewer"})
    expected = [event for _, become in ENTRIES for event in become]
    assert [
        (
            event.type,
            event.version_id,
            event.previous_version_id,
            event.version_number,
            event.label,
            event.audience,
            event.detail,
        )
        for event in found[: len(expected)]
    ] == expected
    about_workspaces = found[len(expected) :]
    assert [event.type for event in about_workspaces] == [become for _, become in OF_WORKSPACES]
    assert {event.audience for event in about_workspaces} == {"admins"}
    keys = [event.detail for event in about_workspaces if event.type.startswith("key.")]
    assert keys == [{"prefix": "ek_ab", "owner": "of ada", "name": "x", "role": None}] * 2
    assert [event.position for event in (first, *found)] == list(range(1, len(found) + 2))
    assert [event.via for event in (first, *found[:2])] == ["python", "api", "studio"]
    # The agent of before the deletion is another one than that of today.
    lives = [event.resource_uuid for event in found if event.resource_id == "writer"]
    assert lives[0] == lives[1] != identity
    assert set(lives[2:]) == {identity}
    assert [event.reach for event in found[:3]] == [0, 1, 1]
    assert apps.get_model("versioning", "LogPosition").objects.get().position == len(found) + 1

    former = migrating.migrate(BEFORE).get_model("versioning", "AuditEntry").objects
    names = ("action", "target", "from_version", "to_version", "detail")
    back = list(former.order_by("at", "pk").values(*names))
    assert back[0] == joined
    assert back[1:] == [one for made in given for one in separate_entries(made)]
    again = former.get(action="publish", from_version="")
    assert (again.at, again.actor, again.key_prefix, again.workspace_id) == (START, "ada", "ek_1", "acme")


def separate_entries(made: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an audit entry as it comes back: of several versions that went together one tells of each."""
    if made["action"] == "prune":
        return [{**made, "detail": {"numbers": [number]}} for number in made["detail"]["numbers"]]
    if made["action"] == "label":
        return [{**made, "detail": {"released": False, **made["detail"]}}]
    return [made]
