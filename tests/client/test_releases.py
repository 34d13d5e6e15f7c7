"""Releases by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import Conflict, EditConflict, NotFound

pytestmark = pytest.mark.processes


@pytest.fixture
def items(client: Any, new_id: str) -> list[Any]:
    """A block and an agent that shows it, neither of them published."""
    client.create_stored_prompt_block(id=new_id, name="Tone", content="Be kind.")
    instructions = [{"type": "prompt_block_ref", "id": new_id}]
    client.create_stored_agent(id=new_id, name="Writer", instructions=instructions, auto_publish=False)
    return [{"kind": "agent", "id": new_id}, {"kind": "promptBlock", "id": new_id}]


def test_a_release_is_created_checked_published_and_reverted(
    client: Any, items: list[Any], new_id: str
) -> None:
    made = client.create_release("default", "Autumn", items=items[:1])
    release = client.get_release(made.id)
    assert [problem.code for problem in release.check().problems] == ["unpublished_blocks"]
    with pytest.raises(Conflict) as refused:
        release.publish()
    assert refused.value.code == "release_blocked"
    assert refused.value.details["problems"][0]["resource"]["id"] == new_id

    changed = release.update(items=items, title="Winter", base=made)
    assert ([item.resource.id for item in changed.items_], changed.title) == ([new_id, new_id], "Winter")
    with pytest.raises(EditConflict):
        release.update(title="Spring", base=made)
    assert release.check().ok
    assert client.get_agent(new_id, release=made.id).details().instructions == "Be kind."
    published = release.publish(base=changed)
    assert (published.state, published.published_by) == ("published", "tester")
    assert client.get_agent(new_id).details().instructions == "Be kind."

    revert = release.revert()
    assert (revert.reverts, revert.conflicts, {one.action for one in revert.items_}) == (
        made.id,
        (),
        {"unpublish"},
    )
    assert client.get_release(revert.id).publish().state == "published"
    assert release.details().state == "reverted"
    assert made.id in [one.id for one in client.iter_releases(workspace_id="default")]
    assert client.list_releases(state="reverted", per_page=1).releases[0].state == "reverted"


def test_a_deleted_draft_release_selects_nothing(client: Any, items: list[Any], new_id: str) -> None:
    made = client.create_release("default", "Autumn", items=items)
    assert client.get_release(made.id).delete().success
    with pytest.raises(NotFound):
        client.get_agent(new_id, release=made.id).details()
