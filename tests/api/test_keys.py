"""API keys: shown once, stored as a hash, limited to the rights of their owner, invalid once revoked."""

from __future__ import annotations

import datetime
import hashlib

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.people import command, give_role, key_of, person
from tests.support.remote import connected
from tests.support.service import Service
from versioning.domain.errors import Invalid
from versioning.models import ApiKey, Membership, Workspace
from versioning.testing import WorkspaceFactory

HOUR = datetime.timedelta(hours=1)


def works(api: Api) -> bool:
    status = api.get("/stored/agents").status
    assert status in {200, 401}
    return status == 200


def stored(api: Api) -> ApiKey:
    digest = hashlib.sha256(api.key.encode()).hexdigest()
    found: ApiKey = ApiKey.objects.get(digest=digest)
    return found


def assert_unauthorized(answer: Answer) -> None:
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert set(answer.body) == {"error", "code"}
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


# The secret


def test_the_text_of_a_key_is_stored_nowhere(cast: Cast, kind: Kind) -> None:
    record = kind.make(cast.alice, autoPublish=True)
    cast.alice.put(kind.url("writer", "labels", "stable"), {"versionId": record["activeVersionId"]})
    command("revoke_api_key", cast.alice.key)
    rows = [str(row) for model in apps.get_models() for row in model._default_manager.values()]
    assert len(rows) > 10
    assert not [row for row in rows if cast.alice.key in row or cast.alice.key[12:] in row]


def test_the_stored_parts_of_a_key_are_no_credentials(cast: Cast) -> None:
    row = stored(cast.alice)
    for text in (row.prefix, row.digest, str(row.pk)):
        assert_unauthorized(Api(text).get("/stored/agents"))


def test_keys_are_long_and_unique(cast: Cast) -> None:
    keys = {key_of("alice").key for _ in range(20)}
    assert len(keys) == 20
    assert all(key.startswith("ek_") and len(key) >= 40 for key in keys)


def test_the_bearer_scheme_is_case_insensitive(cast: Cast) -> None:
    for scheme in ("bearer", "BEARER"):
        answer = cast.nobody.request("GET", "/stored/agents", authorization=f"{scheme} {cast.alice.key}")
        assert answer.status == 200


# The end of a key


def test_a_key_expires_whether_used_or_not(cast: Cast) -> None:
    expired = key_of("alice", expires_at=timezone.now() - HOUR)
    assert_unauthorized(expired.get("/stored/agents"))
    assert stored(expired).last_used_at is None
    api = key_of("alice", expires_at=timezone.now() + HOUR)
    assert works(api)
    ApiKey.objects.filter(pk=stored(api).pk).update(expires_at=timezone.now())
    assert_unauthorized(api.get("/stored/agents"))


def test_revoking_a_key_takes_effect_immediately_and_affects_no_other_key(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    other = key_of("alice")
    command("revoke_api_key", cast.alice.key)
    assert_unauthorized(cast.alice.get(kind.url("writer")))
    assert_unauthorized(cast.alice.patch(kind.url("writer"), {"name": "Still here"}))
    assert other.get(kind.url("writer")).body["name"] == "Writer"


@pytest.mark.processes
def test_a_key_that_another_process_revokes_is_refused_by_a_running_server(live_service: Service) -> None:
    key = live_service.manage("create_api_key", "tester", "--workspace", "default")

    def status() -> int:
        with connected(live_service, key) as api:
            return api.get(AGENTS.path).status

    assert status() == 200
    live_service.manage("revoke_api_key", key)
    assert status() == 401


def test_keys_do_not_work_while_their_owner_is_inactive_and_vanish_with_the_owner(cast: Cast) -> None:
    User.objects.filter(username="alice").update(is_active=False)
    assert_unauthorized(cast.alice.get("/stored/agents"))
    assert works(cast.edgar)
    User.objects.filter(username="alice").update(is_active=True)
    assert works(cast.alice)

    User.objects.get(username="vera").delete()
    assert_unauthorized(cast.vera.get("/stored/agents"))


# The rights of a key


def test_a_key_cannot_be_created_with_a_higher_role_than_its_owner_has(cast: Cast) -> None:
    before = ApiKey.objects.count()
    for owner, role in (("vera", "editor"), ("edgar", "publisher"), ("paula", "admin")):
        with pytest.raises(Invalid, match="role"):
            key_of(owner, workspace="acme", role=role)
    with pytest.raises(Invalid, match="workspace"):
        key_of("alice", workspace="elsewhere", role="viewer")
    assert ApiKey.objects.count() == before


def test_a_key_is_limited_to_the_current_role_of_its_owner(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    bold = key_of("vera", role="admin")
    assert bold.get(kind.url("writer")).status == 200
    assert bold.get(kind.url("writer"), status="draft").status == 403
    assert bold.patch(kind.url("writer"), {"name": "Mine"}).status == 403
    key = key_of("edgar", workspace="acme", role="editor")
    assert key.patch(kind.url("writer"), {"name": "First"}).status == 200
    give_role("edgar", "acme", "viewer")
    assert key.patch(kind.url("writer"), {"name": "Second"}).status == 403
    Membership.objects.filter(user__username="edgar").delete()
    assert key.get(kind.url("writer")).status == 404
    assert works(key)


def test_a_key_keeps_its_own_role_when_its_owner_is_promoted(cast: Cast, kind: Kind) -> None:
    record = kind.make(cast.alice)
    limited = key_of("edgar", workspace="acme", role="editor")
    unlimited = key_of("edgar")
    give_role("edgar", "acme", "admin")
    url = kind.url("writer", "versions", record["latestVersionId"], "activate")
    assert limited.post(url).status == 403
    assert unlimited.post(url).status == 200


def test_an_unlimited_key_works_in_workspaces_that_its_owner_joins_later(cast: Cast, kind: Kind) -> None:
    person("lena", acme="viewer")
    free, limited = key_of("lena"), key_of("lena", workspace="acme")
    kind.make(cast.charlie, "theirs", autoPublish=True)
    assert free.get(kind.url("theirs")).status == 404
    give_role("lena", "elsewhere", "viewer")
    assert free.get(kind.url("theirs")).status == 200
    assert limited.get(kind.url("theirs")).status == 404


def test_the_keys_of_a_deleted_workspace_are_deleted(cast: Cast) -> None:
    WorkspaceFactory(id="lab")
    person("lena", lab="admin")
    limited = key_of("lena", workspace="lab")
    Workspace.objects.get(id="lab").delete()
    assert_unauthorized(limited.get("/stored/agents"))


# The time of use


def test_the_last_use_of_a_key_is_recorded(cast: Cast) -> None:
    api = key_of("alice")
    for earlier in (None, timezone.now() - HOUR):
        ApiKey.objects.filter(pk=stored(api).pk).update(last_used_at=earlier)
        before = timezone.now()
        assert works(api)
        used = stored(api).last_used_at
        assert used is not None and before <= used <= timezone.now()
