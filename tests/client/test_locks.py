"""Locks in the client and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from editor_client import LockBroken, NotFound, ValidationFailed
from editor_client.__main__ import main

from tests.support.service import Service

pytestmark = pytest.mark.processes

ECHO = {"provider": "echo", "name": "echo"}


def house(client: Any, name: str) -> dict[str, Any]:
    """Make an agent that shows a prompt block, and return a lock of it."""
    client.create_stored_prompt_block(id=f"{name}-tone", name="Tone", content="Be kind.", auto_publish=True)
    client.create_stored_agent(
        id=name,
        name="Lead",
        instructions=[
            {"type": "text", "content": "Lead."},
            {"type": "prompt_block_ref", "id": f"{name}-tone"},
        ],
        model=ECHO,
        scorers={"unknown": {}},
        auto_publish=True,
    )
    lock: dict[str, Any] = client.lock([name])
    return lock


def changed(client: Any, name: str) -> None:
    client.get_stored_agent(name).update(instructions="Another.", auto_publish=True)
    client.get_stored_prompt_block(f"{name}-tone").update(content="Be strict.", auto_publish=True)


def test_a_run_by_a_lock_always_has_the_same_prompt(client: Any, new_id: str) -> None:
    lock = json.loads(json.dumps(house(client, new_id)))
    assert lock["agents"].keys() == {new_id} and lock["promptBlocks"].keys() == {f"{new_id}-tone"}
    changed(client, new_id)
    agent = client.get_agent(new_id)
    assert agent.generate("Hello", versions=lock).text == "Lead.\n\nBe kind.\n\nHello"
    assert agent.generate("Hello").text == "Another.\n\nHello"
    assert "".join(event.text for event in agent.stream("Hello", versions=lock)).startswith("Lead.")


def test_an_invalid_lock_is_refused_and_missing_parts_are_named(client: Any, new_id: str) -> None:
    lock = house(client, new_id)
    changed(client, new_id)
    agent = client.get_agent(new_id)
    for other in ({**lock, "agents": {}}, {**lock, "signature": "x"}, {**lock, "strict": True}):
        with pytest.raises(ValidationFailed) as refused:
            agent.generate("Hello", versions=other)
        assert refused.value.code == "lock_invalid"
    client.get_stored_prompt_block(f"{new_id}-tone").delete()
    with pytest.raises(LockBroken) as broken:
        agent.generate("Hello", versions=lock)
    assert (broken.value.status, broken.value.names) == (424, (f"{new_id}-tone",))
    with pytest.raises(NotFound):
        client.lock(["nobody"])


def test_a_lock_can_select_any_version(client: Any, new_id: str) -> None:
    published = house(client, new_id)
    draft = client.get_stored_agent(new_id).update(instructions="Draft.")
    made = client.lock([new_id], prompt_blocks=[f"{new_id}-tone"], status="draft")
    assert made["agents"][new_id]["versionId"] == draft.latest_version_id
    version_id = published["agents"][new_id]["versionId"]
    assert client.lock([new_id], version_id=version_id)["agents"] == published["agents"]
    assert client.get_agent(new_id).generate("Hello", versions=made).text == "Draft.\n\nHello"


def test_a_run_shows_the_selected_version_of_a_block(client: Any, new_id: str) -> None:
    house(client, new_id)
    client.get_stored_prompt_block(f"{new_id}-tone").update(content="Be brief.")
    versions = {"promptBlocks": {f"{new_id}-tone": {"status": "draft"}}}
    assert client.get_agent(new_id).generate("Hello", versions=versions).text == "Lead.\n\nBe brief.\n\nHello"


def test_the_command_line_prints_a_lock_for_a_file(
    client: Any, new_id: str, live_service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = house(client, new_id)

    def run(*arguments: str) -> Any:
        code = main(["--url", live_service.url, "--api-key", live_service.key, "lock", *arguments])
        printed = capsys.readouterr()
        return json.loads(printed.out) if code == 0 else (code, printed.err)

    printed: Callable[..., Any] = run
    assert printed(new_id) == lock
    assert printed("--prompt-block", f"{new_id}-tone")["promptBlocks"] == lock["promptBlocks"]
    assert printed(new_id, "--status", "draft")["agents"] == lock["agents"]
    everything = printed()
    assert everything["agents"].keys() >= {new_id, "support", "supervisor"}
    assert everything["agents"][new_id] == lock["agents"][new_id]
    code, reason = printed("nobody")
    assert code == 2 and reason.startswith("error: ")
