"""Where a new resource goes: the key's workspace, else the only one, else the one that is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.people import key_of, person
from versioning.models import Membership


def create(api: Api, kind: Kind, **more: Any) -> Answer:
    return api.post(kind.path, kind.body(**{"id": "new", "autoPublish": False, **more}))


def workspace_of(answer: Answer) -> str:
    assert answer.status == 201, answer.body
    return str(answer.body["workspaceId"])


def refusal(answer: Answer, name: str) -> tuple[int, str, str]:
    """A refusal, with the name of the workspace blotted out."""
    return answer.status, answer.code, answer.body["error"].replace(name, "…")


@pytest.fixture
def dora(cast: Cast) -> Api:
    """An editor of two workspaces."""
    person("dora", acme="editor", elsewhere="editor")
    return key_of("dora")


# Creating


@pytest.mark.parametrize(
    ("who", "workspace"), [("alice", "acme"), ("edgar", "acme"), ("charlie", "elsewhere")]
)
def test_the_only_workspace_of_the_caller_is_the_default(
    cast: Cast, kind: Kind, who: str, workspace: str
) -> None:
    assert workspace_of(create(getattr(cast, who), kind)) == workspace


def test_the_workspace_of_the_key_is_the_default(dora: Api, kind: Kind) -> None:
    assert workspace_of(create(key_of("dora", workspace="elsewhere"), kind)) == "elsewhere"


def test_a_caller_with_two_workspaces_has_to_name_one(dora: Api, kind: Kind) -> None:
    answer = create(dora, kind)
    assert (answer.status, answer.fields) == (400, ["workspaceId"])
    assert workspace_of(create(dora, kind, workspaceId="elsewhere")) == "elsewhere"


def test_a_caller_without_a_workspace_has_to_name_one(cast: Cast, kind: Kind) -> None:
    person("lena")
    for api in (key_of("lena"), cast.root):
        answer = create(api, kind)
        assert (answer.status, answer.fields) == (400, ["workspaceId"])


def test_a_superuser_creates_in_any_workspace(cast: Cast, kind: Kind) -> None:
    assert workspace_of(create(cast.root, kind, workspaceId="elsewhere")) == "elsewhere"


@pytest.mark.parametrize("who", ["charlie", "vera", "root"])
def test_an_unknown_workspace_is_refused_like_one_of_others(cast: Cast, kind: Kind, who: str) -> None:
    api: Api = getattr(cast, who)
    unknown = refusal(create(api, kind, workspaceId="nowhere"), "nowhere")
    assert unknown[:2] == (403, "forbidden")
    if who != "root":
        others = "elsewhere" if who == "vera" else "acme"
        assert refusal(create(api, kind, workspaceId=others), others) == unknown


def test_a_refused_create_leaves_the_id_free(cast: Cast, kind: Kind) -> None:
    assert create(cast.charlie, kind, workspaceId="acme").status == 403
    assert create(cast.vera, kind).status == 403
    assert workspace_of(create(cast.alice, kind)) == "acme"
    assert len(kind.versions(cast.alice, "new")) == 1


def test_a_key_that_is_limited_to_a_workspace_creates_in_no_other(dora: Api, kind: Kind) -> None:
    assert create(key_of("dora", workspace="elsewhere"), kind, workspaceId="acme").status == 403


def test_a_key_for_a_workspace_that_its_owner_has_left_creates_nowhere(dora: Api, kind: Kind) -> None:
    limited = key_of("dora", workspace="elsewhere")
    Membership.objects.filter(user__username="dora", workspace_id="elsewhere").delete()
    answer = create(limited, kind)
    assert (answer.status, answer.code) == (403, "forbidden")


def test_a_key_that_is_limited_to_a_role_does_no_more_than_that_role(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    viewing = key_of("alice", workspace="acme", role="viewer")
    editing = key_of("alice", workspace="acme", role="editor")
    assert create(viewing, kind).status == 403
    assert viewing.get(kind.url("writer")).status == 404
    record = kind.save(editing)
    url = kind.url("writer", "versions", record["latestVersionId"], "activate")
    assert editing.post(url).status == 403
    assert create(editing, kind, workspaceId="acme", autoPublish=True).status == 403


def test_a_key_that_is_limited_to_a_workspace_sees_no_other_of_its_owner(cast: Cast, kind: Kind) -> None:
    person("dora", acme="admin", elsewhere="admin")
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    limited = key_of("dora", workspace="elsewhere")
    assert limited.get(kind.url("ours")).status == 404
    assert limited.get(kind.url("ours"), status="draft").status == 404
    assert [found["id"] for found in limited.get(kind.path).body[kind.list_key]] == ["theirs"]
    both = key_of("dora").get(kind.path).body[kind.list_key]
    assert [found["id"] for found in both] == ["theirs", "ours"]


def test_a_key_that_is_limited_to_a_workspace_reads_public_agents_of_others(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    limited = key_of("charlie", workspace="elsewhere", role="viewer")
    assert limited.get(AGENTS.url("writer")).body["instructions"] == "one"
    assert limited.get(AGENTS.url("writer"), status="draft").status == 403


def test_a_superusers_key_that_is_limited_to_a_workspace_is_a_stranger_elsewhere(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.charlie, "theirs", autoPublish=True)
    limited = key_of("root", workspace="acme")
    assert workspace_of(create(limited, kind)) == "acme"
    assert limited.get(kind.url("theirs")).status == 404
    assert limited.delete(kind.url("theirs")).status == 404


def test_a_superusers_key_that_is_limited_to_viewing_reads_what_is_published_everywhere(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, "ours", autoPublish=True)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    kind.save(cast.charlie, "theirs")
    viewing = key_of("root", role="viewer")
    assert viewing.get(kind.url("theirs")).body[kind.text] == "one"
    assert viewing.get(kind.path).body["total"] == 2
    assert viewing.get(kind.url("theirs"), status="draft").status == 403
    assert viewing.delete(kind.url("theirs")).status == 403


@pytest.mark.parametrize("value", ["", None, 5, ["acme"]])
def test_a_workspace_is_named_by_text(cast: Cast, kind: Kind, value: object) -> None:
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


def test_a_clone_stays_in_the_workspace_of_the_caller(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert workspace_of(clone(cast.edgar, kind)) == "acme"


def test_a_clone_goes_to_the_workspace_that_is_named(cast: Cast, dora: Api, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert workspace_of(clone(dora, kind, workspaceId="elsewhere")) == "elsewhere"
    assert cast.charlie.get(kind.url("copy")).body["authorId"] == "dora"
    assert cast.alice.get(kind.url("copy")).status == 404


def test_a_viewer_clones_nothing_at_home(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert clone(cast.vera, kind).status == 403
    assert cast.alice.get(kind.url("copy")).status == 404


def test_a_viewer_clones_what_is_published_to_where_the_viewer_may_save(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    person("vito", acme="viewer", elsewhere="editor")
    assert workspace_of(clone(key_of("vito"), kind, workspaceId="elsewhere")) == "elsewhere"


@pytest.mark.parametrize("workspace", ["elsewhere", "nowhere"])
def test_a_clone_goes_to_no_workspace_in_which_the_caller_may_not_save(
    cast: Cast, kind: Kind, workspace: str
) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert refusal(clone(cast.alice, kind, workspaceId=workspace), workspace) == refusal(
        clone(cast.alice, kind, workspaceId="unheard-of"), "unheard-of"
    )
    assert cast.root.get(kind.url("copy")).status == 404


def test_a_clone_of_a_public_agent_is_private_unpublished_and_the_cloners_own(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    AGENTS.save(cast.alice)
    copy = clone(cast.charlie, AGENTS).body
    assert (copy["workspaceId"], copy["authorId"]) == ("elsewhere", "charlie")
    assert (copy["visibility"], copy["status"], copy["activeVersionId"]) == ("private", "draft", None)
    assert copy["instructions"] == "one"
    assert cast.alice.get(AGENTS.url("copy")).status == 404


def test_a_stranger_does_not_clone_the_draft_of_a_public_agent(cast: Cast) -> None:
    record = AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    draft = AGENTS.save(cast.alice)["latestVersionId"]
    assert draft != record["activeVersionId"]
    for query, status in (("status=draft", 403), (f"versionId={draft}", 404), ("label=latest", 404)):
        answer = cast.charlie.post(f"{AGENTS.url('writer', 'clone')}?{query}", {"newId": "copy"})
        assert answer.status == status, query
    assert cast.charlie.get(AGENTS.url("copy")).status == 404


def test_cloning_a_public_agent_of_others_asks_which_of_two_workspaces(cast: Cast) -> None:
    person("uma", elsewhere="editor", default="editor")
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    answer = clone(key_of("uma"), AGENTS)
    assert (answer.status, answer.fields) == (400, ["workspaceId"])
    assert workspace_of(clone(key_of("uma", workspace="default"), AGENTS)) == "default"
