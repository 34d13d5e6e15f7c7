"""Reviews by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import Conflict, Forbidden

from tests.support.clients import Clients
from tests.support.service import Service

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def reviewers_key(live_service: Service) -> str:
    return live_service.manage("create_api_key", "rita", "--workspace", "default", "--role", "publisher")


@pytest.fixture
def rita(connect: Clients, live_service: Service, reviewers_key: str) -> Any:
    """Her client."""
    return connect(live_service.url, reviewers_key)


@pytest.mark.parametrize(("kind", "singular"), [("agent", "agent"), ("promptBlock", "prompt_block")])
def test_a_review_is_requested_moved_and_closed(
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
    assert (refused.value.code, refused.value.review_id) == ("review_open", made.id)
    assert made.id in str(refused.value)
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


@pytest.fixture(scope="module")
def adas_key(live_service: Service) -> str:
    """The key of the admin of her own workspace."""
    return live_service.manage("create_api_key", "ada", "--workspace", "reviewed", "--role", "admin")


@pytest.mark.parametrize("singular", ["agent", "prompt_block"])
def test_an_admin_may_publish_without_the_required_approvals(
    connect: Clients, live_service: Service, adas_key: str, new_id: str, singular: str
) -> None:
    ada, text = connect(live_service.url, adas_key), "instructions" if singular == "agent" else "content"
    create = getattr(ada, f"create_stored_{singular}")
    assert ada.set_review_policy("reviewed", required=2).required == 2
    assert ada.get_review_policy("reviewed").bypass == "admin"
    version_id = create(id=new_id, name="Writer", **{text: "one"}).latest_version_id
    stored = getattr(ada, f"get_stored_{singular}")(new_id)
    for publish in (
        lambda: stored.activate_version(version_id),
        lambda: stored.set_label("tested", version_id, released=True),
        lambda: stored.update(**{text: "two"}, auto_publish=True),
    ):
        with pytest.raises(Forbidden) as refused:
            publish()
        assert refused.value.code == "review_required"
        assert refused.value.details["review"]["missing"] == 2
    assert stored.activate_version(version_id, bypass_review="A typo at night").success
    assert stored.get_version(version_id).bypassed_by == "ada"
    assert stored.set_label("tested", version_id, released=True, bypass_review="Again").released
    newer = stored.update(**{text: "two"}, auto_publish=True, bypass_review="And again")
    assert newer.active_version_id == newer.latest_version_id
    other = create(id=f"{new_id}-2", name="Writer", **{text: "x"}, auto_publish=True, bypass_review="New")
    assert other.active_version_id is not None
