"""Administering workspaces from Python: who may do it, and what is always refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.people import give_role
from versioning.conf import get_editor
from versioning.domain.access import Caller, Role
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.editor import Workspaces
from versioning.editor.keys import Keys
from versioning.editor.workspaces import LastAdmin
from versioning.models import ApiKey, Event, Membership, Workspace, caller_for

pytestmark = pytest.mark.usefixtures("cast")


def caller(name: str) -> Caller:
    """Return a caller with the person's current roles."""
    return caller_for(User.objects.get(username=name))


def workspaces() -> Workspaces:
    return get_editor().workspace


def keys() -> Keys:
    return get_editor().key


def role_of(name: str, workspace_id: str = "acme") -> Role | None:
    return Membership.objects.roles_of(User.objects.get(username=name)).get(workspace_id)


def problem_of(invalid: pytest.ExceptionInfo[Invalid]) -> str:
    return invalid.value.issues[0].field


ACTIONS: list[Callable[[Caller], object]] = [
    lambda by: workspaces().find("acme", by=by),
    lambda by: workspaces().rename("acme", "Mine", by=by),
    lambda by: workspaces().members("acme", by=by),
    lambda by: workspaces().change_role("acme", by.username or "", Role.ADMIN, by=by),
    lambda by: workspaces().change_role("acme", "alice", Role.VIEWER, by=by),
    lambda by: workspaces().remove("acme", "vera", by=by),
    lambda by: keys().of_workspace("acme", by=by),
    lambda by: workspaces().create_service_account("acme", "ci", Role.VIEWER, by=by),
]


def newest_detail() -> object:
    newest = Event.objects.last()
    return newest and newest.detail


def key_prefix(owner: str) -> str:
    return ApiKey.objects.filter(owner__username=owner)[0].prefix


def test_only_admins_administer_a_workspace_which_does_not_exist_for_non_members() -> None:
    entries = Event.objects.count()
    for action in ACTIONS:
        for name in ("vera", "edgar", "paula"):
            with pytest.raises(Forbidden):
                action(caller(name))
        with pytest.raises(NotFound):
            action(caller("charlie"))
    assert Event.objects.count() == entries
    for name in ("alice", "root"):
        for workspace_id in ("", "no such", "a\0b", "ac//me"):
            with pytest.raises(NotFound):
                workspaces().find(workspace_id, by=caller(name))


def test_the_list_holds_the_workspaces_that_the_caller_administers() -> None:
    lists = {"alice": ["acme"], "charlie": ["elsewhere"], "edgar": [], "vera": []}
    for name, expected in lists.items():
        assert [workspace.id for workspace in workspaces().list(by=caller(name))] == expected
    assert {"acme", "elsewhere"} <= {workspace.id for workspace in workspaces().list(by=caller("root"))}


# Making workspaces


def test_only_a_superuser_creates_a_workspace_and_becomes_its_first_admin() -> None:
    limited, _ = ApiKey.objects.issue(User.objects.get(username="root"), role=Role.PUBLISHER)
    for by in (caller("alice"), limited.caller()):
        with pytest.raises(Forbidden):
            workspaces().create("new", "New", by=by)
    workspaces().create("new", "New", by=caller("root"))
    assert role_of("root", "new") is Role.ADMIN
    with pytest.raises(IdTaken):
        workspaces().create("acme", "Another", by=caller("root"))
    assert Workspace.objects.get(id="acme").name == "Acme"


def test_a_workspace_needs_an_id_and_a_name() -> None:
    before = Workspace.objects.count()
    cases = (("", "新", "id"), ("a\nb", "New", "id"), ("new", " ", "name"), ("new", "a\0b", "name"))
    for workspace_id, name, field in cases:
        with pytest.raises(Invalid) as refusal:
            workspaces().create(workspace_id, name, by=caller("root"))
        assert problem_of(refusal) == field
    assert Workspace.objects.count() == before


# Members


def test_an_admin_who_lowered_their_own_role_cannot_raise_it_again() -> None:
    give_role("paula", "acme", "admin")
    workspaces().change_role("acme", "alice", Role.EDITOR, by=caller("alice"))
    with pytest.raises(Forbidden):
        workspaces().change_role("acme", "alice", Role.ADMIN, by=caller("alice"))
    assert role_of("alice") is Role.EDITOR


def test_the_last_admin_can_be_neither_removed_nor_demoted() -> None:
    give_role("paula", "acme", "admin")
    User.objects.filter(username="paula").update(is_active=False)  # and does not count
    for by in ("alice", "root"):
        for action in (
            lambda: workspaces().remove("acme", "alice", by=caller(by)),  # noqa: B023
            lambda: workspaces().change_role("acme", "alice", Role.PUBLISHER, by=caller(by)),  # noqa: B023
        ):
            with pytest.raises(LastAdmin):
                action()
    assert role_of("alice") is Role.ADMIN
    User.objects.filter(username="paula").update(is_active=True)
    workspaces().change_role("acme", "vera", Role.PUBLISHER, by=caller("root"))
    assert newest_detail() == {"username": "vera", "from": "viewer", "to": "publisher"}
    workspaces().remove("acme", "alice", by=caller("alice"))
    assert (role_of("alice"), role_of("vera")) == (None, Role.PUBLISHER)
    assert newest_detail() == {"username": "alice", "from": "admin", "to": None}


def test_keys_of_a_removed_member_read_nothing_from_the_next_request(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    _, text = keys().issue(workspace_id="acme", name="script", role=Role.EDITOR, by=caller("alice"))
    give_role("paula", "acme", "admin")
    workspaces().remove("acme", "edgar", by=caller("paula"))
    workspaces().remove("acme", "alice", by=caller("paula"))
    for api in (cast.edgar, Api(text)):
        assert api.get(AGENTS.url("writer"), status="draft").status == 404


def test_the_role_of_a_non_member_cannot_be_changed() -> None:
    for name in ("charlie", "nobody", "a\0b"):
        with pytest.raises(NotFound):
            workspaces().change_role("acme", name, Role.VIEWER, by=caller("alice"))


# Keys


def test_a_key_is_limited_to_the_workspace_and_the_role(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    key, text = keys().issue(workspace_id="acme", name=" CI ", role=Role.EDITOR, by=caller("alice"))
    assert (key.name, key.workspace_id, key.role, key.owner.username) == ("CI", "acme", "editor", "alice")
    draft = Api(text).patch(AGENTS.url("writer"), {"name": "Renamed"})
    assert draft.status == 200
    assert Api(text).patch(AGENTS.url("writer"), {"autoPublish": True}).status == 403


def test_a_key_needs_a_name_an_owner_and_a_future_expiry() -> None:
    before = ApiKey.objects.count()
    for name, days, field in ((" ", 1, "name"), ("two\nlines", 1, "name"), ("CI", -1, "expiresAt")):
        ends = timezone.now() + datetime.timedelta(days=days)
        with pytest.raises(Invalid) as refusal:
            keys().issue(
                workspace_id="acme", name=name, role=Role.VIEWER, expires_at=ends, by=caller("alice")
            )
        assert problem_of(refusal) == field
    with pytest.raises(Forbidden):
        keys().issue(workspace_id="acme", name="CI", role=Role.VIEWER)
    assert ApiKey.objects.count() == before


def test_a_superuser_creates_a_key_for_a_workspace_without_membership(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    _, text = keys().issue(workspace_id="acme", name="CI", role=Role.EDITOR, by=caller("root"))
    assert Api(text).get(AGENTS.url("writer"), status="draft").status == 200


def test_a_workspace_lists_its_own_keys_and_unlimited_keys_of_its_members() -> None:
    mine, _ = keys().issue(workspace_id="acme", name="CI", role=Role.VIEWER, by=caller("alice"))
    keys().issue(workspace_id="elsewhere", name="other", role=Role.VIEWER, by=caller("charlie"))
    owners = [key.owner.username for key in keys().of_workspace("acme", by=caller("alice"))]
    assert sorted(owners) == ["alice", "alice", "edgar", "paula", "vera"]
    assert mine in keys().of_workspace("acme", by=caller("alice"))


def test_an_admin_revokes_the_keys_of_the_workspace_of_any_owner(cast: Cast) -> None:
    give_role("paula", "acme", "admin")
    key, text = keys().issue(workspace_id="acme", name="CI", role=Role.VIEWER, by=caller("paula"))
    keys().revoke(key.prefix, by=caller("alice"))
    assert Api(text).get(AGENTS.path).status == 401
    assert [event.type for event in Event.objects.order_by("position")][-2:] == ["key.created", "key.revoked"]


def test_an_unlimited_key_is_revoked_only_by_its_owner_or_a_superuser(cast: Cast) -> None:
    with pytest.raises(Forbidden):
        keys().revoke(key_prefix("vera"), by=caller("alice"))
    assert cast.vera.get(AGENTS.path).status == 200
    keys().revoke(key_prefix("alice"), by=caller("alice"))
    keys().revoke(key_prefix("vera"), by=caller("root"))
    assert [api.get(AGENTS.path).status for api in (cast.alice, cast.vera)] == [401, 401]


def test_a_key_of_another_workspace_is_not_found() -> None:
    other, _ = keys().issue(workspace_id="elsewhere", name="other", role=Role.VIEWER, by=caller("charlie"))
    for prefix in (other.prefix, "ek_unknown", "a\0b"):
        with pytest.raises(NotFound):
            keys().revoke(prefix, by=caller("alice"))
