"""The pages about workspaces: for their admins alone, and what is shown once is shown once."""

from __future__ import annotations

import datetime

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from studio.shown_once import COOKIE
from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.factories import ApiKeyFactory
from tests.support.people import give_role
from tests.support.studio import Visitor, shown_once, words_of, workspace_page
from versioning.models import ApiKey, Event, Membership, WorkerHeartbeat, Workspace
from versioning.models.accounts import account

LIST = "/studio/versioning/workspace/"
UNLIMITED = f"{LIST}keys/"
PAGES = ["members", "keys", "change", "members/vera/remove"]

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def alice(cast: Cast) -> Visitor:
    return Visitor("alice")


def members() -> dict[str, str]:
    rows = Membership.objects.filter(workspace_id="acme").values_list("user__username", "role")
    return dict(rows)


# Who may come in


@pytest.mark.parametrize("page", PAGES)
def test_only_admins_of_the_workspace_and_superusers_open_its_pages(page: str) -> None:
    address = workspace_page(page)
    statuses = {
        name: Visitor(name).get(address).status_code for name in ("alice", "root", "paula", "charlie")
    }
    assert statuses == {"alice": 200, "root": 200, "paula": 403, "charlie": 404}


FORMS = {
    "members": {"username": "lena", "role": "admin"},
    "members/paula/role": {"role": "admin"},
    "members/vera/remove": {},
    "invitations/lena/link": {},
    "invitations/lena/withdraw": {},
    "keys": {"name": "mine", "role": "admin"},
    "rename": {"name": "Mine"},
}


@pytest.mark.parametrize("page", FORMS)
@pytest.mark.parametrize(("name", "status"), [("paula", 403), ("vera", 403), ("charlie", 404)])
def test_nobody_else_sends_its_forms(page: str, name: str, status: int) -> None:
    before = (members(), ApiKey.objects.count(), Event.objects.count())
    assert Visitor(name).post(workspace_page(page), **FORMS[page]).status_code == status
    assert (members(), ApiKey.objects.count(), Event.objects.count()) == before
    assert Workspace.objects.get(pk="acme").name == "Acme"


@pytest.mark.parametrize("page", ["members", "keys", "activity"])
def test_a_workspace_that_does_not_exist_is_not_found(alice: Visitor, page: str) -> None:
    for workspace_id in ("nowhere", "a\0b", "a/b"):
        assert alice.get(workspace_page(page, workspace_id)).status_code == 404


def test_the_list_tells_admins_since_when_no_worker_has_run(alice: Visitor) -> None:
    assert "No worker has run yet." in words_of(alice.get(LIST))
    WorkerHeartbeat.objects.beat("a worker")
    assert "worker" not in words_of(alice.get(LIST))
    WorkerHeartbeat.objects.update(seen_at=timezone.now() - datetime.timedelta(minutes=5))
    assert "No worker has run since 5 minutes ago" in words_of(alice.get(LIST))
    assert "worker" not in words_of(Visitor("vera").get(LIST))


def test_the_list_tells_admins_of_theirs_and_others_of_their_role(alice: Visitor) -> None:
    shown = words_of(alice.get(LIST))
    assert "Acme" in shown and "Elsewhere" not in shown and "New workspace" not in shown
    vera = Visitor("vera").get(LIST)
    assert "Acme acme viewer" in words_of(vera)
    assert workspace_page("members") not in vera.content.decode()
    assert workspace_page("activity") in vera.content.decode()


def test_a_superuser_makes_a_workspace_with_an_id_of_its_own() -> None:
    root = Visitor("root")
    address = f"{LIST}add/"
    assert root.post(address, id="acme", name="Again").status_code == 409
    assert root.post(address, id="a//b", name="Slashes").context["form"].errors.keys() == {"id"}
    assert root.post(address, id="team/new", name=" ").context["form"].errors.keys() == {"name"}
    assert "The workspace New is created." in words_of(root.post(address, id="team/new", name="New"))
    assert root.get(workspace_page("members", "team/new")).status_code == 200


def test_a_workspace_without_an_id_gets_one_made_of_its_name() -> None:
    root, address = Visitor("root"), f"{LIST}add/"
    made = root.post(address, id="", name="Marketing & Sales")
    assert made.redirect_chain[-1][0] == workspace_page("members", "marketing-sales")
    assert root.post(address, name="Marketing, sales").context["form"].errors == {
        "id": ["The id 'marketing-sales' is taken."]
    }
    no_letter = root.post(address, name="你好")
    assert no_letter.status_code == 400
    assert no_letter.context["form"].errors["id"] == [
        "is required: the name has no letter or digit of a-z, 0-9 to make one of"
    ]


def test_nobody_else_makes_a_workspace(alice: Visitor) -> None:
    assert alice.post(f"{LIST}add/", id="new", name="New").status_code == 403
    assert not Workspace.objects.filter(pk="new").exists()


def test_a_workspace_is_renamed(alice: Visitor) -> None:
    assert "called Acme & Sons" in words_of(alice.post(workspace_page("rename"), name="Acme & Sons"))
    assert "the name is required" in words_of(alice.post(workspace_page("rename"), name=" "))
    assert Workspace.objects.get(pk="acme").name == "Acme & Sons"


# Members


def test_a_role_is_changed_and_a_member_removed(alice: Visitor) -> None:
    assert "vera is editor from now on" in words_of(
        alice.post(workspace_page("members/vera/role"), role="editor")
    )
    assert "edgar is no member" in words_of(alice.post(workspace_page("members/edgar/remove")))
    assert members() == {"alice": "admin", "paula": "publisher", "vera": "editor"}


def test_the_last_admin_stays_and_the_page_says_why(alice: Visitor) -> None:
    for page, typed in (("members/alice/role", {"role": "viewer"}), ("members/alice/remove", {})):
        words = words_of(alice.post(workspace_page(page), **typed))
        assert "alice is the last admin of this workspace: make somebody else an admin first" in words
    assert members()["alice"] == "admin"


def test_whoever_gives_up_being_admin_is_led_to_what_is_left(alice: Visitor) -> None:
    give_role("paula", "acme", "admin")
    answer = alice.post(workspace_page("members/alice/role"), role="viewer")
    assert answer.redirect_chain == [(LIST, 302)]
    assert alice.get(workspace_page("members")).status_code == 403


@pytest.mark.parametrize("role", ["", "owner", "ADMIN"])
def test_a_role_that_does_not_exist_is_refused(alice: Visitor, role: str) -> None:
    assert "needs one of the four roles" in words_of(
        alice.post(workspace_page("members/vera/role"), role=role)
    )
    assert members()["vera"] == "viewer"


@pytest.mark.parametrize(
    "page",
    ["members/nobody/role", "members/charlie/remove", "invitations/vera/link", "invitations/vera/withdraw"],
)
def test_somebody_who_is_no_member_is_not_found(alice: Visitor, page: str) -> None:
    assert alice.post(workspace_page(page), role="viewer").status_code == 404


# Keys


def test_a_key_is_shown_once_and_then_only_its_prefix(alice: Visitor, cast: Cast) -> None:
    text = shown_once(alice.post(workspace_page("keys"), name="CI", role="viewer"))
    AGENTS.make(cast.alice, autoPublish=True)
    assert Api(text).get(AGENTS.url("writer")).status == 200
    later = alice.get(workspace_page("keys")).content.decode()
    assert text not in later and text[:11] in later


def test_the_page_with_a_key_is_no_answer_to_a_form_and_the_database_never_has_the_key(
    alice: Visitor,
) -> None:
    address = workspace_page("keys")
    answer = alice.client.post(address, {"name": "CI", "role": "viewer"})
    assert (answer.status_code, answer["Location"]) == (302, address)
    stored = " ".join(str(session.get_decoded()) for session in Session.objects.all())
    assert "ek_" not in stored and "once" in stored
    background = alice.client.get(address, headers={"X-Live": "1"})
    assert b'id="once"' not in background.content
    assert alice.client.head(address).status_code == 200  # nobody has seen the page
    assert shown_once(alice.get(address)).startswith("ek_")
    assert b'id="once"' not in alice.get(address).content


def test_whoever_has_the_session_alone_does_not_see_the_key(alice: Visitor) -> None:
    address = workspace_page("keys")
    alice.client.post(address, {"name": "CI", "role": "viewer"})
    del alice.client.cookies[COOKIE]
    assert b'id="once"' not in alice.get(address).content


def test_two_keys_made_in_two_windows_are_both_shown(alice: Visitor) -> None:
    give_role("alice", "elsewhere", "admin")
    addresses = [workspace_page("keys", workspace) for workspace in ("acme", "elsewhere")]
    for address in addresses:
        alice.client.post(address, {"name": "CI", "role": "viewer"})
    assert len({shown_once(alice.get(address)) for address in addresses}) == 2


def test_a_key_is_revoked_after_asking(alice: Visitor) -> None:
    text = shown_once(alice.post(workspace_page("keys"), name="CI", role="viewer"))
    address = workspace_page(f"keys/{text[:11]}/revoke")
    assert "Revoke CI?" in words_of(alice.get(address))
    assert Api(text).get(AGENTS.path).status == 200
    alice.post(address)
    assert Api(text).get(AGENTS.path).status == 401
    assert address not in alice.get(workspace_page("keys")).content.decode()


def test_a_key_holds_until_the_end_of_its_last_day(alice: Visitor) -> None:
    today = timezone.now().date().isoformat()
    text = shown_once(alice.post(workspace_page("keys"), name="CI", role="viewer", last_day=today))
    assert Api(text).get(AGENTS.path).status == 200


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": " ", "role": "viewer"}, "name"),
        ({"name": "CI", "role": "root"}, "role"),
        ({"name": "CI", "role": "viewer", "last_day": "2001-01-01"}, "last_day"),
        ({"name": "CI", "role": "viewer", "last_day": "soon"}, "last_day"),
        ({"name": "two\nlines", "role": "viewer"}, "name"),
        ({"name": "x" * 300, "role": "viewer"}, "name"),
    ],
)
def test_a_wrong_key_is_not_made(alice: Visitor, typed: dict[str, str], field: str) -> None:
    keys = ApiKey.objects.count()
    answer = alice.post(workspace_page("keys"), **typed)
    assert (answer.status_code, set(answer.context["form"].errors)) == (400, {field})
    assert ApiKey.objects.count() == keys


def prefixes(visitor: Visitor, address: str) -> list[str]:
    return [row.key.prefix for row in visitor.get(address).context["rows"]]


def test_the_key_of_a_member_that_reaches_further_is_counted_here_and_not_revoked(alice: Visitor) -> None:
    prefix = ApiKey.objects.get(owner__username="vera").prefix
    address = workspace_page(f"keys/{prefix}/revoke")
    shown = alice.get(workspace_page("keys"))
    assert prefix not in shown.content.decode()
    assert "4 keys of members reach this workspace, too" in words_of(shown)
    assert prefix in prefixes(alice, UNLIMITED)
    assert address not in alice.get(UNLIMITED).content.decode()
    assert alice.post(address).status_code == 403


def test_a_key_is_listed_once_with_the_workspaces_that_it_reaches(alice: Visitor) -> None:
    give_role("alice", "elsewhere", "admin")
    give_role("vera", "elsewhere", "viewer")
    ApiKeyFactory(owner=account("alice"), workspace=Workspace.objects.get(pk="elsewhere"), name="Only there")
    shown = alice.get(UNLIMITED)
    rows = {row.key.owner.get_username(): [name for name, _ in row.reaches] for row in shown.context["rows"]}
    assert rows == {
        "alice": ["Acme", "Elsewhere"],
        "charlie": ["Elsewhere"],
        "edgar": ["Acme"],
        "paula": ["Acme"],
        "vera": ["Acme", "Elsewhere"],
    }
    lists = (UNLIMITED, workspace_page("keys"), workspace_page("keys", "elsewhere"))
    listed = [prefix for address in lists for prefix in prefixes(alice, address)]
    assert len(listed) == len(set(listed)) == 6
    assert "Only there" in words_of(alice.get(workspace_page("keys", "elsewhere")))


def test_of_workspaces_that_one_does_not_administer_nothing_is_said(alice: Visitor) -> None:
    give_role("vera", "elsewhere", "viewer")
    words = words_of(alice.get(UNLIMITED))
    assert "charlie" not in words and "Elsewhere" not in words
    assert "and any other workspace of vera" in words


@pytest.mark.parametrize(("name", "status"), [("alice", 200), ("root", 200), ("paula", 403), ("vera", 403)])
def test_who_administers_nothing_sees_no_keys_of_others(name: str, status: int) -> None:
    assert Visitor(name).get(UNLIMITED).status_code == status


def test_the_owner_revokes_a_key_that_reaches_several_workspaces(alice: Visitor) -> None:
    (row,) = [row for row in alice.get(UNLIMITED).context["rows"] if row.key.owner.get_username() == "alice"]
    answer = alice.post(row.revoke_address)
    assert answer.redirect_chain == [(UNLIMITED, 302)]
    assert "is revoked." in words_of(answer)


@pytest.mark.parametrize("prefix", ["unknown", "ek_%00"])
def test_a_key_that_is_not_there_is_not_found(alice: Visitor, prefix: str) -> None:
    address = workspace_page(f"keys/{prefix}/revoke")
    assert [alice.get(address).status_code, alice.post(address).status_code] == [404, 404]
