"""The log: an event for each action, with its actor, its type and its versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import History, make_history, undone
from tests.support.people import command, key_of, person
from tests.support.studio import Visitor, page_of
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import ApiKey, Event, Membership, Workspace, caller_for, events


@contextmanager
def watched() -> Iterator[list[Event]]:
    """Collect the entries that are made inside, oldest first."""
    known = events.position()
    found: list[Event] = []
    yield found
    found.extend(events.entries(known))


def slug(kind: Kind) -> str:
    return "agent" if kind is AGENTS else "promptBlock"


def summary(entry: Event) -> tuple[str, str, str, str]:
    """Actor, action, previous version and new version."""
    what = entry.type.rpartition(".")[2]
    return entry.actor, what, entry.previous_version_id, entry.version_id


Action = Callable[[Api, Kind, History], Answer]
Expected = Callable[[History], tuple[str, str, str]]


def at(kind: Kind, *rest: str) -> str:
    return kind.url("writer", *rest)


ACTIONS: dict[str, tuple[Action, Expected]] = {
    "publishing a version": (
        lambda api, kind, h: api.post(at(kind, "versions", h.draft, "activate")),
        lambda h: ("published", h.published, h.draft),
    ),
    "publishing the draft with a save": (
        lambda api, kind, h: api.patch(at(kind), {"autoPublish": True}),
        lambda h: ("published", h.published, h.draft),
    ),
    "unpublishing": (
        lambda api, kind, h: api.post(at(kind, "unpublish")),
        lambda h: ("unpublished", h.published, ""),
    ),
    "setting a label": (
        lambda api, kind, h: api.put(at(kind, "labels", "canary"), {"versionId": h.draft}),
        lambda h: ("labelMoved", "", h.draft),
    ),
    "moving a label": (
        lambda api, kind, h: api.put(at(kind, "labels", "stable"), {"versionId": h.draft}),
        lambda h: ("labelMoved", h.published, h.draft),
    ),
    "removing a label": (
        lambda api, kind, h: api.delete(at(kind, "labels", "stable")),
        lambda h: ("labelRemoved", h.published, ""),
    ),
    "deleting a version": (
        lambda api, kind, h: api.delete(at(kind, "versions", h.historical)),
        lambda h: ("versionDeleted", "", h.historical),
    ),
    "deleting a draft": (
        lambda api, kind, h: api.delete(at(kind, "versions", h.draft)),
        lambda h: ("versionDeleted", "", h.draft),
    ),
    "saving a draft": (
        lambda api, kind, h: api.patch(at(kind), {"metadata": {"a": 1}}),
        lambda h: ("updated", "", ""),
    ),
    "deleting": (
        lambda api, kind, h: api.delete(at(kind)),
        lambda h: ("deleted", h.published, ""),
    ),
}


def test_an_action_leaves_one_entry_and_a_refused_one_leaves_none(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        for action, _ in ACTIONS.values():
            assert action(cast.vera, kind, history).status == 403
            assert action(cast.charlie, kind, history).status == 404
        assert cast.alice.delete(at(kind), if_match='"stale"').status == 412
        assert cast.alice.delete(at(kind, "versions", history.published)).status == 400
    assert entries == []
    for action, expected in ACTIONS.values():
        before = timezone.now()
        with undone():
            with watched() as entries:
                assert action(cast.paula, kind, history).status == 200
            assert [summary(entry) for entry in entries] == [("paula", *expected(history))]
        [entry] = entries
        assert entry.type.startswith(f"{slug(kind)}.")
        assert (entry.resource_kind, entry.resource_id, entry.workspace_id) == (slug(kind), "writer", "acme")
        assert cast.paula.key.startswith(entry.key_prefix) and len(entry.key_prefix) > 3
        assert before <= entry.created_at <= timezone.now()


def test_the_entry_of_a_restore_names_the_copied_version(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        made = cast.edgar.post(at(kind, "versions", history.labelled, "restore")).body["id"]
    assert [summary(entry) for entry in entries] == [("edgar", "versionCreated", "", made)]
    assert entries[0].detail["restoredFrom"] == history.labelled
    assert kind.text in entries[0].detail["changedFields"]


def test_a_save_that_is_published_makes_a_version_and_publishes_it(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        made = kind.save(cast.paula, text="newest", autoPublish=True)["activeVersionId"]
    assert [summary(entry) for entry in entries] == [
        ("paula", "versionCreated", "", made),
        ("paula", "published", history.published, made),
    ]


def test_creating_and_publishing_leave_separate_entries(cast: Cast, kind: Kind) -> None:
    with watched() as entries:
        made = kind.make(cast.paula, autoPublish=True)["activeVersionId"]
    assert [summary(entry) for entry in entries] == [
        ("paula", "created", "", made),
        ("paula", "published", "", made),
    ]
    assert [entry.version_number for entry in entries] == [1, 1]


def test_a_save_that_exceeds_the_history_logs_each_deleted_version(
    cast: Cast, kind: Kind, settings: Settings
) -> None:
    kind.make(cast.alice)
    kind.save(cast.alice)
    settings.EDITOR_KEEP_VERSIONS = 1
    with watched() as entries:
        kind.save(cast.edgar, text="three")
    assert [(entry.actor, entry.type, entry.version_number) for entry in entries] == [
        ("edgar", f"{slug(kind)}.versionCreated", 3),
        ("edgar", f"{slug(kind)}.versionDeleted", 1),
        ("edgar", f"{slug(kind)}.versionDeleted", 2),
    ]


def test_a_change_of_visibility_leaves_one_entry(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    with watched() as entries:
        for visibility in ("public", "public", "private"):
            assert cast.paula.patch(at(AGENTS), {"visibility": visibility}).status == 200
    assert [(entry.actor, entry.type, entry.resource_id) for entry in entries] == [
        ("paula", "agent.updated", "writer")
    ] * 2
    assert [entry.detail for entry in entries] == [
        {"fields": ["visibility"], "from": "private", "to": "public"},
        {"fields": ["visibility"], "from": "public", "to": "private"},
    ]


def test_a_save_with_three_effects_leaves_three_entries_or_none(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    body = {"instructions": "two", "visibility": "public", "autoPublish": True}
    with watched() as entries:
        assert cast.edgar.patch(at(AGENTS), body).status == 403
    assert entries == []
    with watched() as entries:
        assert cast.paula.patch(at(AGENTS), body).status == 200
    assert [entry.type for entry in entries] == ["agent.updated", "agent.versionCreated", "agent.published"]


# Roles and keys


def test_a_change_of_role_leaves_one_entry(cast: Cast) -> None:
    alice = caller_for(User.objects.get(username="alice"))
    lena, acme = person("lena"), Workspace.objects.get(id="acme")
    with watched() as entries:
        for role in (Role.VIEWER, Role.ADMIN, Role.ADMIN):
            Membership.objects.grant(lena, acme, role, by=alice)
    assert [(entry.actor, entry.type, entry.workspace_id) for entry in entries] == [
        ("alice", "member.added", "acme"),
        ("alice", "member.roleChanged", "acme"),
    ]
    assert [entry.detail for entry in entries] == [
        {"username": "lena", "from": None, "to": "viewer"},
        {"username": "lena", "from": "viewer", "to": "admin"},
    ]


def test_making_and_revoking_a_key_leave_an_entry_each(cast: Cast) -> None:
    alice = caller_for(User.objects.get(username="alice"))
    with watched() as entries:
        api = key_of("vera", workspace="acme", role="viewer", by=alice)
        key = ApiKey.objects.find_by_secret_or_prefix(api.key)
        assert key is not None
        key.revoke(by=alice)
        key.revoke(by=alice)
    assert [(entry.actor, entry.type, entry.workspace_id) for entry in entries] == [
        ("alice", "key.created", "acme"),
        ("alice", "key.revoked", "acme"),
    ]
    for entry in entries:
        assert (entry.detail["owner"], entry.detail["prefix"]) == ("vera", key.prefix)
        assert api.key not in str(vars(entry))


def test_making_and_renaming_a_workspace_leave_an_entry_each(cast: Cast) -> None:
    workspaces, root = get_editor().workspace, caller_for(User.objects.get(username="root"))
    workspaces.create("new", "New", by=root)
    workspaces.rename("new", "Newer", by=root)
    workspaces.rename("new", "Newer", by=root)
    found = Event.objects.filter(workspace_id="new", type__startswith="workspace.")
    assert [(entry.actor, entry.type, entry.detail) for entry in found] == [
        ("root", "workspace.created", {"name": "New"}),
        ("root", "workspace.updated", {"fields": ["name"], "from": "New", "to": "Newer"}),
    ]


def test_the_commands_leave_the_same_entries(cast: Cast) -> None:
    with watched() as entries:
        key = command("create_api_key", "lena", "--workspace", "made", "--role", "editor").strip()
        command("create_api_key", "vera", "--workspace", "made")
        command("revoke_api_key", key)
    types = [entry.type for entry in entries]
    assert types[:3] == ["workspace.created", "member.added", "key.created"]
    assert types.count("workspace.created") == 1 and types[-1] == "key.revoked"
    assert {entry.via for entry in entries} == {"command"}


def test_deletions_that_follow_from_a_deleted_account_or_workspace_are_logged(cast: Cast) -> None:
    lena = person("lena", acme="viewer")
    key_of("lena", workspace="acme")
    revoked = ApiKey.objects.get(owner=lena)
    Workspace.objects.create(id="empty", name="Empty")
    with watched() as entries:
        lena.delete()
        Workspace.objects.get(pk="empty").delete()
    assert sorted((entry.type, entry.workspace_id) for entry in entries) == [
        ("key.revoked", "acme"),
        ("member.removed", "acme"),
        ("workspace.deleted", "empty"),
    ]
    assert revoked.prefix in str([entry.detail for entry in entries])


def test_entries_of_a_session_name_the_person_and_no_key(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    browser, paula, page = Api(""), Visitor("paula"), page_of(kind, "publish")
    browser.client.force_login(User.objects.get(username="paula"))
    with watched() as entries:
        assert browser.post(at(kind, "versions", history.draft, "activate")).status == 200
        tag = paula.get(page, version=history.historical).field("tag")
        paula.submit(page, version=history.historical, tag=tag)
    assert [(entry.actor, entry.key_prefix, entry.via) for entry in entries] == [
        ("paula", "", "api"),
        ("paula", "", "studio"),
    ]


# Requests that leave no entry


NOTHING_TO_TELL: list[Action] = [
    lambda api, kind, h: api.patch(at(kind), {"metadata": {}}),
    lambda api, kind, h: api.post(at(kind, "export")),
    lambda api, kind, h: api.get(at(kind), status="draft"),
    lambda api, kind, h: api.post(at(kind, "versions", h.published, "activate")),
    lambda api, kind, h: api.put(at(kind, "labels", "stable"), {"versionId": h.published}),
]


def test_an_action_without_effect_leaves_no_entry(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.make(cast.alice, "draft")
    with watched() as entries:
        for action in NOTHING_TO_TELL:
            assert action(cast.alice, kind, history).status in {200, 201}
        assert cast.alice.post(kind.url("draft", "unpublish")).status == 200
    assert entries == []
