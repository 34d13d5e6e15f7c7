"""The pages about workspaces: only for their admins, and what is shown once is shown once."""

from __future__ import annotations

import datetime

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from studio.one_time_secrets import COOKIE
from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.people import give_role
from tests.support.studio import Visitor, page_of, workspace_page
from versioning.models import ApiKey, Event, Membership, WorkerHeartbeat, Workspace
from versioning.models.accounts import account
from versioning.testing import ApiKeyFactory

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


# Access


def test_members_are_told_who_can_give_them_another_role(cast: Cast) -> None:
    AGENTS.make(cast.paula, "open", visibility="public", autoPublish=True)
    give_role("edgar", "acme", "admin")
    vera = Visitor("vera").get(LIST)
    assert "Acme acme viewer Admins: alice , edgar" in vera.words
    assert workspace_page("members") not in vera.markup
    assert workspace_page("activity") in vera.markup
    page = page_of(AGENTS, "change", "open")
    assert (
        "ask an admin of the workspace Acme for the role of an editor. Admins: alice , edgar"
        in Visitor("vera").get(page).words
    )
    strangers = Visitor("charlie").get(page).words
    assert "ask an admin of the workspace acme for" in strangers and "Admins:" not in strangers


def test_only_admins_of_the_workspace_and_superusers_open_its_pages() -> None:
    for page in PAGES:
        address = workspace_page(page)
        statuses = {name: Visitor(name).get(address).status for name in ("alice", "root", "paula")}
        assert statuses == {"alice": 200, "root": 200, "paula": 403}


FORMS = {
    "members": {"username": "lena", "role": "admin"},
    "members/paula/role": {"role": "admin"},
    "members/vera/remove": {},
    "invitations/lena/link": {},
    "invitations/lena/withdraw": {},
    "keys": {"name": "mine", "role": "admin"},
    "rename": {"name": "Mine"},
}


def test_only_admins_send_the_forms_of_a_workspace() -> None:
    before = (members(), ApiKey.objects.count(), Event.objects.count())
    for page, typed in FORMS.items():
        assert Visitor("paula").post(workspace_page(page), **typed).status == 403
    assert (members(), ApiKey.objects.count(), Event.objects.count()) == before
    assert Workspace.objects.get(pk="acme").name == "Acme"


def test_the_list_shows_admins_their_workspaces_and_since_when_no_worker_has_run(alice: Visitor) -> None:
    shown = alice.get(LIST).words
    assert "Acme" in shown and "Elsewhere" not in shown and "New workspace" not in shown
    assert "No worker has run yet." in shown
    WorkerHeartbeat.objects.beat("a worker")
    assert "worker" not in alice.get(LIST).words
    WorkerHeartbeat.objects.update(seen_at=timezone.now() - datetime.timedelta(minutes=5))
    assert "No worker has run since 5 minutes ago" in alice.get(LIST).words
    assert "worker" not in Visitor("vera").get(LIST).words


def test_a_superuser_creates_a_workspace_with_a_given_id() -> None:
    root = Visitor("root")
    address = f"{LIST}add/"
    assert root.submit(address, id="acme", name="Again").status == 409
    assert root.submit(address, id="a//b", name="Slashes").context["form"].errors.keys() == {"id"}
    assert root.submit(address, id="team/new", name=" ").context["form"].errors.keys() == {"name"}
    assert "The workspace New was created." in root.submit(address, id="team/new", name="New").words
    assert root.get(workspace_page("members", "team/new")).status == 200


def test_without_an_id_a_workspace_gets_one_derived_from_its_name() -> None:
    root, address = Visitor("root"), f"{LIST}add/"
    made = root.submit(address, id="", name="Marketing & Sales")
    assert made.response.redirect_chain[-1][0] == workspace_page("members", "marketing-sales")
    for name, why in (("Marketing, sales", "is taken"), ("你好", "has no letter a-z or digit")):
        errors = root.submit(address, name=name).context["form"].errors
        assert errors.keys() == {"id"} and why in str(errors)


def test_a_workspace_is_renamed(alice: Visitor) -> None:
    assert "called Acme & Sons" in alice.submit(workspace_page("rename"), name="Acme & Sons").words
    assert "the name is required" in alice.submit(workspace_page("rename"), name=" ").words
    assert Workspace.objects.get(pk="acme").name == "Acme & Sons"


# Members


def test_a_role_is_changed_and_a_member_removed(alice: Visitor) -> None:
    assert (
        "vera now has the role editor"
        in alice.submit(workspace_page("members/vera/role"), role="editor").words
    )
    assert "edgar is no longer a member" in alice.submit(workspace_page("members/edgar/remove")).words
    assert members() == {"alice": "admin", "paula": "publisher", "vera": "editor"}


def test_the_last_admin_cannot_be_removed_and_the_page_shows_the_reason(alice: Visitor) -> None:
    for page, typed in (("members/alice/role", {"role": "viewer"}), ("members/alice/remove", {})):
        words = alice.submit(workspace_page(page), **typed).words
        assert "alice is the last admin of this workspace: make someone else an admin first" in words
    assert members()["alice"] == "admin"


def test_a_role_that_does_not_exist_is_refused(alice: Visitor) -> None:
    for role in ["", "owner", "ADMIN"]:
        assert (
            "needs one of the four roles"
            in alice.submit(workspace_page("members/vera/role"), role=role).words
        )
        assert members()["vera"] == "viewer"


def test_an_account_that_is_not_a_member_is_not_found(alice: Visitor) -> None:
    for page in [
        "members/nobody/role",
        "members/charlie/remove",
        "invitations/vera/link",
        "invitations/vera/withdraw",
    ]:
        assert alice.submit(workspace_page(page), role="viewer").status == 404


# Keys


def test_a_key_is_shown_once_and_then_only_its_prefix(alice: Visitor, cast: Cast) -> None:
    text = alice.submit(workspace_page("keys"), name="CI", role="viewer").one_time_secret
    AGENTS.make(cast.alice, autoPublish=True)
    assert Api(text).get(AGENTS.url("writer")).status == 200
    later = alice.get(workspace_page("keys")).markup
    assert text not in later and text[:11] in later


def test_a_new_key_is_shown_after_a_redirect_and_never_stored_in_the_database(
    alice: Visitor,
) -> None:
    address = workspace_page("keys")
    answer = alice.post(address, {"name": "CI", "role": "viewer"})
    assert (answer.status, answer.location) == (302, address)
    stored = " ".join(str(session.get_decoded()) for session in Session.objects.all())
    assert "ek_" not in stored and "once" in stored
    background = alice.get(address, headers={"X-Live": "1"})
    assert b'id="once"' not in background.content
    assert alice.client.head(address).status_code == 200  # the page was not shown
    assert alice.get(address).one_time_secret.startswith("ek_")
    assert b'id="once"' not in alice.get(address).content


def test_a_new_key_is_not_shown_without_the_cookie_of_its_browser(alice: Visitor) -> None:
    address = workspace_page("keys")
    alice.post(address, {"name": "CI", "role": "viewer"})
    del alice.client.cookies[COOKIE]
    assert b'id="once"' not in alice.get(address).content


def test_two_keys_created_in_two_windows_are_both_shown(alice: Visitor) -> None:
    give_role("alice", "elsewhere", "admin")
    addresses = [workspace_page("keys", workspace) for workspace in ("acme", "elsewhere")]
    for address in addresses:
        alice.post(address, {"name": "CI", "role": "viewer"})
    assert len({alice.get(address).one_time_secret for address in addresses}) == 2


def test_a_key_is_revoked_after_confirmation(alice: Visitor) -> None:
    text = alice.submit(workspace_page("keys"), name="CI", role="viewer").one_time_secret
    address = workspace_page(f"keys/{text[:11]}/revoke")
    assert "Revoke CI?" in alice.get(address).words
    assert Api(text).get(AGENTS.path).status == 200
    alice.post(address)
    assert Api(text).get(AGENTS.path).status == 401
    assert address not in alice.get(workspace_page("keys")).markup


def test_a_key_is_valid_until_the_end_of_its_last_day(alice: Visitor) -> None:
    today = timezone.now().date().isoformat()
    text = alice.submit(workspace_page("keys"), name="CI", role="viewer", last_day=today).one_time_secret
    assert Api(text).get(AGENTS.path).status == 200


def test_an_invalid_key_is_not_created(alice: Visitor) -> None:
    for typed, field in [
        ({"name": " ", "role": "viewer"}, "name"),
        ({"name": "CI", "role": "root"}, "role"),
        ({"name": "CI", "role": "viewer", "last_day": "2001-01-01"}, "last_day"),
        ({"name": "CI", "role": "viewer", "last_day": "soon"}, "last_day"),
        ({"name": "two\nlines", "role": "viewer"}, "name"),
        ({"name": "x" * 300, "role": "viewer"}, "name"),
    ]:
        keys = ApiKey.objects.count()
        answer = alice.submit(workspace_page("keys"), **typed)
        assert (answer.status, set(answer.context["form"].errors)) == (400, {field})
        assert ApiKey.objects.count() == keys


def prefixes(visitor: Visitor, address: str) -> list[str]:
    return [row.key.prefix for row in visitor.get(address).context["rows"]]


def test_unlimited_keys_of_members_are_counted_and_cannot_be_revoked_here(alice: Visitor) -> None:
    prefix = ApiKey.objects.get(owner__username="vera").prefix
    address = workspace_page(f"keys/{prefix}/revoke")
    shown = alice.get(workspace_page("keys"))
    assert prefix not in shown.markup
    assert "4 keys of members reach this workspace, too" in shown.words
    assert prefix in prefixes(alice, UNLIMITED)
    assert address not in alice.get(UNLIMITED).markup
    assert alice.submit(address).status == 403


def test_a_key_is_listed_once_with_the_workspaces_that_it_reaches(alice: Visitor) -> None:
    give_role("alice", "elsewhere", "admin")
    give_role("vera", "elsewhere", "viewer")
    ApiKeyFactory(owner=account("alice"), workspace=Workspace.objects.get(pk="elsewhere"), name="Only there")
    shown = alice.get(UNLIMITED)
    rows = {
        row.key.owner.get_username(): [workspace.name for workspace in row.reaches]
        for row in shown.context["rows"]
    }
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
    assert "Only there" in alice.get(workspace_page("keys", "elsewhere")).words


def test_workspaces_that_the_admin_does_not_administer_are_not_named(alice: Visitor) -> None:
    give_role("vera", "elsewhere", "viewer")
    words = alice.get(UNLIMITED).words
    assert "charlie" not in words and "Elsewhere" not in words
    assert "and any other workspace of vera" in words


def test_only_admins_see_keys_of_other_people() -> None:
    for name, status in [("alice", 200), ("root", 200), ("paula", 403), ("vera", 403)]:
        assert Visitor(name).get(UNLIMITED).status == status
