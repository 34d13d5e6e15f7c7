"""The rule is that of the moment of going live: what another process changes before the commit counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS
from tests.support.held_writer import held
from tests.support.remote import RemoteApi, connected
from tests.support.reviews import ask, path
from tests.support.service import Service

pytestmark = pytest.mark.postgresql

PEOPLE = """
import json
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace
home, keys = Workspace.objects.get(id="default"), {}
for name in ("four-eyes-1", "four-eyes-2"):
    user, _ = User.objects.get_or_create(username=name)
    Membership.objects.grant(user, home, Role.PUBLISHER)
    keys[name] = ApiKey.objects.issue(user)[1]
print(json.dumps(keys))
"""
POLICY = """
from versioning.conf import get_editor
get_editor().review_policy.set("default", {})
"""
ROLE = """
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import Membership, Workspace
user = User.objects.get(username="four-eyes-1")
Membership.objects.grant(user, Workspace.objects.get(id="default"), Role.EDITOR)
"""


def require(api: RemoteApi, count: int) -> None:
    """Require so many approvals in `default`."""
    assert api.put("/workspaces/default/review-policy", {"required": count}).status == 200


@pytest.fixture
def api(live_service: Service) -> Iterator[RemoteApi]:
    """The admin of `default`, where no approval is required after the test."""
    with connected(live_service) as connection:
        yield connection
        require(connection, 0)


@pytest.fixture
def keys(live_service: Service) -> dict[str, str]:
    """The keys of two publishers."""
    found: dict[str, str] = json.loads(live_service.manage("shell", "--no-imports", "-c", PEOPLE))
    return found


@pytest.fixture
def review(api: RemoteApi, keys: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A review of a draft of `four-eyes-2`, which is named after its publisher."""
    AGENTS.make(api, "four-eyes-2")
    yield ask(api, AGENTS, "four-eyes-2")
    api.delete(AGENTS.url("four-eyes-2"))


def active(api: RemoteApi) -> Any:
    return api.get(AGENTS.url("four-eyes-2"), status="draft").body["activeVersionId"]


def approve(service: Service, key: str, review: dict[str, Any]) -> None:
    with connected(service, key) as api:
        body = {"versionId": review["versionId"], "verdict": "approve"}
        assert api.post(path(review, "verdicts"), body).status == 200


Publish = Callable[[str], dict[str, Any]]


@pytest.fixture
def publish(live_service: Service, tmp_path: Path, keys: dict[str, str], review: dict[str, Any]) -> Publish:
    """Let one publisher approve and the other publish, while a program changes something."""

    def held_publish(change: str) -> dict[str, Any]:
        approve(live_service, keys["four-eyes-1"], review)
        who = ("four-eyes-2", keys["four-eyes-2"])
        program = ("shell", "--no-imports", "-c", change)
        return held(
            live_service, tmp_path, "publish in Python", by=who, change=lambda: live_service.manage(*program)
        )

    return held_publish


@pytest.mark.parametrize(
    ("required", "change", "code"),
    [
        (1, "pass", None),
        (0, POLICY.format("required=2"), "review_required"),
        (1, POLICY.format("required=2"), "review_required"),
        (1, ROLE, "review_required"),
    ],
)
def test_changes_before_the_commit_count(
    publish: Publish, api: RemoteApi, required: int, change: str, code: str | None
) -> None:
    require(api, required)
    assert (publish(change), active(api) is None) == ({"code": code}, code is not None)
