"""Reviews by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import Conflict, Forbidden, ValidationFailed

from tests.support.clients import Clients
from tests.support.service import Service


@pytest.fixture(scope="module")
def reviewers_key(live_service: Service) -> str:
    """The key of somebody else who may publish."""
    return live_service.manage("create_api_key", "rita", "--workspace", "default", "--role", "publisher")


@pytest.fixture
def rita(connect: Clients, live_service: Service, reviewers_key: str) -> Any:
    """Her client."""
    return connect(live_service.url, reviewers_key)


@pytest.mark.parametrize(("kind", "singular"), [("agent", "agent"), ("promptBlock", "prompt_block")])
def test_a_review_is_asked_for_moved_and_closed(
    client: Any, rita: Any, new_id: str, kind: str, singular: str
) -> None:
    text = "instructions" if kind == "agent" else "content"
    getattr(client, f"create_stored_{singular}")(
        id=new_id, name="Writer", **{text: "one"}, auto_publish=False
    )
    made = client.create_review(kind, new_id, message="Look.", reviewers=["rita"])
    assert (made.resource.kind, made.resource.id, made.version_number) == (kind, new_id, 1)
    assert (made.state, made.message, made.reviewers, made.requested_by) == (
        "open",
        "Look.",
        ("rita",),
        "tester",
    )
    with pytest.raises(Conflict) as refused:
        client.create_review(kind, new_id)
    assert refused.value.code == "review_open"
    with pytest.raises(Forbidden) as own:
        client.get_review(made.id).give_verdict(made.version_id, "approve")
    assert own.value.code == "own_change"

    said = rita.get_review(made.id).give_verdict(made.version_id, "requestChanges", body="Longer.")
    [verdict] = said.verdicts
    assert (verdict.by, verdict.verdict, verdict.body, verdict.counts) == (
        "rita",
        "requestChanges",
        "Longer.",
        True,
    )
    stored = getattr(client, f"get_stored_{singular}")(new_id)
    newer = stored.update(**{text: "two"}).latest_version_id
    assert client.get_review(made.id).details().outdated
    moved = client.get_review(made.id).update(version_id=newer)
    assert (moved.version_number, moved.state, moved.outdated) == (2, "open", False)
    assert rita.get_review(made.id).give_verdict(newer, "approve").state == "approved"
    listed = rita.list_reviews(state="approved", kind=kind, id=new_id, reviewer="me", per_page=10)
    assert [one.id for one in listed.reviews] == [made.id]
    assert [one.id for one in client.iter_reviews(author="me", id=new_id, per_page=1)] == [made.id]
    assert client.get_review(made.id).update(state="closed").state == "closed"


def test_a_problem_of_a_field_is_named(client: Any, new_id: str) -> None:
    client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    with pytest.raises(ValidationFailed) as refused:
        client.create_review("agent", new_id, reviewers=["nobody-at-all"])
    assert [issue.field for issue in refused.value.issues] == ["reviewers.0"]
