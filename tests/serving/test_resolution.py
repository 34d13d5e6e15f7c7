"""From a selector to a version: how each route resolves selectors, and the fallbacks."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import undone
from tests.support.served import ask, served

# Every route that takes a selector.
ROUTES: Mapping[str, Callable[[Api, Kind, dict[str, str]], Answer]] = {
    "record": lambda api, kind, query: api.get(kind.url("writer"), **query),
    "export": lambda api, kind, query: api.request("POST", kind.url("writer", "export"), query=query),
    "clone": lambda api, kind, query: api.request(
        "POST", kind.url("writer", "clone"), {"newId": "copy"}, query=query
    ),
    "served": lambda api, kind, query: ask(api, **query),
}
ROUTES_OF_KINDS = {
    **{f"agent {name}": (AGENTS, name) for name in ROUTES},
    **{f"block {name}": (PROMPT_BLOCKS, name) for name in ROUTES if name != "served"},
}


NO_VERSION = str(uuid.uuid4())


class Writer:
    """A resource `writer` with three versions: `one`, labelled blue; `two`, published; `three`, a draft."""

    def __init__(self, kind: Kind, name: str, api: Api) -> None:
        self.kind = kind
        self.read = ROUTES[name]
        self.one = kind.make(api, text="one")["latestVersionId"]
        self.two = kind.save(api, text="two", autoPublish=True)["latestVersionId"]
        self.three = kind.save(api, text="three")["latestVersionId"]
        assert api.put(kind.url("writer", "labels", "blue"), {"versionId": self.one}).status == 200

    def ask(self, api: Api, **query: str) -> Answer:
        """Take the route."""
        return self.read(api, self.kind, query)

    def text(self, api: Api, **query: str) -> str:
        """Return the text of the version that the route resolves to."""
        answer = self.ask(api, **query)
        assert answer.status in {200, 201}, answer.body
        return str(answer.body.get("config", answer.body)[self.kind.text])


@pytest.fixture(params=ROUTES_OF_KINDS.values(), ids=ROUTES_OF_KINDS)
def writer(request: pytest.FixtureRequest, alice: Api) -> Writer:
    """`writer` of either kind, read through every route that takes a selector."""
    kind, name = request.param
    return Writer(kind, name, alice)


@pytest.fixture(params=[(AGENTS, "served"), (PROMPT_BLOCKS, "record")], ids=["agent served", "block record"])
def one_route(request: pytest.FixtureRequest, alice: Api) -> Writer:
    """`writer` of either kind through one route, for logic that all routes share."""
    kind, name = request.param
    return Writer(kind, name, alice)


def test_each_selector_finds_the_version_that_it_names(cast: Cast, writer: Writer) -> None:
    versions = {"one": writer.one, "two": writer.two, "three": writer.three}
    by_id = [({"versionId": version_id}, text) for text, version_id in versions.items()]
    by_status: list[tuple[dict[str, str], str]] = [({}, "two"), ({"status": "published"}, "two")]
    by_label = [({"label": "blue"}, "one"), ({"label": "production"}, "two"), ({"label": "latest"}, "three")]
    for query, text in [*by_status, ({"status": "draft"}, "three"), *by_id, *by_label]:
        with undone():
            assert writer.text(cast.alice, **query) == text, query
    for query in ({"version": "x"}, {"Label": ""}, {"status": ""}, {"versionId": ""}, {"label": ""}):
        refused = writer.ask(cast.alice, **query)
        assert (refused.status, refused.fields) == (400, list(query))
    unpublished = {"versionId": writer.one}, {"versionId": writer.three}, {"label": "blue"}
    for query in ({"status": "draft"}, {"label": "latest"}, *unpublished):
        refused = writer.ask(cast.vera, **query)
        assert (refused.status, refused.code) == (403, "forbidden")


def test_what_was_never_published_gives_readers_of_drafts_the_latest(cast: Cast, writer: Writer) -> None:
    assert cast.alice.delete(writer.kind.url("writer")).status == 200
    writer.kind.make(cast.alice, text="a namesake")
    for query in ({}, {"status": "published"}):
        assert writer.ask(cast.vera, **query).code == "not_found"
        with undone():
            assert writer.text(cast.edgar, **query) == "a namesake"


def test_unpublishing_what_was_never_published_changes_nothing(alice: Api, one_route: Writer) -> None:
    kind = one_route.kind
    kind.make(alice, "never")
    before = alice.get(kind.url("never"))
    position = alice.get("/events", after="now").body["next"]
    assert alice.post(kind.url("never", "unpublish")).status == 200
    assert alice.get("/events", after=position).body["events"] == []
    after = alice.get(kind.url("never"))
    assert (after.status, after.body, after.etag) == (200, before.body, before.etag)


def test_what_was_unpublished_is_out_of_service_for_all_callers(cast: Cast, writer: Writer) -> None:
    released = cast.alice.put(
        writer.kind.url("writer", "labels", "blue"), {"versionId": writer.one, "released": True}
    )
    assert released.status == 200
    assert cast.alice.post(writer.kind.url("writer", "unpublish")).status == 200
    for query in ({}, {"status": "published"}):
        for reader in (cast.alice, cast.edgar):
            answer = writer.ask(reader, **query)
            assert (answer.status, answer.code) == (404, "unpublished")
        for stranger in (cast.vera, cast.charlie):
            missing = writer.ask(stranger, **query)
            assert (missing.status, missing.body) == (404, writer.ask(stranger, versionId=NO_VERSION).body)
    assert writer.ask(cast.alice, label="production").code == "not_found"
    for query in ({"status": "draft"}, {"versionId": writer.three}, {"label": "latest"}):
        with undone():
            assert writer.text(cast.edgar, **query) == "three"
    with undone():
        assert writer.text(cast.edgar, label="blue") == "one"
    writer.kind.publish(cast.alice, "writer", writer.two)
    assert writer.text(cast.edgar) == "two"


def test_selectors_follow_changes_of_status_and_labels(alice: Api, one_route: Writer) -> None:
    kind, label = one_route.kind, one_route.kind.url("writer", "labels", "blue")
    alice.put(label, {"versionId": one_route.three})
    assert one_route.text(alice, label="blue") == "three"
    alice.delete(label)
    assert one_route.ask(alice, label="blue").status == 404
    alice.delete(kind.url("writer", "versions", one_route.three))
    assert one_route.ask(alice, versionId=one_route.three).status == 404
    assert one_route.text(alice, status="draft") == "two"
    kind.save(alice, text="four")
    assert one_route.text(alice, status="draft") == "four"
    kind.publish(alice, "writer", one_route.one)
    assert one_route.text(alice, status="published") == "one"
    kind.save(alice, text="five", autoPublish=True)
    assert one_route.text(alice, status="draft") == "five"


def test_an_unknown_status_and_combined_selectors_are_refused(alice: Api, one_route: Writer) -> None:
    for query in (
        {"status": "draft", "versionId": "x"},
        {"label": "blue", "versionId": "x"},
        {"label": "blue", "status": "draft", "versionId": "x"},
        {"status": "Draft"},
        {"status": "latest"},
        {"status": "draft "},
    ):
        refused = one_route.ask(alice, **query)
        assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", sorted(query))


def test_an_unknown_version_or_label_is_not_found(alice: Api, one_route: Writer) -> None:
    ids = (str(uuid.UUID(int=1)), "1", "latest", "git-" + "0" * 40, "../1", "%")
    labels = ("green", "Blue", "blue ", "published", "one/two", "-")
    for query in [*({"versionId": one} for one in ids), *({"label": one} for one in labels)]:
        answer = one_route.ask(alice, **query)
        assert (answer.status, answer.code) == (404, "not_found"), query


def test_a_version_or_label_of_another_resource_is_not_found(alice: Api, one_route: Writer) -> None:
    other = one_route.kind.make(alice, "other")["latestVersionId"]
    other_kind = PROMPT_BLOCKS if one_route.kind is AGENTS else AGENTS
    same_id = other_kind.make(alice)["latestVersionId"]
    alice.put(one_route.kind.url("other", "labels", "green"), {"versionId": other})
    for query in ({"versionId": other}, {"versionId": same_id}, {"label": "green"}):
        assert one_route.ask(alice, **query).status == 404


def test_a_record_names_its_resolved_version(alice: Api, kind: Kind) -> None:
    writer = Writer(kind, "record", alice)
    wanted = {
        writer.one: {"label": "blue"},
        writer.two: {"status": "published"},
        writer.three: {"status": "draft"},
    }
    for version_id, query in wanted.items():
        record = writer.ask(alice, **query).body
        assert record["resolvedVersionId"] == version_id
        assert (record["activeVersionId"], record["latestVersionId"]) == (writer.two, writer.three)


def test_a_served_agent_reports_a_fallback(alice: Api) -> None:
    draft = AGENTS.make(alice)["latestVersionId"]
    fallen = served(alice)
    assert fallen["fallback"]["code"] == "no_published_version" and fallen["fallback"]["message"]
    assert (fallen["status"], fallen["resolvedVersionId"], fallen["activeVersionId"]) == (
        "draft",
        draft,
        None,
    )
    for query in ({"status": "draft"}, {"label": "latest"}):
        assert served(alice, **query)["fallback"] is None


def test_a_served_agent_reports_selector_and_resolved_version(alice: Api) -> None:
    writer = Writer(AGENTS, "served", alice)
    for query in ({}, {"status": "draft"}, {"label": "blue"}, {"versionId": writer.three}):
        agent = served(alice, **query)
        assert agent["selector"] == (query or {"status": "published"})
        assert (agent["fallback"], agent["activeVersionId"], agent["status"]) == (
            None,
            writer.two,
            "published",
        )


def test_a_route_that_takes_no_selector_refuses_one(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for path in ("versions", "labels", "dependents", "versions/compare"):
        for key in ("versionId", "label"):
            refused = alice.get(kind.url("writer", path), **{key: "x"})
            assert refused.status == 400 and key in refused.fields
