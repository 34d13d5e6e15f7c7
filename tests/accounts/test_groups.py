"""Groups of a provider give roles: at every sign-in, except to members whom an admin looks after."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from pytest_django import Settings

from capabilities.accounts.models import Identity
from tests.accounts.conftest import sign_in_with
from tests.accounts.test_single_sign_on import ada, latest_event, sign_in
from tests.support.identity_provider import IdentityProvider
from tests.support.people import give_role
from versioning.models import Membership, Workspace
from versioning.models.workspaces import Origin

pytestmark = pytest.mark.usefixtures("cast")
RULES = [
    {"provider": "corp", "group": "editors", "workspace": "acme", "role": "editor"},
    {"provider": "corp", "group": "publishers", "workspace": "acme", "role": "publisher"},
    {"provider": "corp", "group": "elsewhere", "workspace": "elsewhere", "role": "admin"},
    {"provider": "corp", "group": "editors", "workspace": "nowhere", "role": "admin"},
]


@pytest.fixture(autouse=True)
def rules(corp: IdentityProvider, settings: Settings) -> None:
    """Groups of the provider have roles."""
    settings.EDITOR_SSO_GROUPS = json.dumps(RULES)


def roles_after(corp: IdentityProvider, groups: Any) -> dict[str, tuple[str, str]]:
    """Return ada's roles, and where they come from, after a sign-in with these groups."""
    corp.person = {"sub": "ada-1", "preferred_username": "ada", "groups": groups}
    sign_in(corp)
    rows = Membership.objects.filter(user__username="ada")
    return {row.workspace_id: (row.role, row.origin) for row in rows}


def test_roles_follow_the_groups_and_the_highest_wins(corp: IdentityProvider) -> None:
    assert roles_after(corp, ["editors", "others"]) == {"acme": ("editor", "directory")}
    assert roles_after(corp, ["editors", "publishers"]) == {"acme": ("publisher", "directory")}
    assert roles_after(corp, ["elsewhere"]) == {"elsewhere": ("admin", "directory")}
    assert roles_after(corp, []) == {}
    assert latest_event().detail["reason"] == "no_membership"
    assert not User.objects.get(username="ada").is_superuser


def test_what_an_admin_gave_by_hand_stays(corp: IdentityProvider) -> None:
    ada(corp, acme="viewer")
    assert roles_after(corp, ["publishers"]) == {"acme": ("viewer", "manual")}
    assert roles_after(corp, ["elsewhere"])["elsewhere"] == ("admin", "directory")
    give_role("ada", "elsewhere", "viewer")
    assert roles_after(corp, [])["elsewhere"] == ("viewer", "manual")


def test_the_last_admin_stays_and_is_reported(corp: IdentityProvider) -> None:
    user = ada(corp, acme="viewer")
    Workspace.objects.create(id="lonely", name="Lonely")
    member = Membership(user=user, workspace_id="lonely", role="admin", origin=Origin.DIRECTORY)
    Membership.objects.bulk_create([member])
    assert roles_after(corp, [])["lonely"] == ("admin", "directory")
    assert latest_event().detail["keptLastAdmin"] == ["lonely"]


def test_without_a_list_of_groups_nothing_changes(corp: IdentityProvider) -> None:
    before = roles_after(corp, ["editors"])
    claims: list[Any] = [None, "https://graph.example/groups", {"link": "x"}, [1], "editors"]
    for claim in claims:
        assert roles_after(corp, claim) == before
        assert latest_event().detail["warnings"] == ["groups_missing"]


def test_the_groups_of_another_provider_are_left_alone(corp: IdentityProvider, settings: Settings) -> None:
    roles_after(corp, ["editors"])
    settings.EDITOR_OIDC = json.dumps([corp.settings(), corp.settings(id="other", name="Other")])
    settings.EDITOR_SSO_GROUPS = json.dumps([{**RULES[0], "provider": "other"}, RULES[2]])
    assert roles_after(corp, ["elsewhere"])["acme"] == ("editor", "directory")


WRONG = {
    "EDITOR_OIDC": [
        "{",
        "{}",
        '[{"id": "corp"}]',
        '[{"id": "a b", "name": "n", "issuer": "https://x", "clientId": "c", "clientSecret": "s"}]',
        '[{"id": "a", "name": "n", "issuer": "http://x", "clientId": "c", "clientSecret": "s"}]',
        '[{"id": "a", "name": "n", "issuer": "https://u:p@x", "clientId": "c", "clientSecret": "s"}]',
        '[{"id": "a", "name": "n", "issuer": "https://x", "clientId": "c", "clientSecret": "s", "x": 1}]',
        '[{"id": "a", "name": "n", "issuer": "https://x", "clientId": "c", "clientSecret":"s", "scopes": 1}]',
    ],
    "EDITOR_SIGN_IN": ["sso?", "SSO"],
    "EDITOR_SSO_SIGN_UP": ["yes"],
    "EDITOR_SSO_GROUPS": [
        "[1]",
        '[{"provider": "corp", "group": "g", "workspace": "w", "role": "king"}]',
        '[{"provider": "unknown", "group": "g", "workspace": "w", "role": "admin"}]',
    ],
    "EDITOR_SESSION_IDLE": [0.0, -1.0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]])
def test_a_setting_that_cannot_be_used_is_refused_by_its_name(
    settings: Settings, name: str, value: Any
) -> None:
    setattr(settings, name, value)
    assert any(name in error.msg for error in run_checks())


@pytest.mark.parametrize("mode", ["sso", "both"])
def test_single_sign_on_without_a_provider_is_refused(
    corp: IdentityProvider, settings: Settings, mode: str
) -> None:
    sign_in_with(settings, corp, mode)
    settings.EDITOR_SSO_GROUPS = ""
    assert run_checks() == []
    settings.EDITOR_OIDC = ""
    assert [error.id for error in run_checks()] == ["company.E002"]
    assert Identity.objects.count() == 0
