"""Who may administer a workspace, and what nobody can do: members, keys and the log, from Python."""

from __future__ import annotations

import datetime

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
from versioning.models import ApiKey, Event, Membership, Workspace, caller_for

pytestmark = pytest.mark.usefixtures("cast")

NOT_ADMINS = ["vera", "edgar", "paula"]


def caller(name: str) -> Caller:
    """Return somebody with the roles of this moment."""
    return caller_for(User.objects.get(username=name))


def workspaces() -> Workspaces:
    return get_editor().workspace


def role_of(name: str, workspace_id: str = "acme") -> Role | None:
    return Membership.objects.roles_of(User.objects.get(username=name)).get(workspace_id)


def problem_of(invalid: pytest.ExceptionInfo[Invalid]) -> str:
    return invalid.value.issues[0].field


ACTIONS = {
    "find": lambda by: workspaces().find("acme", by=by),
    "rename": lambda by: workspaces().rename("acme", "Mine", by=by),
    "members": lambda by: workspaces().members("acme", by=by),
    "raise": lambda by: workspaces().change_role("acme", by.username or "", Role.ADMIN, by=by),
    "lower": lambda by: workspaces().change_role("acme", "alice", Role.VIEWER, by=by),
    "remove": lambda by: workspaces().remove("acme", "vera", by=by),
    "keys": lambda by: workspaces().keys("acme", by=by),
    "issue": lambda by: workspaces().issue_key("acme", name="k", role=Role.VIEWER, by=by),
    "revoke": lambda by: workspaces().revoke_key("acme", key_prefix("alice"), by=by),
}


def newest_detail() -> object:
    newest = Event.objects.last()
    return newest and newest.detail


def key_prefix(owner: str) -> str:
    return ApiKey.objects.filter(owner__username=owner)[0].prefix


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("name", NOT_ADMINS)
def test_a_member_who_is_no_admin_administers_nothing(name: str, action: object) -> None:
    entries = Event.objects.count()
    with pytest.raises(Forbidden):
        action(caller(name))  # type: ignore[operator]
    assert Event.objects.count() == entries


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_to_a_stranger_a_workspace_is_not_there(action: object) -> None:
    with pytest.raises(NotFound):
        action(caller("charlie"))  # type: ignore[operator]


@pytest.mark.parametrize("workspace_id", ["", "no such", "a\0b", "ac//me"])
def test_a_workspace_that_does_not_exist_is_not_there_for_anybody(workspace_id: str) -> None:
    for name in ("alice", "root"):
        with pytest.raises(NotFound):
            workspaces().find(workspace_id, by=caller(name))


@pytest.mark.parametrize(
    ("name", "expected"), [("alice", ["acme"]), ("charlie", ["elsewhere"]), ("edgar", []), ("vera", [])]
)
def test_a_list_holds_the_workspaces_that_one_administers(name: str, expected: list[str]) -> None:
    assert [workspace.id for workspace in workspaces().list(by=caller(name))] == expected


def test_a_superuser_administers_every_workspace() -> None:
    assert {"acme", "elsewhere"} <= {workspace.id for workspace in workspaces().list(by=caller("root"))}
    workspaces().change_role("acme", "vera", Role.EDITOR, by=caller("root"))
    assert role_of("vera") is Role.EDITOR


# Making workspaces


def test_only_a_superuser_makes_a_workspace_and_is_its_first_admin() -> None:
    with pytest.raises(Forbidden):
        workspaces().create("new", "New", by=caller("alice"))
    workspaces().create("new", "New", by=caller("root"))
    assert role_of("root", "new") is Role.ADMIN


def test_a_key_limited_below_admin_makes_no_workspace_for_a_superuser() -> None:
    limited, _ = ApiKey.objects.issue(User.objects.get(username="root"), role=Role.PUBLISHER)
    with pytest.raises(Forbidden):
        workspaces().create("new", "New", by=limited.caller())


@pytest.mark.parametrize(
    ("workspace_id", "name", "field"),
    [("", "新", "id"), ("a\nb", "New", "id"), ("new", " ", "name"), ("new", "a\0b", "name")],
)
def test_a_workspace_needs_an_id_and_a_name(workspace_id: str, name: str, field: str) -> None:
    before = Workspace.objects.count()
    with pytest.raises(Invalid) as refusal:
        workspaces().create(workspace_id, name, by=caller("root"))
    assert problem_of(refusal) == field
    assert Workspace.objects.count() == before


def test_the_id_of_a_workspace_is_given_once() -> None:
    with pytest.raises(IdTaken):
        workspaces().create("acme", "Another", by=caller("root"))
    assert Workspace.objects.get(id="acme").name == "Acme"


# Members


def test_a_role_is_changed_and_noted() -> None:
    workspaces().change_role("acme", "vera", Role.PUBLISHER, by=caller("alice"))
    assert role_of("vera") is Role.PUBLISHER
    assert newest_detail() == {"username": "vera", "from": "viewer", "to": "publisher"}


def test_an_admin_who_lowered_the_own_role_cannot_raise_it_again() -> None:
    give_role("paula", "acme", "admin")
    workspaces().change_role("acme", "alice", Role.EDITOR, by=caller("alice"))
    with pytest.raises(Forbidden):
        workspaces().change_role("acme", "alice", Role.ADMIN, by=caller("alice"))
    assert role_of("alice") is Role.EDITOR


@pytest.mark.parametrize("by", ["alice", "root"])
def test_the_last_admin_stays(by: str) -> None:
    for action in (
        lambda: workspaces().remove("acme", "alice", by=caller(by)),
        lambda: workspaces().change_role("acme", "alice", Role.PUBLISHER, by=caller(by)),
    ):
        with pytest.raises(Invalid) as refusal:
            action()
        assert refusal.value.code == "last_admin"
    assert role_of("alice") is Role.ADMIN


def test_an_admin_who_is_switched_off_does_not_count_as_another_one() -> None:
    give_role("paula", "acme", "admin")
    User.objects.filter(username="paula").update(is_active=False)
    with pytest.raises(Invalid):
        workspaces().remove("acme", "alice", by=caller("alice"))


def test_one_of_two_admins_can_go() -> None:
    give_role("paula", "acme", "admin")
    workspaces().remove("acme", "alice", by=caller("alice"))
    assert role_of("alice") is None
    assert newest_detail() == {"username": "alice", "from": "admin", "to": None}


def test_a_removed_member_reads_nothing_from_the_next_request_on_with_no_key(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    _, text = workspaces().issue_key("acme", name="script", role=Role.EDITOR, by=caller("alice"))
    give_role("paula", "acme", "admin")
    workspaces().remove("acme", "edgar", by=caller("paula"))
    workspaces().remove("acme", "alice", by=caller("paula"))
    for api in (cast.edgar, Api(text)):
        assert api.get(AGENTS.url("writer"), status="draft").status == 404


def test_somebody_who_is_no_member_has_no_role_to_change() -> None:
    for name in ("charlie", "nobody", "a\0b"):
        with pytest.raises(NotFound):
            workspaces().change_role("acme", name, Role.VIEWER, by=caller("alice"))


# Keys


def test_a_key_is_limited_to_the_workspace_and_the_role(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    key, text = workspaces().issue_key("acme", name=" CI ", role=Role.EDITOR, by=caller("alice"))
    assert (key.name, key.workspace_id, key.role, key.owner.username) == ("CI", "acme", "editor", "alice")
    draft = Api(text).patch(AGENTS.url("writer"), {"name": "Renamed"})
    assert draft.status == 200
    assert Api(text).patch(AGENTS.url("writer"), {"autoPublish": True}).status == 403


@pytest.mark.parametrize(
    ("name", "ends", "field"), [(" ", 1, "name"), ("two\nlines", 1, "name"), ("CI", -1, "expiresAt")]
)
def test_a_key_needs_a_name_and_an_end_to_come(name: str, ends: int, field: str) -> None:
    keys = ApiKey.objects.count()
    with pytest.raises(Invalid) as refusal:
        workspaces().issue_key(
            "acme",
            name=name,
            role=Role.VIEWER,
            expires_at=timezone.now() + datetime.timedelta(days=ends),
            by=caller("alice"),
        )
    assert problem_of(refusal) == field
    assert ApiKey.objects.count() == keys


def test_a_superuser_makes_a_key_for_a_workspace_without_being_a_member(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    _, text = workspaces().issue_key("acme", name="CI", role=Role.EDITOR, by=caller("root"))
    assert Api(text).get(AGENTS.url("writer"), status="draft").status == 200


def test_the_application_itself_owns_no_key() -> None:
    with pytest.raises(Forbidden):
        workspaces().issue_key("acme", name="CI", role=Role.VIEWER)


def test_a_workspace_shows_its_own_keys_and_those_of_its_members_that_reach_it() -> None:
    mine, _ = workspaces().issue_key("acme", name="CI", role=Role.VIEWER, by=caller("alice"))
    workspaces().issue_key("elsewhere", name="other", role=Role.VIEWER, by=caller("charlie"))
    owners = [key.owner.username for key in workspaces().keys("acme", by=caller("alice"))]
    assert sorted(owners) == ["alice", "alice", "edgar", "paula", "vera"]
    assert mine in workspaces().keys("acme", by=caller("alice"))


def test_an_admin_revokes_the_keys_of_the_workspace_whoever_owns_them(cast: Cast) -> None:
    give_role("paula", "acme", "admin")
    key, text = workspaces().issue_key("acme", name="CI", role=Role.VIEWER, by=caller("paula"))
    workspaces().revoke_key("acme", key.prefix, by=caller("alice"))
    assert Api(text).get(AGENTS.path).status == 401
    assert [event.type for event in Event.objects.order_by("position")][-2:] == ["key.created", "key.revoked"]


def test_a_key_that_reaches_further_is_revoked_by_its_owner_or_a_superuser(cast: Cast) -> None:
    with pytest.raises(Forbidden):
        workspaces().revoke_key("acme", key_prefix("vera"), by=caller("alice"))
    assert cast.vera.get(AGENTS.path).status == 200
    workspaces().revoke_key("acme", key_prefix("alice"), by=caller("alice"))
    workspaces().revoke_key("acme", key_prefix("vera"), by=caller("root"))
    assert [api.get(AGENTS.path).status for api in (cast.alice, cast.vera)] == [401, 401]


def test_a_key_of_another_workspace_is_not_there() -> None:
    other, _ = workspaces().issue_key("elsewhere", name="other", role=Role.VIEWER, by=caller("charlie"))
    for prefix in (other.prefix, "ek_unknown", "a\0b"):
        with pytest.raises(NotFound):
            workspaces().revoke_key("acme", prefix, by=caller("alice"))
