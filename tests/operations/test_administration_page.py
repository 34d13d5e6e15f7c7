"""The guides about people, keys and old versions, followed as they stand there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.api import AGENTS
from tests.support.installation import Installation, installation
from tests.support.pages import GUIDES, commands, section
from tests.support.remote import connected
from tests.support.service import ROOT
from tests.support.studio import visiting
from versioning.domain.events import types

LATER = {"rollout"}
"""What this release has no entries about."""
PASSWORD = "a long password"
LENA = f"""
from django.contrib.auth.models import User
User.objects.create_superuser('lena', password={PASSWORD!r})
"""


@pytest.fixture(scope="module")
def administered_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A service with a person, and a program that monitors it."""
    with installation(tmp_path_factory.mktemp("administration") / "editor", is_set_up=True) as installed:
        installed.python(LENA)
        installed.service.start()
        yield installed


def test_the_first_superuser_signs_in(administered_service: Installation) -> None:
    [command] = commands(GUIDES / "add-people.md", "Create the first superuser")
    administered_service.run(command, USERNAME="ada", PASSWORD=PASSWORD)
    with visiting(administered_service.service.url) as ada:
        assert ada.sign_in("ada", PASSWORD)
        assert ada.is_signed_in


def test_deactivating_a_person_ends_sessions_and_keys_immediately(administered_service: Installation) -> None:
    service = administered_service.service
    key = service.manage("create_api_key", "lena")
    with visiting(service.url) as lena, connected(service, key) as api:
        assert lena.sign_in("lena", PASSWORD)
        AGENTS.make(api, "by-lena", workspaceId="default")
        administered_service.run(commands(GUIDES / "add-people.md", "Remove a person")[0], USERNAME="lena")
        assert not lena.is_signed_in
        assert not lena.sign_in("lena", PASSWORD)
        assert api.get("/stored/agents").status == 401
    with connected(service) as watcher:
        assert watcher.get(AGENTS.url("by-lena"), status="draft").body["authorId"] == "lena"


def test_a_role_is_given_without_an_invitation(administered_service: Installation) -> None:
    service = administered_service.service
    [command] = commands(GUIDES / "add-people.md", "Give a role without an invitation")
    with connected(service, service.manage("create_api_key", "mia")) as mia:
        assert mia.post(AGENTS.path, AGENTS.body(id="by-mia", autoPublish=False)).status == 400
        administered_service.run(command, USERNAME="mia", WORKSPACE="default")
        assert mia.post(AGENTS.path, AGENTS.body(id="by-mia", autoPublish=False)).status == 201


def test_a_key_is_issued_and_revoked(administered_service: Installation) -> None:
    [issue] = commands(GUIDES / "issue-api-keys.md", "Issue a key")
    [revoke] = commands(GUIDES / "issue-api-keys.md", "Revoke a key")
    key = administered_service.run(issue, USERNAME="shop", WORKSPACE="default").strip()
    with connected(administered_service.service, key) as shop:
        assert shop.get("/agents").status == 200
        assert shop.post(AGENTS.path, AGENTS.body(id="new")).status == 403
        administered_service.run(revoke, KEY=key[:11])
        assert shop.get("/agents").status == 401


def test_pruning_deletes_old_versions_except_needed_ones(administered_service: Installation) -> None:
    with connected(administered_service.service) as api:
        first = AGENTS.make(api, "long", autoPublish=True)["activeVersionId"]
        for turn in range(3):
            AGENTS.save(api, "long", f"edit {turn}")
        [block] = commands(GUIDES / "keep-the-database-small.md", "Old versions")
        assert "Removed 2 versions." in administered_service.run(block.replace("--keep 100", "--keep 1"))
        left = AGENTS.versions(api, "long")
        assert [version["versionNumber"] for version in left] == [4, 1]
        assert left[-1]["id"] == first


def test_a_request_is_logged_in_one_line_with_its_id_and_without_secrets(
    administered_service: Installation,
) -> None:
    service = administered_service.service
    with connected(service) as api:
        answer = api.request("GET", AGENTS.path, query={"search": "hush"}, x_request_id="from-the-caller")
        assert answer.headers["X-Request-ID"] == "from-the-caller"
    lines = [json.loads(line) for line in service.log.splitlines()]
    assert all(line.keys() >= {"event", "level", "logger", "timestamp"} for line in lines)
    [line] = [line for line in lines if line.get("requestId") == "from-the-caller"]
    logged = {name: line[name] for name in ("logger", "method", "path", "status")}
    assert logged == {
        "logger": "versioning.api.middleware",
        "method": "GET",
        "path": "/api/stored/agents",
        "status": 200,
    }
    assert line["milliseconds"] >= 0
    assert not any(secret in service.log for secret in (service.key, "hush"))


def test_every_type_of_entry_is_explained() -> None:
    listed = section(ROOT / "docs/reference/events.md", "Types")
    explained = {*re.findall(r"`([a-zA-Z]+\.[a-zA-Z]+)`", listed)}
    of_agents = {one for one in explained if one.startswith("agent.")}
    explained |= {
        one.replace("agent.", f"{kind}.") for one in of_agents for kind in ("promptBlock", "scorer")
    }
    assert explained == {one for one in types() if one.partition(".")[0] not in LATER}
