"""Prompts of Langfuse: versions, labels, chat prompts, and references between prompts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importing.conftest import CONFLICTS, Desk, actions, losses
from tests.support.api import PROMPT_BLOCKS


def prompt(name: str, content: Any, version: int = 1, **more: Any) -> dict[str, Any]:
    """Return a version of a prompt as the bulk file has it."""
    return {
        "name": name,
        "version": version,
        "type": "text" if isinstance(content, str) else "chat",
        "prompt": content,
        "config": {},
        "tags": [],
        "labels": [],
        "commitMessage": None,
    } | more


def ref(name: str, which: str = "label=production") -> str:
    return f"@@@langfusePrompt:name={name}|{which}@@@"


CHAT = [
    {"role": "system", "content": "You judge films for {{größe}} people and {{ audience.kind }}."},
    {"type": "placeholder", "name": "history"},
    {"role": "user", "content": "Example: {{a b}}!"},
    {"role": "assistant", "content": "Great."},
]
MOVIES = [
    prompt(
        "team/movie critic",
        [{"role": "system", "content": "Old."}],
        version=3,
        labels=["production", "best_of.2024"],
        tags=["film"],
        commitMessage="Begin",
    ),
    prompt(
        "team/movie critic",
        CHAT,
        version=7,
        labels=["latest", "Not valid"],
        tags=["film", "a,b"],
        commitMessage="Examples",
        config={"model": "gpt-4o", "temperature": 0.2, "api_key": "sk-1234567890abcdefghij", "tools": [1]},
    ),
]


def test_a_chat_prompt_with_versions_and_labels(desk: Desk) -> None:
    plan = desk.imports("langfuse", desk.write("prompts.json", MOVIES))
    assert losses(plan) == {
        "variable_renamed",
        "placeholder",
        "message_as_block",
        "credential",
        "model_provider",
        "label",
        "unknown_member",
    }
    assert "sk-1234" not in str(plan)
    agent = desk.client.get_stored_agent("team/movie-critic")
    newest, first = agent.iter_versions()
    assert [one.change_message for one in (first, newest)] == [
        "Langfuse team/movie critic v3: Begin",
        "Langfuse team/movie critic v7: Examples",
    ]
    assert (first.instructions, first.labels) == ("Old.", ("best_of.2024",))
    assert newest.instructions == [
        {
            "type": "text",
            "content": "You judge films for {{ groesse }} people and {{ audience.kind }}.",
        }
    ]
    assert newest.default_options == {"modelSettings": {"temperature": 0.2}}
    record = agent.details(status="draft")
    assert (record.metadata["tags"], record.metadata["import"]) == (["film"], {"config": {"tools": [1]}})
    blocks = {one.id: one.content for one in desk.client.iter_stored_prompt_blocks()}
    assert blocks == {
        "team/movie-critic/messages/3-user": "Example: {{ a_b }}!",
        "team/movie-critic/messages/4-assistant": "Great.",
    }
    [release] = desk.client.iter_releases()
    proposed = {one.resource.id: one.version_id for one in release.items_}
    assert proposed["team/movie-critic"] == first.id
    assert set(actions(desk.imports("langfuse", desk.folder / "prompts.json")).values()) == {"unchanged"}


def test_references_to_what_is_live_are_references(desk: Desk) -> None:
    desk.write(
        "prompts.json",
        [
            prompt("tone", "Be {{how}}.", 1),
            prompt("tone", "Be very {{how}}.", 2, labels=["production"]),
            prompt("support", f"Help.\n\n{ref('tone')}\n\nEnd.", labels=["production"]),
            prompt("old", f"{ref('tone', 'version=1')} Then {ref('missing')}."),
        ],
    )
    plan = desk.imports("langfuse", desk.folder)
    assert losses(plan) == {"reference", "reference_joined"}
    assert actions(plan) == {"promptBlock tone": "create", "agent support": "create", "agent old": "create"}
    assert desk.client.get_stored_agent("support").details(status="draft").instructions == [
        {"type": "text", "content": "Help."},
        {"type": "prompt_block_ref", "id": "tone"},
        {"type": "text", "content": "End."},
    ]
    assert desk.client.get_stored_agent("old").details(status="draft").instructions == [
        {"type": "prompt_block", "content": "Be {{how}}."},
        {"type": "text", "content": f" Then {ref('missing')}."},
    ]
    [release] = desk.client.iter_releases()
    desk.client.get_release(release.id).publish()
    agent = desk.client.get_agent("support").details(request_context={"how": "kind"})
    assert agent.instructions == "Help.\n\nBe very kind.\n\nEnd."


def test_a_prefix_is_put_before_references_too(desk: Desk) -> None:
    desk.write("p.json", [prompt("tone", "Kind.", labels=["production"]), prompt("bot", ref("tone"))])
    plan = desk.plan("langfuse", desk.folder, "--prefix", "lf/")
    agent = plan["resources"][-1]
    assert (agent["id"], agent["versions"][0]["config"]["instructions"]) == (
        "lf/bot",
        [{"type": "prompt_block_ref", "id": "lf/tone"}],
    )


@pytest.mark.parametrize("depth", [1, 2, 40])
def test_references_in_a_circle_end(desk: Desk, depth: int) -> None:
    names = [f"p{number}" for number in range(depth)]
    chain = [
        prompt(name, ref(names[(number + 1) % depth]), labels=["production"])
        for number, name in enumerate(names)
    ]
    plan = desk.plan("langfuse", desk.write("p.json", chain))
    assert "reference" in losses(plan) and len(plan["resources"]) == depth


def test_references_that_multiply_are_refused(desk: Desk) -> None:
    chain = [prompt(f"p{number}", ref(f"p{number + 1}") * 10, labels=["production"]) for number in range(9)]
    chain.append(prompt("p9", "boom", labels=["production"]))
    assert "too large" in desk.refuses("langfuse", desk.write("p.json", chain))


def test_items_become_datasets(desk: Desk) -> None:
    item = {"id": "a", "datasetName": "Films", "status": "ACTIVE", "input": {"q": 1}, "expectedOutput": "one"}
    archived = {**item, "id": "b", "status": "ARCHIVED"}
    plan = desk.imports("langfuse", desk.write("items.json", [item, archived]))
    assert losses(plan) == {"archived"}
    [dataset] = desk.api.get("/datasets").body["datasets"]
    [found] = desk.api.get(f"/datasets/{dataset['id']}/items").body["items"]
    assert (dataset["name"], found["input"], found["groundTruth"]) == ("Films", {"q": 1}, "one")


def test_nothing_refers_to_a_namesake_of_what_cannot_be_made(desk: Desk) -> None:
    PROMPT_BLOCKS.make(desk.api, "tone", "Mine.", workspaceId="acme")
    prompts = [prompt("tone", "Be kind.", labels=["production"]), prompt("desk", f"Help.\n\n{ref('tone')}")]
    plan = desk.plan("langfuse", desk.write("prompts.json", prompts), code=CONFLICTS)
    assert actions(plan) == {"promptBlock tone": "conflict", "agent desk": "conflict"}
