"""The pages about service accounts; the rules of the accounts are in tests/api and test_keys_over_rest."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import Api
from tests.support.studio import Visitor, workspace_page
from versioning.models import ApiKey, Membership

PAGE = workspace_page("service-accounts")


@pytest.fixture
def alice(cast: Cast) -> Visitor:
    """The admin of acme."""
    return Visitor("alice")


def test_an_admin_makes_a_service_account_and_a_key_for_it(alice: Visitor) -> None:
    assert (
        "Service account deploy-bot created."
        in alice.submit(PAGE, username="deploy-bot", role="editor").words
    )
    member = Membership.objects.get(user__username="deploy-bot")
    assert member.is_service and member.role == "editor" and not member.user.has_usable_password()
    keys = alice.get(workspace_page("keys"), owner="deploy-bot")
    assert '<option value="deploy-bot" selected>' in keys.markup
    made = alice.submit(workspace_page("keys"), name="CI", role="viewer", owner="deploy-bot")
    assert Api(made.one_time_secret).get("/me").body["username"] == "deploy-bot"
    assert "deploy-bot Editor 1" in alice.get(PAGE).words


@pytest.mark.parametrize("taken", ["vera", "x" * 151, "Vera", ""])
def test_a_name_that_is_taken_or_none_is_refused_at_its_field(alice: Visitor, taken: str) -> None:
    answer = alice.submit(PAGE, username=taken, role="viewer")
    assert answer.status in {400, 409} and answer.context["form"].errors.keys() == {"username"}


def test_a_service_account_goes_with_its_keys(alice: Visitor) -> None:
    alice.post(PAGE, username="deploy-bot", role="editor")
    key = alice.submit(workspace_page("keys"), name="CI", role="viewer", owner="deploy-bot").one_time_secret
    delete = workspace_page("service-accounts/deploy-bot/delete")
    assert "All its keys stop working" in alice.get(delete).words
    assert "deploy-bot deleted" in alice.submit(delete).words
    assert Api(key).get("/me").status == 401 and not ApiKey.objects.filter(revoked_at=None, name="CI")
    assert alice.get(delete).status == alice.submit(delete).status == 404
    assert alice.submit(PAGE, username="deploy-bot", role="editor").status == 409


def test_people_and_accounts_of_other_workspaces_are_no_service_accounts(alice: Visitor) -> None:
    Visitor("charlie").post(
        workspace_page("service-accounts", "elsewhere"), username="other-bot", role="viewer"
    )
    for name in ("vera", "other-bot", "nobody"):
        assert alice.submit(workspace_page(f"service-accounts/{name}/delete")).status == 404
    assert Membership.objects.filter(user__username="other-bot").exists()
    assert Visitor("edgar").get(PAGE).status == 403
    assert Visitor("charlie").get(PAGE).status == 404
