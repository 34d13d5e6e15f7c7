"""Which agents refer to an agent or a block, as far as the caller may know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import undone
from tests.support.studio import KINDS
from versioning.models import ApiKey
from versioning.models.keys import hash_secret

NEVER = {"operator": "AND", "conditions": [{"field": "plan", "operator": "equals", "value": "gold"}]}


def reference(kind: Kind, target: str = "target") -> dict[str, Any]:
    """The snapshot field of an agent that refers to the target."""
    if kind is AGENTS:
        return {"agents": {target: {}}}
    return {"instructions": [{"type": "text", "content": "x"}, {"type": "prompt_block_ref", "id": target}]}


def user_of(kind: Kind, api: Api, agent_id: str, *, published: bool = True, **more: Any) -> dict[str, Any]:
    """An agent that uses the target."""
    fields = {"name": agent_id.title(), **reference(kind), **more}
    return AGENTS.make(api, agent_id, autoPublish=published, **fields)


def dependents(api: Api, kind: Kind, target: str = "target", **query: str) -> tuple[list[str], int]:
    """The ids of the dependents, and the number of hidden ones; the use case that counts agrees."""
    answer = api.get(kind.url(target, "dependents"), **query)
    assert answer.status == 200, answer.body
    assert set(answer.body) == {"dependents", "hiddenCount"}
    named, hidden = [found["id"] for found in answer.body["dependents"]], answer.body["hiddenCount"]
    if query.get("status") != "draft":
        caller = ApiKey.objects.get(digest=hash_secret(api.key)).owner
        assert KINDS[kind].collection.dependents_count(target, by=caller) == len(named) + hidden
    return named, hidden


@pytest.fixture
def target(cast: Cast, kind: Kind) -> Kind:
    """A published, private `target` of the kind, which is returned."""
    kind.make(cast.alice, "target", autoPublish=True)
    return kind


@pytest.mark.database
def test_dependents_are_named(cast: Cast, target: Kind) -> None:
    assert dependents(cast.alice, target) == ([], 0)
    user_of(target, cast.alice, "lead")
    user_of(target, cast.alice, "answering")
    AGENTS.make(cast.alice, "bystander", autoPublish=True)
    namesake = PROMPT_BLOCKS if target is AGENTS else AGENTS
    namesake.make(cast.alice, "target", autoPublish=True)
    assert dependents(cast.alice, namesake) == ([], 0)
    assert cast.vera.get(target.url("target", "dependents")).body == {
        "dependents": [{"id": "answering", "name": "Answering"}, {"id": "lead", "name": "Lead"}],
        "hiddenCount": 0,
    }


def test_only_direct_references_count(cast: Cast, target: Kind) -> None:
    user_of(target, cast.alice, "middle")
    AGENTS.make(cast.alice, "top", agents={"middle": {}}, autoPublish=True)
    assert dependents(cast.alice, target) == (["middle"], 0)
    assert dependents(cast.alice, AGENTS, "middle") == (["top"], 0)


def test_conditional_variants_count(cast: Cast) -> None:
    AGENTS.make(cast.alice, "target", autoPublish=True)
    variants = [{"value": {"other": {}}}, {"value": {"target": {"rules": NEVER}}, "rules": NEVER}]
    AGENTS.make(cast.alice, "lead", agents=variants, autoPublish=True)
    AGENTS.make(cast.alice, "ruled", agents={"target": {"rules": NEVER}}, autoPublish=True)
    assert dependents(cast.alice, AGENTS) == (["lead", "ruled"], 0)


def test_an_agent_does_not_depend_on_itself(cast: Cast) -> None:
    AGENTS.make(cast.alice, "target", agents={"target": {}}, visibility="public", autoPublish=True)
    assert dependents(cast.alice, AGENTS) == ([], 0)
    assert dependents(cast.alice, AGENTS, status="draft") == ([], 0)
    user_of(AGENTS, cast.charlie, "open", visibility="public")
    assert dependents(cast.alice, AGENTS) == (["open"], 0)
    assert cast.charlie.delete(AGENTS.url("open")).status == 200
    assert delete_if_unused(cast.paula, AGENTS).status == 200


def test_a_dependent_with_two_references_is_listed_once(cast: Cast, target: Kind) -> None:
    twice = {
        "agents": [{"value": {"target": {}}}, {"value": {"target": {}}, "rules": NEVER}],
        "instructions": [{"type": "text", "content": "x"}]
        + [{"type": "prompt_block_ref", "id": "target"}] * (0 if target is AGENTS else 2),
    }
    user_of(target, cast.alice, "lead", **twice)
    assert dependents(cast.alice, target) == (["lead"], 0)


# Published and draft


@pytest.mark.database
def test_only_published_versions_are_searched_unless_drafts_are_requested(cast: Cast, target: Kind) -> None:
    user_of(target, cast.alice, "unpublished", published=False)
    user_of(target, cast.alice, "former")
    AGENTS.save(cast.alice, "former", "no more", agents=None, autoPublish=True)
    AGENTS.make(cast.alice, "starting", autoPublish=True)
    AGENTS.save(cast.alice, "starting", **reference(target))
    with undone():  # nothing that is published uses it
        assert delete_if_unused(cast.paula, target).status == 200
        assert cast.alice.get(target.url("target")).status == 404
    user_of(target, cast.alice, "stopping")
    AGENTS.save(cast.alice, "stopping", "no more", agents=None)
    user_of(target, cast.alice, "steady")
    assert dependents(cast.alice, target)[0] == ["steady", "stopping"]
    assert dependents(cast.alice, target, status="published")[0] == ["steady", "stopping"]
    assert dependents(cast.alice, target, status="draft")[0] == ["starting", "steady", "unpublished"]
    answer = cast.alice.get(target.url("target", "dependents"), status="all")
    assert (answer.status, answer.fields) == (400, ["status"])


def test_a_dependent_has_the_name_of_the_version_that_refers(cast: Cast, target: Kind) -> None:
    user_of(target, cast.alice, "lead", name="Live name")
    AGENTS.save(cast.alice, "lead", name="Draft name", **reference(target))
    for status, name in (("published", "Live name"), ("draft", "Draft name")):
        answer = cast.edgar.get(target.url("target", "dependents"), status=status)
        assert answer.body["dependents"] == [{"id": "lead", "name": name}]


# What callers may see


@pytest.mark.parametrize("status", ["published", "draft"])
def test_hidden_dependents_of_a_private_target_are_not_even_counted(
    cast: Cast, target: Kind, status: str
) -> None:
    user_of(target, cast.root, "theirs", workspaceId="elsewhere")
    assert dependents(cast.alice, target, status=status) == ([], 0)
    assert dependents(cast.root, target, status=status) == (["theirs"], 0)


@pytest.mark.parametrize("status", ["published", "draft"])
def test_hidden_dependents_of_a_public_target_are_counted_and_not_named(cast: Cast, status: str) -> None:
    AGENTS.make(cast.alice, "target", visibility="public", autoPublish=True)
    user_of(AGENTS, cast.alice, "ours")
    user_of(AGENTS, cast.charlie, "theirs")
    assert dependents(cast.edgar, AGENTS, status=status) == (["ours"], 1)
    assert dependents(cast.charlie, AGENTS, status=status) == (["theirs"], 1)
    assert dependents(cast.root, AGENTS, status=status) == (["ours", "theirs"], 0)
    assert "theirs" not in json.dumps(cast.edgar.get(AGENTS.url("target", "dependents")).body).lower()


def test_references_of_a_draft_are_hidden_from_viewers(cast: Cast, target: Kind) -> None:
    AGENTS.make(cast.alice, "starting", autoPublish=True)
    AGENTS.save(cast.alice, "starting", name="Draft name", **reference(target))
    assert dependents(cast.vera, target) == ([], 0)
    assert dependents(cast.vera, target, status="draft") == ([], 0)


def test_without_the_right_to_read_drafts_dependents_are_judged_by_their_published_version(
    cast: Cast,
) -> None:
    AGENTS.make(cast.alice, "target", visibility="public", autoPublish=True)
    user_of(AGENTS, cast.alice, "stopping", visibility="public", name="Live name")
    AGENTS.save(cast.alice, "stopping", name="Draft name", agents=None)
    AGENTS.make(cast.alice, "starting", visibility="public", autoPublish=True)
    AGENTS.save(cast.alice, "starting", **reference(AGENTS))
    user_of(AGENTS, cast.alice, "unpublished", published=False)
    user_of(AGENTS, cast.alice, "private")
    assert dependents(cast.edgar, AGENTS, status="draft") == (["private", "starting", "unpublished"], 0)
    assert dependents(cast.vera, AGENTS, status="draft") == (["private", "stopping"], 0)
    assert dependents(cast.charlie, AGENTS, status="draft") == (["stopping"], 1)
    named = cast.vera.get(AGENTS.url("target", "dependents"), status="draft").body["dependents"]
    assert {"id": "stopping", "name": "Live name"} in named


@pytest.mark.database
def test_a_version_under_a_released_label_counts_as_published(cast: Cast, target: Kind) -> None:
    labelled = user_of(target, cast.alice, "lead", published=False, name="Labelled")["latestVersionId"]
    AGENTS.save(cast.alice, "lead", "no more", name="Live", agents=None, autoPublish=True)
    label = AGENTS.url("lead", "labels", "next")
    for released, named in ((False, []), (True, [{"id": "lead", "name": "Labelled"}])):
        cast.alice.put(label, {"versionId": labelled, "released": released})
        for status in ("published", "draft"):
            answer = cast.vera.get(target.url("target", "dependents"), status=status)
            assert answer.body["dependents"] == named
    assert dependents(cast.edgar, target, status="draft") == ([], 0)


@pytest.mark.database
@pytest.mark.parametrize("by_id", [0, 1000])
def test_dependents_have_the_same_names_in_small_and_large_lookups(
    cast: Cast, target: Kind, monkeypatch: pytest.MonkeyPatch, by_id: int
) -> None:
    monkeypatch.setattr("versioning.serving.references.MAX_BY_ID", by_id)
    user_of(target, cast.alice, "lead", name="Live name")
    AGENTS.save(cast.alice, "lead", name="Draft name", **reference(target))
    labelled = user_of(target, cast.alice, "other", published=False, name="Labelled")["latestVersionId"]
    AGENTS.save(cast.alice, "other", "no more", name="Live", agents=None, autoPublish=True)
    cast.alice.put(AGENTS.url("other", "labels", "next"), {"versionId": labelled, "released": True})
    answer = cast.edgar.get(target.url("target", "dependents")).body["dependents"]
    assert [one["name"] for one in answer] == ["Live name", "Labelled"]
    drafts = cast.edgar.get(target.url("target", "dependents"), status="draft").body["dependents"]
    assert [one["name"] for one in drafts] == ["Draft name"]


# Deleting if unused


def delete_if_unused(api: Api, kind: Kind) -> Answer:
    return api.request("DELETE", f"{kind.url('target')}?ifUnused=true")


@pytest.mark.database
def test_a_resource_in_use_is_not_deleted_with_if_unused(cast: Cast, target: Kind) -> None:
    user_of(target, cast.alice, "lead", name="The lead")
    answer = delete_if_unused(cast.paula, target)
    assert (answer.status, answer.code) == (409, "in_use")
    assert "The lead" in answer.body["error"]
    assert answer.body["dependents"] == [{"id": "lead", "name": "The lead"}]
    assert cast.alice.get(target.url("target")).status == 200


def test_if_unused_respects_a_hidden_agent_without_naming_it(cast: Cast, target: Kind) -> None:
    user_of(target, cast.root, "hidden", workspaceId="elsewhere")
    answer = delete_if_unused(cast.alice, target)
    assert (answer.status, answer.code) == (409, "in_use")
    assert answer.body["dependents"] == []
    assert answer.body["hiddenCount"] == 0
    assert "hidden" not in answer.body["error"].lower()
    assert cast.alice.get(target.url("target")).status == 200


def test_a_resource_in_use_is_deleted_without_if_unused(cast: Cast, target: Kind) -> None:
    user_of(target, cast.alice, "lead")
    for query in ("", "?ifUnused=false"):
        with undone():
            assert cast.paula.request("DELETE", f"{target.url('target')}{query}").status == 200
            assert cast.alice.get(target.url("target")).status == 404


def test_if_unused_is_true_or_false(cast: Cast, target: Kind) -> None:
    for value in ("yes", "1", "True", ""):
        answer = cast.paula.request("DELETE", target.url("target"), query={"ifUnused": value})
        assert (answer.status, answer.fields) == (400, ["ifUnused"]), value
    assert cast.alice.get(target.url("target")).status == 200
