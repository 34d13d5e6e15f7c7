"""Deleting an agent or a prompt block, and refusing to while it is in use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind

pytestmark = pytest.mark.both_kinds


def make_lead(kind: Kind, api: Api, **more: Any) -> None:
    """Make an agent `lead` that refers to `writer`."""
    reference: dict[str, Any] = (
        {"agents": {"writer": {}}}
        if kind is AGENTS
        else {"instructions": [{"type": "prompt_block_ref", "id": "writer"}]}
    )
    AGENTS.make(api, "lead", **{"name": "Lead", **reference, **more})


def delete_if_unused(kind: Kind, api: Api, value: str = "true") -> Answer:
    """Delete `writer` unless it is used."""
    return api.request("DELETE", kind.url("writer"), query={"ifUnused": value})


def test_deleting_says_so_and_leaves_nothing(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    answer = alice.delete(kind.url("writer"))
    assert (answer.status, set(answer.body), answer.body["success"]) == (200, {"success", "message"}, True)
    assert alice.get(kind.url("writer")).body == alice.get(kind.url("nobody")).body
    assert alice.delete(kind.url("writer")).status == 404
    assert alice.get(kind.path, status="all").body["total"] == 0


def test_deleting_what_is_hidden_answers_as_for_what_is_missing(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    hidden, missing = cast.charlie.delete(kind.url("writer")), cast.charlie.delete(kind.url("nobody"))
    assert (hidden.status, missing.status) == (404, 404) and hidden.body == missing.body
    assert cast.alice.get(kind.url("writer")).status == 200


def test_deleting_an_agent_leaves_the_block_of_the_same_id(alice: Api) -> None:
    AGENTS.make(alice, text="of the agent")
    PROMPT_BLOCKS.make(alice, text="of the block")
    assert alice.delete(AGENTS.url("writer")).status == 200
    assert alice.get(PROMPT_BLOCKS.url("writer")).body["content"] == "of the block"


def test_what_a_published_agent_uses_is_not_deleted_when_it_must_be_unused(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    make_lead(kind, alice, autoPublish=True)
    answer = delete_if_unused(kind, alice)
    assert (answer.status, answer.code) == (409, "in_use")
    assert answer.body["dependents"] == [{"id": "lead", "name": "Lead"}]
    assert alice.get(kind.url("writer")).status == 200
    assert delete_if_unused(kind, alice, "false").status == 200
    assert alice.get(kind.url("writer")).status == 404


def test_what_only_a_draft_uses_counts_as_unused(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    make_lead(kind, alice)
    assert delete_if_unused(kind, alice).status == 200
    assert alice.get(kind.url("writer")).status == 404


def test_what_is_used_is_deleted_when_nobody_asks(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    make_lead(kind, alice, autoPublish=True)
    assert alice.delete(kind.url("writer")).status == 200


@pytest.mark.parametrize("value", ["yes", "1", "True", ""])
def test_if_unused_is_true_or_false(alice: Api, kind: Kind, value: str) -> None:
    kind.make(alice)
    answer = delete_if_unused(kind, alice, value)
    assert (answer.status, answer.fields) == (400, ["ifUnused"])
    assert alice.get(kind.url("writer")).status == 200
