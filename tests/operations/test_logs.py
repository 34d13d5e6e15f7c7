"""The content of the log: no key, no secret of an invitation, no query parameter."""

from __future__ import annotations

import logging
from typing import Any

import httpx2
import pytest
from django.test import RequestFactory

from editor_project.log_config import DiscreetHandler, JsonLines
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.service import Service
from tests.support.studio import Visitor, workspace_page
from versioning.api import request_log

INVITE = """
from versioning.conf import get_editor
from versioning.domain.access import Role
print(get_editor().invitation.invite("default", "lena", Role.VIEWER)[1])
"""
WELCOME = "/studio/versioning/workspace/welcome/"


def test_the_log_of_a_server_contains_no_secrets_from_urls(live_service: Service) -> None:
    token = live_service.manage("shell", "--no-imports", "-c", INVITE)
    key, written = live_service.key, len(live_service.log)
    with httpx2.Client(
        base_url=live_service.url, trust_env=False, follow_redirects=True, timeout=60
    ) as visitor:
        for place in (f"{WELCOME}{token}", f"{WELCOME}{token}/", f"/studio/{token}", f"/{token}?key={key}"):
            visitor.get(place)
            visitor.post(place)  # without the token of a form, which another logger complains about
        visitor.get(f"{WELCOME}{token[:30]}")
        visitor.get(f"/api/stored/agents/{key}", headers={"Authorization": f"Bearer {key}"})
    log = live_service.log[written:]
    assert log.count('"event": "request"') >= 10 and f"{WELCOME}ei_[secret]" in log
    assert token not in log and token[:30] not in log
    assert key not in log and "ek_[secret]" in log


def test_log_lines_about_a_request_contain_no_secret_from_any_logger(
    cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    link = Visitor("alice").submit(workspace_page("members"), username="lena", role="viewer").one_time_secret
    with caplog.at_level(logging.INFO, request_log.logger.name), caplog.at_level(logging.DEBUG):
        Visitor("vera").get(link)
    assert caplog.records
    assert link.rpartition("/")[2] not in str([vars(record) for record in caplog.records])


def line_of(**more: Any) -> str:
    """Return the log line of a bug in a request with secrets in its URL."""
    handler = DiscreetHandler()
    handler.setFormatter(JsonLines())
    request = RequestFactory().get("/studio/", {"q": "a customer's name"})
    extra = {"request": request, "status_code": 500, **more}
    logger = logging.getLogger("django.request")
    record = logger.makeRecord(
        "x", logging.ERROR, "x", 1, "Internal Server Error: %s", ("/x",), None, extra=extra
    )
    return handler.format(record)


def test_a_log_line_about_a_request_omits_its_query() -> None:
    assert "customer" not in line_of() and '"status_code": 500' in line_of()


def test_a_secret_is_removed_anywhere_in_a_log_line() -> None:
    assert line_of(reason="ek_" + "x" * 40, more=["ei_" + "y" * 40]).count("[secret]") == 2
    assert "ek_short" in line_of(reason="ek_short")


def test_pages_do_not_reveal_their_url_to_other_hosts(cast: Cast) -> None:
    link = Visitor("alice").submit(workspace_page("members"), username="lena", role="viewer").one_time_secret
    for answer in (Visitor("alice").get(link), Visitor("alice").get(WELCOME), cast.alice.get(AGENTS.path)):
        headers = answer.headers
        assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}
