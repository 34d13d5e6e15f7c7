"""Without this application the service works as before: what it adds is gone, and nothing asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import AGENTS
from tests.support.browsing import sign_in, visiting
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.studio_cast import PASSWORD, make_cast

SETTINGS = """
from editor_project.settings import *
INSTALLED_APPS.remove("delivery")
"""
WORKSPACE = "/studio/versioning/workspace/acme"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service in a project that has left the application out."""
    (tmp_path / "own_settings.py").write_text(SETTINGS)
    own = {"DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(tmp_path)}
    with running_service(tmp_path, **own) as running:
        yield running


def test_the_api_and_the_studio_work_without_it(service: Service) -> None:
    keys = make_cast(service)
    with connected(service, keys["alice"]) as api:
        AGENTS.make(api, "writer", workspaceId="acme", autoPublish=True)
        assert [event["type"] for event in api.get("/events").body["events"]][-1] == "agent.published"
        assert [api.get(route).status for route in ("/webhooks", "/events/stream")] == [404, 404]
    with visiting(service.url) as alice:
        assert sign_in(alice, "alice", PASSWORD)
        pages = {page: alice.get(f"{WORKSPACE}/{page}/") for page in ("members", "activity", "webhooks")}
        assert [page.status_code for page in pages.values()] == [200, 200, 404]
        assert "Webhooks" not in pages["members"].text
        assert alice.get("/studio/").status_code == 200
