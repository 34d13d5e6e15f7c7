"""The workspace of a new resource: that of the key, else the caller's only one, else the requested one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import undone
from tests.support.people import key_of, person
from versioning.models import Membership


def create(api: Api, kind: Kind, **more: Any) -> Answer:
    return api.post(kind.path, kind.body(**{"id": "new", "autoPublish": False, **more}))


def workspace_of(answer: Answer) -> str:
    assert answer.status == 201, answer.body
    return str(answer.body["workspaceId"])


def refusal(answer: Answer, name: str) -> tuple[int, str, str]:
    """A refusal, without the name of the workspace."""
    return answer.status, answer.code, answer.body["error"].replace(name, "…")


@pytest.fixture
def dora(cast: Cast) -> Api:
    person("dora", acme="editor", elsewhere="editor")
    return key_of("dora")


# Creating


def test_the_workspace_defaults_to_that_of_the_key_or_to_the_callers_only_one(
    cast: Cast, dora: Api, kind: Kind
) -> None:
    person("lena")
    limited = key_of("dora", workspace="elsewhere")
    for api, workspace in ((cast.edgar, "acme"), (cast.charlie, "elsewhere"), (limited, "elsewhere")):
        with undone():
            assert workspace_of(create(api, kind)) == workspace
    for api in (dora, key_of("lena"), cast.root):
        answer = create(api, kind)
        assert (answer.status, answer.fields) == (400, ["workspaceId"])
    for api in (dora, cast.root):
        with undone():
            assert workspace_of(create(api, kind, workspaceId="elsewhere")) == "elsewhere"
    assert create(limited, kind, workspaceId="acme").status == 403


@pytest.mark.parametrize("who", ["charlie", "vera", "root"])
def test_an_unknown_workspace_is_refused_like_one_without_membership(
    cast: Cast, kind: Kind, who: str
) -> None:
    api: Api = getattr(cast, who)
    unknown = refusal(create(api, kind, workspaceId="nowhere"), "nowhere")
    assert unknown[:2] == (403, "forbidden")
    if who != "root":
        others = "elsewhere" if who == "vera" else "acme"
        assert refusal(create(api, kind, workspaceId=others), others) == unknown


def test_a_key_for_a_workspace_that_its_owner_has_left_creates_nothing(dora: Api, kind: Kind) -> None:
    limited = key_of("dora", workspace="elsewhere")
    Membership.objects.filter(user__username="dora", workspace_id="elsewhere").delete()
    answer = create(limited, kind)
    assert (answer.status, answer.code) == (403, "forbidden")


def test_a_key_limited_to_a_role_has_only_the_rights_of_that_role(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    viewing = key_of("alice", workspace="acme", role="viewer")
    editing = key_of("alice", workspace="acme", role="editor")
    assert create(viewing, kind).status == 403
    assert viewing.get(kind.url("writer")).status == 404
    record = kind.save(editing)
    url = kind.url("writer", "versions", record["latestVersionId"], "activate")
    assert editing.post(url).status == 403
    assert create(editing, kind, workspaceId="acme", autoPublish=True).status == 403


def test_a_key_limited_to_a_workspace_sees_no_other_workspace_of_its_owner(cast: Cast, kind: Kind) -> None:
    person("dora", acme="admin", elsewhere="admin")
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    limited = key_of("dora", workspace="elsewhere")
    assert limited.get(kind.url("ours")).status == 404
    assert limited.get(kind.url("ours"), status="draft").status == 404
    assert [found["id"] for found in limited.get(kind.path).body[kind.list_key]] == ["theirs"]
    both = key_of("dora").get(kind.path).body[kind.list_key]
    assert [found["id"] for found in both] == ["theirs", "ours"]


def test_a_key_limited_to_a_workspace_reads_public_agents_of_other_workspaces(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    limited = key_of("charlie", workspace="elsewhere", role="viewer")
    assert limited.get(AGENTS.url("writer")).body["instructions"] == "one"
    assert limited.get(AGENTS.url("writer"), status="draft").status == 403


def test_a_superusers_key_limited_to_a_workspace_has_no_rights_elsewhere(cast: Cast, kind: Kind) -> None:
    kind.make(cast.charlie, "theirs", autoPublish=True)
    limited = key_of("root", workspace="acme")
    assert workspace_of(create(limited, kind)) == "acme"
    assert limited.get(kind.url("theirs")).status == 404
    assert limited.delete(kind.url("theirs")).status == 404


def test_a_superusers_key_limited_to_viewing_reads_published_versions_everywhere(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    kind.save(cast.charlie, "theirs")
    kind.make(cast.charlie, "unborn")
    viewing = key_of("root", role="viewer")
    assert viewing.get(kind.url("unborn")).status == 404
    assert viewing.get(kind.url("theirs")).body[kind.text] == "one"
    assert viewing.get(kind.path).body["total"] == 2
    assert viewing.get(kind.url("theirs"), status="draft").status == 403
    assert viewing.delete(kind.url("theirs")).status == 403


def test_a_workspace_is_named_by_text(cast: Cast, kind: Kind) -> None:
    for value in ("", None, 5, ["acme"]):
        answer = create(cast.alice, kind, workspaceId=value)
        assert (answer.status, answer.fields) == (400, ["workspaceId"])


def test_a_resource_does_not_move_to_another_workspace(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    answer = cast.root.patch(kind.url("writer"), {"workspaceId": "elsewhere"})
    assert (answer.status, answer.fields) == (400, ["workspaceId"])
    assert cast.alice.get(kind.url("writer")).body["workspaceId"] == "acme"


# Cloning


def clone(api: Api, kind: Kind, **more: Any) -> Answer:
    return api.post(kind.url("writer", "clone"), {"newId": "copy", **more})


def test_a_clone_needs_the_right_to_save_in_the_target_workspace(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    others = refusal(clone(cast.alice, kind, workspaceId="elsewhere"), "elsewhere")
    assert others == refusal(clone(cast.alice, kind, workspaceId="nowhere"), "nowhere")
    assert others[:2] == (403, "forbidden")
    assert clone(cast.vera, kind).status == 403
    assert cast.root.get(kind.url("copy")).status == 404
    person("vito", acme="viewer", elsewhere="editor")
    assert workspace_of(clone(key_of("vito"), kind, workspaceId="elsewhere")) == "elsewhere"
    assert cast.charlie.get(kind.url("copy")).body["authorId"] == "vito"
    assert cast.alice.get(kind.url("copy")).status == 404
    assert workspace_of(clone(cast.edgar, kind, newId="another")) == "acme"


def test_a_clone_of_a_public_agent_is_private_unpublished_and_owned_by_the_cloner(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    AGENTS.save(cast.alice)
    copy = clone(cast.charlie, AGENTS).body
    assert (copy["workspaceId"], copy["authorId"]) == ("elsewhere", "charlie")
    assert (copy["visibility"], copy["status"], copy["activeVersionId"]) == ("private", "draft", None)
    assert copy["instructions"] == "one"
    assert cast.alice.get(AGENTS.url("copy")).status == 404


def test_cloning_a_public_agent_with_two_memberships_needs_a_workspace_id(cast: Cast) -> None:
    person("uma", elsewhere="editor", default="editor")
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    answer = clone(key_of("uma"), AGENTS)
    assert (answer.status, answer.fields) == (400, ["workspaceId"])
    assert workspace_of(clone(key_of("uma", workspace="default"), AGENTS)) == "default"
