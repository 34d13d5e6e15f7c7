"""The commands `create_api_key` and `revoke_api_key`, as a script or an administrator runs them."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.people import command, key_of, person
from tests.support.service import Service
from versioning.models import ApiKey, Event, Membership, Workspace

KEY_ALONE = re.compile(r"ek_[A-Za-z0-9_-]{32,}\n")


def create(*arguments: str) -> Api:
    """Run `create_api_key` and return the API with the new key."""
    output = command("create_api_key", *arguments)
    assert KEY_ALONE.fullmatch(output), output
    return Api(output.strip())


def stored(api: Api) -> ApiKey:
    found = ApiKey.objects.find_by_secret_or_prefix(api.key)
    assert found is not None
    return found


def roles() -> dict[tuple[str, str], str]:
    rows = Membership.objects.values_list("user__username", "workspace_id", "role")
    return {(user, workspace): role for user, workspace, role in rows}


# Making a key


def test_a_real_command_prints_the_key_alone(live_service: Service) -> None:
    printed = live_service.manage("create_api_key", "somebody", "--workspace", "lab", "--role", "editor")
    assert KEY_ALONE.fullmatch(f"{printed}\n")


def test_missing_users_and_workspaces_are_created(db: None, kind: Kind) -> None:
    api = create("nina", "--workspace", "lab", "--role", "editor")
    record = kind.make(api)
    assert (record["workspaceId"], record["authorId"]) == ("lab", "nina")
    assert roles() == {("nina", "lab"): "editor"}
    assert not User.objects.get(username="nina").has_usable_password()


def test_existing_users_and_workspaces_are_used(cast: Cast, kind: Kind) -> None:
    users = User.objects.count()
    kind.make(cast.alice)
    api = create("edgar", "--workspace", "acme")
    assert api.get(kind.url("writer"), status="draft").status == 200
    assert User.objects.count() == users
    assert Workspace.objects.get(id="acme").name == "Acme"


def test_a_new_member_without_a_role_reads_published_versions(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    api = create("nina", "--workspace", "acme")
    assert api.get(kind.url("writer")).status == 200


def test_a_lower_role_is_raised_for_the_member_and_not_for_the_key_alone(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert cast.vera.patch(kind.url("writer"), {"name": "Mine"}).status == 403
    api = create("vera", "--workspace", "acme", "--role", "editor")
    for key in (api, cast.vera):
        assert key.get(kind.url("writer"), status="draft").status == 200
    assert roles()["vera", "acme"] == "editor"


def test_a_role_is_never_lowered(cast: Cast) -> None:
    before = roles()
    for role in ("viewer", "editor", "publisher", "admin"):
        create("alice", "--workspace", "acme", "--role", role)
        assert roles() == before, role


def test_a_key_of_a_lower_role_is_limited_to_it(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    api = create("alice", "--workspace", "acme", "--role", "viewer")
    assert api.get(kind.url("writer")).status == 200
    assert api.get(kind.url("writer"), status="draft").status == 403
    assert cast.alice.get(kind.url("writer"), status="draft").status == 200


def test_the_role_is_raised_in_the_named_workspace_only(cast: Cast) -> None:
    person("dora", acme="viewer", elsewhere="viewer")
    create("dora", "--workspace", "acme", "--role", "publisher")
    assert roles()["dora", "acme"] == "publisher"
    assert roles()["dora", "elsewhere"] == "viewer"


def test_without_a_workspace_the_key_reaches_all_of_the_users(cast: Cast, kind: Kind) -> None:
    person("dora", acme="editor", elsewhere="viewer")
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    api = create("dora")
    assert api.patch(kind.url("ours"), {"name": "Renamed"}).status == 200
    assert api.get(kind.url("theirs")).status == 200
    assert api.patch(kind.url("theirs"), {"name": "Renamed"}).status == 403


def test_without_a_workspace_a_role_limits_the_key_and_changes_no_membership(cast: Cast, kind: Kind) -> None:
    person("dora", acme="admin", elsewhere="viewer")
    before = roles()
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    api = create("dora", "--role", "editor")
    record = api.patch(kind.url("ours"), {"name": "Renamed"}).body
    assert api.post(kind.url("ours", "versions", record["latestVersionId"], "activate")).status == 403
    assert api.patch(kind.url("theirs"), {"name": "Renamed"}).status == 403
    assert roles() == before


def test_with_a_workspace_the_key_reaches_no_other(cast: Cast, kind: Kind) -> None:
    person("dora", acme="admin", elsewhere="admin")
    kind.make(cast.charlie, "theirs", autoPublish=True)
    assert create("dora", "--workspace", "acme").get(kind.url("theirs")).status == 404


def test_a_key_has_the_given_name_and_without_a_moment_does_not_expire(cast: Cast) -> None:
    assert stored(create("alice", "--name", "nightly import")).name == "nightly import"
    plain = stored(create("alice"))
    assert (plain.name, plain.expires_at) == ("", None)


def test_a_key_expires_at_the_given_moment(cast: Cast) -> None:
    for text, hour in (
        ("2999-01-31", 0),
        ("2999-01-31T12:00:00Z", 12),
        ("2999-01-31T12:00:00+02:00", 10),
        ("2999-01-31T12:00:00", 12),
    ):
        api = create("alice", "--expires", text)
        assert stored(api).expires_at == datetime.datetime(2999, 1, 31, hour, tzinfo=datetime.UTC), text
        assert api.get("/stored/agents").status == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ("nina", "--workspace", "lab", "--role", "owner"),
        ("nina", "--workspace", "lab", "--expires", "tomorrow"),
        ("nina", "--workspace", "lab", "--expires", "2999-02-30"),
        ("nina", "--workspace", " lab"),
        ("nina", "--workspace", "lab", "--unknown", "option"),
        (),
    ],
    ids=" ".join,
)
def test_an_invalid_command_is_refused_and_creates_nothing(db: None, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command("create_api_key", *arguments)
    made: list[Any] = [User.objects.count(), ApiKey.objects.count(), Membership.objects.count()]
    assert made == [0, 0, 0]
    assert not Workspace.objects.filter(id__contains="lab").exists()


# Revoking a key


def test_a_key_is_revoked_by_its_text_which_is_not_printed(cast: Cast) -> None:
    """Revoking twice is no error, and one entry in the audit log."""
    for _ in range(2):
        assert cast.vera.key not in command("revoke_api_key", cast.vera.key)
        assert cast.vera.get("/stored/agents").status == 401
    assert Event.objects.filter(type="key.revoked").count() == 1


def test_a_key_is_revoked_by_the_prefix_that_is_shown_of_it(cast: Cast) -> None:
    prefix = stored(cast.vera).prefix
    assert cast.vera.key.startswith(prefix)
    command("revoke_api_key", prefix)
    assert cast.vera.get("/stored/agents").status == 401
    assert cast.alice.get("/stored/agents").status == 200


def test_a_text_that_is_no_key_or_prefix_revokes_nothing(cast: Cast) -> None:
    for name in ("ek_unknown", "ek_", "", "alice"):
        with pytest.raises(CommandError):
            command("revoke_api_key", name)
    assert not ApiKey.objects.filter(revoked_at__isnull=False).exists()


def test_a_mistyped_key_is_not_repeated_in_the_message(cast: Cast) -> None:
    mistyped = f"{cast.alice.key}x"
    with pytest.raises(CommandError) as raised:
        command("revoke_api_key", mistyped)
    assert cast.alice.key not in str(raised.value)
    assert cast.alice.get("/stored/agents").status == 200


def test_the_command_leaves_entries_for_the_key_and_the_role(cast: Cast) -> None:
    before = set(Event.objects.values_list("pk", flat=True))
    create("vera", "--workspace", "acme", "--role", "editor")
    entries = Event.objects.exclude(pk__in=before).order_by("pk")
    assert [(entry.type, entry.workspace_id) for entry in entries] == [
        ("member.roleChanged", "acme"),
        ("key.created", "acme"),
    ]
    assert key_of("vera").get("/stored/agents").status == 200


def test_an_expiry_that_cannot_be_stored_is_refused_without_a_traceback(cast: Cast) -> None:
    for moment in ("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "10000-01-01"):
        with pytest.raises(CommandError, match="--expires must be ISO 8601"):
            command("create_api_key", "vera", "--expires", moment)
