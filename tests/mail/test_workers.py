"""A server with its worker, and a mail server that comes later: nothing waits, and mail arrives once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.support.mail_server import mail_server, until
from tests.support.ports import free_port
from tests.support.remote import connected
from tests.support.service import running_service

pytestmark = pytest.mark.processes

INVITATION = {"username": "lena", "role": "viewer", "mail": "lena@example.com"}


def test_mail_waits_for_a_mail_server_that_is_away_and_nothing_else_does(tmp_path: Path) -> None:
    port = free_port()
    mail = {"EMAIL_URL": f"smtp://127.0.0.1:{port}", "EDITOR_PUBLIC_URL": "https://editor.example.com"}
    with running_service(tmp_path, EDITOR_WORKER="on", **mail) as service:
        with connected(service, service.key) as api:
            begun = time.monotonic()
            assert api.post("/workspaces/default/invitations", INVITATION).status == 201
            assert time.monotonic() - begun < 5
            deadline = time.monotonic() + 30
            while "a mail could not be sent yet" not in service.log:
                assert time.monotonic() < deadline, service.log
                time.sleep(0.1)
            assert api.get("/stored/agents").status == 200
            waiting = json.loads(service.manage("status", "--json"))["queues"]["mail"]
            assert waiting["due"] + waiting["leased"] + waiting["later"] == 1
        with mail_server(port, tmp_path) as taken:
            [arrived] = until(1, taken)
            time.sleep(2)
            assert len(taken()) == 1 and arrived["To"] == "lena@example.com"
        assert "lena@example.com" not in service.log
