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
INSTALLED_APPS = [name for name in INSTALLED_APPS if name not in {"releases", "schedules"}]
"""
WORKSPACE = "/studio/versioning/workspace/acme"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service in a project that has left the application out, and what needs it."""
    (tmp_path / "own_settings.py").write_text(SETTINGS)
    own = {"DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(tmp_path)}
    with running_service(tmp_path, **own) as running:
        yield running


def test_the_api_and_the_studio_work_without_it(service: Service) -> None:
    keys = make_cast(service)
    with connected(service, keys["alice"]) as api:
        AGENTS.make(api, "writer", workspaceId="acme")
        assert api.get("/releases").status == 404
        assert api.get(AGENTS.url("writer"), release="x").status == 404
    with visiting(service.url) as alice:
        assert sign_in(alice, "alice", PASSWORD)
        pages = [f"{WORKSPACE}/members/", f"{WORKSPACE}/activity/", "/studio/waiting/"]
        pages += [f"/studio/versioning/agent/writer/{page}/" for page in ("change", "history", "publish")]
        for page in pages:
            answer = alice.get(page)
            assert answer.status_code == 200 and "/releases/" not in answer.text
        assert alice.get(f"{WORKSPACE}/releases/").status_code == 404
