"""Administration by the methods of both clients, and by the command line."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from editor_client import Client, Forbidden, Unauthorized
from editor_client.__main__ import main

from tests.support.service import Service

pytestmark = pytest.mark.processes


def test_a_service_account_gets_a_limited_key(client: Any, live_service: Service) -> None:
    name = f"robot-{uuid4().hex[:8]}"
    assert client.create_service_account(name, "default", "editor").role == "editor"
    assert name in [one.username for one in client.iter_service_accounts(workspace_id="default", per_page=1)]
    made = client.create_key("CI", owner=name, actions=["read"], id_prefix="team/")
    assert made.key not in repr(made)
    assert (made.owner, made.actions, made.workspace_id) == (name, ("read",), "default")
    assert made.prefix in [one.prefix for one in client.list_keys(workspace_id="default").entries]
    with Client(live_service.url, api_key=made.key) as robot:
        me = robot.me()
        assert (me.username, me.key.id_prefix, me.workspaces[0].role) == (name, "team/", "editor")
        with pytest.raises(Forbidden) as refused:
            robot.create_stored_agent(id="team/a", name="A", instructions="a")
        assert refused.value.code == "key_scope"
        client.revoke_key(made.prefix)
        with pytest.raises(Unauthorized):
            robot.me()
    assert client.delete_service_account(name).success


def test_people_are_invited(client: Any) -> None:
    workspace = client.get_workspace("default")
    assert workspace.details().id == "default"
    name = f"ida-{uuid4().hex[:8]}"
    made = workspace.invite(name, "viewer", mail="ida@example.com")
    assert made.url.startswith("http") and made.url not in repr(made)
    assert name in [one.username for one in workspace.list_invitations().invitations]
    assert workspace.withdraw_invitation(made.id).success
    assert "default" in [one.id for one in client.iter_workspaces()]


def test_the_command_line_makes_and_lists_keys(
    client: Any, live_service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        assert main([*arguments, "--url", live_service.url, "--api-key", live_service.key]) == 0
        return capsys.readouterr().out

    key = run(
        "keys", "create", "CI", "--workspace", "default", "--role", "viewer", "--action", "read"
    ).strip()
    assert key.startswith("ek_")
    listed = [json.loads(line) for line in run("keys", "list", "--json").splitlines()]
    [made] = [one for one in listed if one["prefix"] == key[:11]]
    assert (made["role"], made["actions"]) == ("viewer", ["read"])
    assert key[:11] in run("keys", "list", "--workspace", "default")
    assert "revoked" in run("keys", "revoke", key[:11])
    assert "default" in run("workspaces", "list")
    assert json.loads(run("me"))["key"]["prefix"] == live_service.key[:11]
    assert run("members", "list", "default").splitlines()[0].startswith("username")
