"""Without this application the service works as before: nothing goes live at a time, nothing speaks of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.browsing import sign_in, visiting
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.studio_cast import PASSWORD, make_cast
from tests.support.window import page_of

SETTINGS = """
from editor_project.settings import *
INSTALLED_APPS.remove("schedules")
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
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(api, "writer", workspaceId="acme", autoPublish=True)
            kind.save(api, "writer", "two")
        assert api.get("/schedules").status == 404
    with visiting(service.url) as alice:
        assert sign_in(alice, "alice", PASSWORD)
        pages = [
            page_of(kind, page)
            for page in ("change", "history", "publish")
            for kind in (AGENTS, PROMPT_BLOCKS)
        ]
        for page in ("/studio/", f"{WORKSPACE}/members/", *pages):
            seen = alice.get(page)
            assert seen.status_code == 200, page
            assert "chedule" not in seen.text and "Calendar" not in seen.text, page
        assert alice.get(f"{WORKSPACE}/calendar/").status_code == 404
