"""Without this application the service works as before: nobody needs approvals, nothing speaks of them."""

from __future__ import annotations

import re
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
INSTALLED_APPS.remove("review")
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
            draft = kind.save(api, "writer")["latestVersionId"]
            kind.publish(api, "writer", draft)
            kind.save(api, "writer", "three")
        assert [api.get(route).status for route in ("/reviews", "/comments")] == [404, 404]
        assert api.get("/workspaces/acme/review-policy").status == 404
    with visiting(service.url) as alice:
        assert sign_in(alice, "alice", PASSWORD)
        pages = [page_of(AGENTS, page) for page in ("change", "history", "compare", "publish")]
        for page in ("/studio/", "/studio/waiting/", f"{WORKSPACE}/members/", *pages):
            seen = alice.get(page)
            assert seen.status_code == 200, page
            words = re.sub(r"<(script|style|link)\b.*?>|[Pp]review", "", seen.text)
            assert "eview" not in words, page
        for page in ("reviews", "review-policy"):
            assert alice.get(f"{WORKSPACE}/{page}/").status_code == 404
