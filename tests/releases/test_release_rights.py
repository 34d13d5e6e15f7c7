"""Who may do what with releases: four roles, non-members, limited keys, and ids of other workspaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Cast
from tests.releases.conftest import Pair, check, codes, item, live, make, post, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.people import give_role
from versioning.domain.errors import Forbidden
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.models import Event


def test_editors_prepare_and_publishers_publish(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    refused = publish(cast.edgar, release)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert codes(check(cast.edgar, release)["problems"]) == [("tone", "forbidden"), ("writer", "forbidden")]
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    assert publish(cast.paula, release).status == 200
    assert cast.edgar.post(f"/releases/{release['id']}/revert").status == 201


def test_lists_omit_unreadable_releases(cast: Cast, pair: Pair) -> None:
    mine = make(cast.edgar, *pair.items())
    make(cast.charlie, workspace="elsewhere")
    seen = {name: getattr(cast, name).get("/releases").body for name in ("edgar", "vera", "charlie", "root")}
    assert {name: page["total"] for name, page in seen.items()} == {
        "edgar": 1,
        "vera": 0,
        "charlie": 1,
        "root": 2,
    }
    assert seen["edgar"]["releases"] == [mine]
    assert cast.vera.get("/releases", workspaceId="acme").body["total"] == 0
    assert cast.charlie.get("/releases", workspaceId="acme").body["total"] == 0
    assert cast.edgar.get("/releases", state="published").body["total"] == 0
    assert cast.edgar.get("/releases", state="gone").status == 400


def test_a_release_holds_no_resource_of_another_workspace(cast: Cast, kind: Kind) -> None:
    foreign = kind.make(cast.charlie, "theirs", workspaceId="elsewhere", autoPublish=True)
    if kind is AGENTS:
        cast.charlie.patch(kind.url("theirs"), {"visibility": "public"})
    known = post(cast.alice, item(kind, "theirs", foreign["latestVersionId"]))
    unknown = post(cast.alice, item(kind, "nowhere", foreign["latestVersionId"]))
    assert (known.status, known.body) == (400, unknown.body)
    release = make(cast.root, workspace="acme")
    answer = cast.root.patch(f"/releases/{release['id']}", {"items": [item(kind, "theirs")]})
    assert (answer.status, answer.fields) == (400, ["items.0.resource"])


def test_a_role_lowered_after_the_check_counts(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())
    assert check(cast.paula, release)["ok"]
    give_role("paula", "acme", "editor")
    assert publish(cast.paula, release).status == 403
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]


def test_events_of_releases_need_the_right_to_read_drafts(cast: Cast, pair: Pair) -> None:
    publish(cast.paula, make(cast.edgar, *pair.items()))
    page: dict[str, Any] = {
        name: [event["type"] for event in getattr(cast, name).get("/events", type="release.*").body["events"]]
        for name in ("edgar", "vera", "charlie")
    }
    assert page == {"edgar": ["release.created", "release.published"], "vera": [], "charlie": []}
    seen = cast.vera.get("/events", type="agent.published").body["events"]
    assert seen[-1]["versionId"] == pair.new["writer"]


@pytest.mark.parametrize("which", ["one that does not exist", "someone else's", "a published one"])
def test_the_selector_finds_only_open_releases_of_the_callers_workspaces(
    cast: Cast, pair: Pair, which: str
) -> None:
    release = (
        make(cast.charlie, workspace="elsewhere")
        if which == "someone else's"
        else make(cast.paula, *pair.items())
    )
    if which == "a published one":
        publish(cast.paula, release)
    release_id = (
        "00000000-0000-4000-8000-000000000000" if which == "one that does not exist" else release["id"]
    )
    for path in ("/agents/writer", AGENTS.url("writer"), PROMPT_BLOCKS.url("tone")):
        assert cast.alice.get(path, release=release_id).status == 404, path


def test_the_selector_needs_the_right_to_read_drafts(cast: Cast, pair: Pair) -> None:
    cast.alice.patch(AGENTS.url("writer"), {"visibility": "public"})
    release = make(cast.paula, *pair.items())["id"]
    for path in ("/agents/writer", AGENTS.url("writer"), PROMPT_BLOCKS.url("tone")):
        assert cast.vera.get(path, release=release).status == 403, path
        assert cast.charlie.get(path, release=release).status == 404, path
    body = {"messages": "hello", "versions": {"self": {"release": release}}}
    assert cast.vera.post("/agents/writer/generate", body).status == 403
    assert cast.charlie.post("/agents/writer/generate", body).status == 404


@pytest.fixture
def asked() -> Iterator[list[PublishRequest]]:
    """A check at the gate that accepts only resources with the id `tone`."""
    requests: list[PublishRequest] = []

    def refuse(request: PublishRequest) -> None:
        requests.append(request)
        if request.resource.pk != "tone":
            raise Forbidden("The gate is closed.", code="closed")

    closed = gate.Check(decide=gate.each(refuse))
    gate.register(closed)
    yield requests
    gate.unregister(closed)


def test_a_release_is_published_only_if_every_item_passes_the_gate(
    cast: Cast, pair: Pair, asked: list[PublishRequest]
) -> None:
    release = make(cast.paula, *pair.items())
    before = Event.objects.count()
    assert codes(check(cast.paula, release)["problems"]) == [("writer", "closed")]
    answer = publish(cast.paula, release)
    assert (answer.status, codes(answer.body["problems"])) == (409, [("writer", "closed")])
    assert {request.resource.pk for request in asked} == {"writer", "tone"}
    assert Event.objects.count() == before
    assert live(cast.alice, PROMPT_BLOCKS, "tone") == pair.old["tone"]


def test_approvals_required_after_the_check_count(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    assert check(cast.paula, release)["ok"]
    assert cast.alice.put("/workspaces/acme/review-policy", {"required": 1}).status == 200
    answer = publish(cast.paula, release)
    assert codes(answer.body["problems"]) == [("tone", "review_required"), ("writer", "review_required")]
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    bypass = {"bypassReview": {"reason": "It burns."}}
    refused = publish(cast.paula, release, **bypass)
    assert (refused.status, refused.code) == (403, "forbidden")
    too_long = publish(cast.alice, release, bypassReview={"reason": "x" * 501})
    assert (too_long.status, too_long.fields) == (400, ["bypassReview.reason"])
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    assert publish(cast.alice, release, **bypass).status == 200
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]
    bypassed = cast.alice.get("/events", type="review.bypassed").body["events"]
    assert {event["resource"]["id"] for event in bypassed} == {"tone", "writer"}


def test_approved_items_go_live_together(cast: Cast, pair: Pair) -> None:
    assert cast.alice.put("/workspaces/acme/review-policy", {"required": 1}).status == 200
    for kind, name in ((AGENTS, "writer"), (PROMPT_BLOCKS, "tone")):
        slug = "agent" if kind is AGENTS else "promptBlock"
        review = cast.edgar.post("/reviews", {"resource": {"kind": slug, "id": name}}).body
        verdict = {"versionId": pair.new[name], "verdict": "approve"}
        assert cast.paula.post(f"/reviews/{review['id']}/verdicts", verdict).status in {200, 201}
    assert publish(cast.paula, make(cast.edgar, *pair.items())).status == 200
