"""The audit log: one entry for each thing that counts, saying who did what to which versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import History, make_history
from tests.support.people import command, key_of, person
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import ApiKey, AuditEntry, Membership, Workspace, caller_for


@contextmanager
def watched() -> Iterator[list[AuditEntry]]:
    """Collect the entries that are made inside, oldest first."""
    known = set(AuditEntry.objects.values_list("pk", flat=True))
    found: list[AuditEntry] = []
    yield found
    found.extend(AuditEntry.objects.exclude(pk__in=known).order_by("pk"))


def word(kind: Kind) -> str:
    return "agent" if kind is AGENTS else "prompt block"


def summary(entry: AuditEntry) -> tuple[str, str, str, str]:
    """Who, what, from which version, to which."""
    return entry.actor, entry.action, entry.from_version, entry.to_version


Deed = Callable[[Api, Kind, History], Answer]
Expected = Callable[[History], tuple[str, str, str]]


def at(kind: Kind, *rest: str) -> str:
    return kind.url("writer", *rest)


DEEDS: dict[str, tuple[Deed, Expected]] = {
    "publishing a version": (
        lambda api, kind, h: api.post(at(kind, "versions", h.draft, "activate")),
        lambda h: ("publish", h.published, h.draft),
    ),
    "publishing the draft with a save": (
        lambda api, kind, h: api.patch(at(kind), {"autoPublish": True}),
        lambda h: ("publish", h.published, h.draft),
    ),
    "unpublishing": (
        lambda api, kind, h: api.post(at(kind, "unpublish")),
        lambda h: ("unpublish", h.published, ""),
    ),
    "setting a label": (
        lambda api, kind, h: api.put(at(kind, "labels", "canary"), {"versionId": h.draft}),
        lambda h: ("label", "", h.draft),
    ),
    "moving a label": (
        lambda api, kind, h: api.put(at(kind, "labels", "stable"), {"versionId": h.draft}),
        lambda h: ("label", h.published, h.draft),
    ),
    "removing a label": (
        lambda api, kind, h: api.delete(at(kind, "labels", "stable")),
        lambda h: ("label", h.published, ""),
    ),
    "deleting a version": (
        lambda api, kind, h: api.delete(at(kind, "versions", h.historical)),
        lambda h: ("delete_version", h.historical, ""),
    ),
    "deleting a draft": (
        lambda api, kind, h: api.delete(at(kind, "versions", h.draft)),
        lambda h: ("delete_version", h.draft, ""),
    ),
    "deleting": (
        lambda api, kind, h: api.delete(at(kind)),
        lambda h: ("delete", h.published, ""),
    ),
}


@pytest.mark.parametrize(("deed", "expected"), DEEDS.values(), ids=DEEDS)
def test_a_deed_leaves_one_entry(cast: Cast, kind: Kind, deed: Deed, expected: Expected) -> None:
    history = make_history(kind, cast.alice)
    before = timezone.now()
    with watched() as entries:
        assert deed(cast.paula, kind, history).status == 200
    assert [summary(entry) for entry in entries] == [("paula", *expected(history))]
    assert (entries[0].target, entries[0].workspace_id) == (f"{word(kind)} writer", "acme")
    assert cast.paula.key.startswith(entries[0].key_prefix) and len(entries[0].key_prefix) > 3
    assert before <= entries[0].at <= timezone.now()


def test_a_restore_leaves_one_entry(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        made = cast.edgar.post(at(kind, "versions", history.labelled, "restore")).body["id"]
    assert [summary(entry) for entry in entries] == [("edgar", "restore", history.labelled, made)]


def test_a_save_that_is_published_leaves_one_entry_with_the_version_it_made(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        made = kind.save(cast.paula, text="newest", autoPublish=True)["activeVersionId"]
    assert [summary(entry) for entry in entries] == [("paula", "publish", history.published, made)]


def test_a_create_that_is_published_leaves_one_entry(cast: Cast, kind: Kind) -> None:
    with watched() as entries:
        made = kind.make(cast.paula, autoPublish=True)["activeVersionId"]
    assert [summary(entry) for entry in entries] == [("paula", "publish", "", made)]


def test_a_save_that_outgrows_the_history_leaves_one_entry_for_what_went(
    cast: Cast, kind: Kind, settings: Settings
) -> None:
    kind.make(cast.alice)
    kind.save(cast.alice)
    settings.EDITOR_KEEP_VERSIONS = 1
    with watched() as entries:
        kind.save(cast.edgar, text="three")
    assert [(entry.actor, entry.action, entry.target) for entry in entries] == [
        ("edgar", "prune", f"{word(kind)} writer")
    ]
    assert entries[0].detail["numbers"] == [1, 2]


def test_the_name_of_a_label_stands_in_its_entries(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        cast.paula.put(at(kind, "labels", "canary"), {"versionId": history.draft})
        cast.paula.delete(at(kind, "labels", "stable"))
    assert [entry.detail["label"] for entry in entries] == ["canary", "stable"]


def test_a_change_of_visibility_leaves_one_entry(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    with watched() as entries:
        for visibility in ("public", "public", "private"):
            assert cast.paula.patch(at(AGENTS), {"visibility": visibility}).status == 200
    assert [(entry.actor, entry.action, entry.target) for entry in entries] == [
        ("paula", "visibility", "agent writer")
    ] * 2
    assert [set(entry.detail.values()) for entry in entries] == [{"private", "public"}] * 2
    assert entries[0].detail != entries[1].detail


def test_a_save_that_does_three_things_leaves_three_entries_or_none(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    body = {"instructions": "two", "visibility": "public", "autoPublish": True}
    with watched() as entries:
        assert cast.edgar.patch(at(AGENTS), body).status == 403
    assert entries == []
    with watched() as entries:
        assert cast.paula.patch(at(AGENTS), body).status == 200
    assert sorted(entry.action for entry in entries) == ["publish", "visibility"]


def test_a_session_leaves_its_person_and_no_key(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    browser = Api("")
    browser.client.force_login(User.objects.get(username="paula"))
    with watched() as entries:
        assert browser.post(at(kind, "versions", history.draft, "activate")).status == 200
    assert [(entry.actor, entry.key_prefix) for entry in entries] == [("paula", "")]


# Roles and keys


def test_a_change_of_role_leaves_one_entry(cast: Cast) -> None:
    alice = caller_for(User.objects.get(username="alice"))
    lena, acme = person("lena"), Workspace.objects.get(id="acme")
    with watched() as entries:
        for role in (Role.VIEWER, Role.ADMIN, Role.ADMIN):
            Membership.objects.grant(lena, acme, role, by=alice)
    assert [(entry.actor, entry.action, entry.target, entry.workspace_id) for entry in entries] == [
        ("alice", "role", "lena", "acme")
    ] * 2
    assert [entry.detail for entry in entries] == [
        {"from": None, "to": "viewer"},
        {"from": "viewer", "to": "admin"},
    ]


def test_making_and_revoking_a_key_leave_an_entry_each(cast: Cast) -> None:
    alice = caller_for(User.objects.get(username="alice"))
    with watched() as entries:
        api = key_of("vera", workspace="acme", role="viewer", by=alice)
        key = ApiKey.objects.named(api.key)
        assert key is not None
        key.revoke(by=alice)
        key.revoke(by=alice)
    assert [(entry.actor, entry.action, entry.workspace_id) for entry in entries] == [
        ("alice", "key_issued", "acme"),
        ("alice", "key_revoked", "acme"),
    ]
    for entry in entries:
        assert "vera" in entry.target and key.prefix in entry.target
        assert api.key not in str(vars(entry))


def test_making_and_renaming_a_workspace_leave_an_entry_each(cast: Cast) -> None:
    workspaces, root = get_editor().workspace, caller_for(User.objects.get(username="root"))
    workspaces.create("new", "New", by=root)
    workspaces.rename("new", "Newer", by=root)
    workspaces.rename("new", "Newer", by=root)
    found = AuditEntry.objects.filter(workspace_id="new").exclude(action="role").order_by("pk")
    assert [(entry.actor, entry.action, entry.target, entry.detail) for entry in found] == [
        ("root", "workspace_created", "workspace new", {"name": "New"}),
        ("root", "workspace_renamed", "workspace new", {"from": "New", "to": "Newer"}),
    ]


def test_a_workspace_that_a_command_makes_leaves_an_entry_once(cast: Cast) -> None:
    for _ in range(2):
        command("create_api_key", "vera", "--workspace", "made")
    assert Workspace.objects.filter(pk="made").exists()
    assert AuditEntry.objects.filter(workspace_id="made", action="workspace_created").count() == 1


def test_the_commands_leave_the_same_entries(cast: Cast) -> None:
    with watched() as entries:
        key = command("create_api_key", "lena", "--workspace", "acme", "--role", "editor").strip()
        command("revoke_api_key", key)
    assert [entry.action for entry in entries] == ["role", "key_issued", "key_revoked"]


# What leaves no entry


NOTHING_TO_TELL: dict[str, Deed] = {
    "a save": lambda api, kind, h: api.patch(at(kind), {"name": "Renamed"}),
    "metadata": lambda api, kind, h: api.patch(at(kind), {"metadata": {"a": 1}}),
    "a new version": lambda api, kind, h: api.post(at(kind, "versions")),
    "a clone": lambda api, kind, h: api.post(at(kind, "clone"), {"newId": "copy"}),
    "an export": lambda api, kind, h: api.post(at(kind, "export")),
    "reading": lambda api, kind, h: api.get(at(kind), status="draft"),
    "publishing what is published": lambda api, kind, h: api.post(
        at(kind, "versions", h.published, "activate")
    ),
    "a label where it is": lambda api, kind, h: api.put(
        at(kind, "labels", "stable"), {"versionId": h.published}
    ),
}


@pytest.mark.parametrize("deed", NOTHING_TO_TELL.values(), ids=NOTHING_TO_TELL)
def test_what_moves_nothing_leaves_no_entry(cast: Cast, kind: Kind, deed: Deed) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        assert deed(cast.alice, kind, history).status in {200, 201}
    assert entries == []


def test_unpublishing_what_is_not_published_leaves_no_entry(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    with watched() as entries:
        assert cast.alice.post(at(kind, "unpublish")).status == 200
    assert entries == []


@pytest.mark.parametrize(("deed", "expected"), DEEDS.values(), ids=DEEDS)
def test_a_refused_deed_leaves_no_entry(cast: Cast, kind: Kind, deed: Deed, expected: Expected) -> None:
    history = make_history(kind, cast.alice)
    with watched() as entries:
        assert deed(cast.vera, kind, history).status == 403
        assert deed(cast.charlie, kind, history).status == 404
        assert cast.alice.delete(at(kind), if_match='"stale"').status == 412
        assert cast.alice.delete(at(kind, "versions", history.published)).status == 400
    assert entries == []


def test_a_publish_that_a_missing_block_prevents_leaves_no_entry(cast: Cast) -> None:
    draft = AGENTS.make(cast.alice, instructions=[{"type": "prompt_block_ref", "id": "absent"}])
    with watched() as entries:
        assert cast.alice.post(at(AGENTS, "versions", draft["latestVersionId"], "activate")).status == 400
    assert entries == []
