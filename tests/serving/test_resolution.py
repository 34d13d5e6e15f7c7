"""From a selector to a version: what each route that takes one resolves to, and who falls back to what."""

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
TWO_AT_ONCE: list[dict[str, str]] = [
    {"status": "draft", "versionId": "x"},
    {"status": "published", "label": "blue"},
    {"label": "blue", "versionId": "x"},
    {"label": "blue", "status": "draft", "versionId": "x"},
]
UNKNOWN_STATUSES = ["Draft", "PUBLISHED", "latest", "historical", "archived", "all", "active", "draft "]
LOOK_ALIKES = ["version", "Label", "labels", "tag", "version_id", "VersionId"]
NO_SUCH_VERSIONS = [
    str(uuid.UUID(int=1)),
    "1",
    "latest",
    "production",
    "git-" + "0" * 40,
    "null",
    "../1",
    "%",
]
NO_SUCH_LABELS = ["green", "Blue", "blue ", "published", "draft", "one/two", "-"]


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
    """`writer` of either kind through one route, for what is decided behind all of them."""
    kind, name = request.param
    return Writer(kind, name, alice)


def test_each_selector_finds_the_version_that_it_names(alice: Api, writer: Writer) -> None:
    versions = {"one": writer.one, "two": writer.two, "three": writer.three}
    by_id = [({"versionId": version_id}, text) for text, version_id in versions.items()]
    by_status: list[tuple[dict[str, str], str]] = [({}, "two"), ({"status": "published"}, "two")]
    by_label = [({"label": "blue"}, "one"), ({"label": "production"}, "two"), ({"label": "latest"}, "three")]
    for query, text in [*by_status, ({"status": "draft"}, "three"), *by_id, *by_label]:
        with undone():
            assert writer.text(alice, **query) == text, query


def test_the_draft_is_the_newest_save_at_once(alice: Api, one_route: Writer) -> None:
    one_route.kind.save(alice, text="four")
    assert one_route.text(alice, status="draft") == "four"


def test_the_draft_is_the_latest_version_even_when_that_is_published(alice: Api, one_route: Writer) -> None:
    one_route.kind.publish(alice, "writer", one_route.three)
    assert one_route.text(alice, status="draft") == "three"


def test_a_label_selects_another_version_once_it_is_moved(alice: Api, one_route: Writer) -> None:
    alice.put(one_route.kind.url("writer", "labels", "blue"), {"versionId": one_route.three})
    assert one_route.text(alice, label="blue") == "three"


def test_a_label_that_was_removed_selects_nothing_any_more(alice: Api, one_route: Writer) -> None:
    alice.delete(one_route.kind.url("writer", "labels", "blue"))
    assert one_route.ask(alice, label="blue").status == 404


def test_publishing_another_version_moves_what_published_and_production_mean(
    alice: Api, one_route: Writer
) -> None:
    one_route.kind.publish(alice, "writer", one_route.one)
    assert one_route.text(alice, status="published") == "one"


def test_two_selectors_at_once_are_refused_and_each_is_named(alice: Api, one_route: Writer) -> None:
    for query in TWO_AT_ONCE:
        refused = one_route.ask(alice, **query)
        assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", sorted(query))


def test_an_unknown_status_is_refused(alice: Api, one_route: Writer) -> None:
    for status in UNKNOWN_STATUSES:
        refused = one_route.ask(alice, status=status)
        assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", ["status"])


@pytest.mark.parametrize("value", ["", "draft"], ids=["empty", "something"])
def test_what_only_looks_like_a_selector_is_refused_not_ignored(
    alice: Api, writer: Writer, value: str
) -> None:
    for key in [*LOOK_ALIKES, *([] if value else ["status", "versionId", "label"])]:
        refused = writer.ask(alice, **{key: value})
        assert (refused.status, refused.fields) == (400, [key])


def test_an_unknown_version_is_not_found(alice: Api, one_route: Writer) -> None:
    answers = {version_id: one_route.ask(alice, versionId=version_id) for version_id in NO_SUCH_VERSIONS}
    assert {version_id: answer.status for version_id, answer in answers.items()} == dict.fromkeys(
        answers, 404
    )
    assert {answer.code for answer in answers.values()} == {"not_found"}


def test_an_unknown_label_is_not_found(alice: Api, one_route: Writer) -> None:
    answers = {label: one_route.ask(alice, label=label) for label in NO_SUCH_LABELS}
    assert {label: answer.status for label, answer in answers.items()} == dict.fromkeys(answers, 404)
    assert {answer.code for answer in answers.values()} == {"not_found"}


def test_a_version_of_another_resource_is_not_found(alice: Api, one_route: Writer) -> None:
    other = one_route.kind.make(alice, "other")["latestVersionId"]
    same_id_other_kind = (PROMPT_BLOCKS if one_route.kind is AGENTS else AGENTS).make(alice)[
        "latestVersionId"
    ]
    assert one_route.ask(alice, versionId=other).status == 404
    assert one_route.ask(alice, versionId=same_id_other_kind).status == 404


def test_a_label_of_another_resource_is_not_found(alice: Api, one_route: Writer) -> None:
    other = one_route.kind.make(alice, "other")["latestVersionId"]
    alice.put(one_route.kind.url("other", "labels", "green"), {"versionId": other})
    assert one_route.ask(alice, label="green").status == 404


def test_a_version_that_was_deleted_is_not_found(alice: Api, one_route: Writer) -> None:
    alice.delete(one_route.kind.url("writer", "versions", one_route.three))
    assert one_route.ask(alice, versionId=one_route.three).status == 404
    assert one_route.text(alice, status="draft") == "two"


def test_without_a_published_version_who_may_read_drafts_gets_the_latest(cast: Cast, writer: Writer) -> None:
    cast.alice.post(writer.kind.url("writer", "unpublish"))
    assert writer.text(cast.edgar) == "three"
    assert (
        writer.text(cast.root, status="published") == "three" if writer.read is not ROUTES["clone"] else True
    )


def test_without_a_published_version_nobody_else_gets_anything(cast: Cast, writer: Writer) -> None:
    cast.alice.post(writer.kind.url("writer", "unpublish"))
    for reader in (cast.vera, cast.charlie):
        for query in ({}, {"status": "published"}, {"label": "production"}, {"status": "draft"}):
            missing = writer.ask(reader, **query)
            assert (missing.status, missing.code) == (404, "not_found")


def test_production_has_no_fallback(alice: Api, one_route: Writer) -> None:
    alice.post(one_route.kind.url("writer", "unpublish"))
    assert one_route.ask(alice, label="production").status == 404


def test_drafts_and_history_are_not_for_who_may_only_read_what_is_published(
    cast: Cast, writer: Writer
) -> None:
    unpublished = {"versionId": writer.one}, {"versionId": writer.three}, {"label": "blue"}
    for query in ({"status": "draft"}, {"label": "latest"}, *unpublished):
        refused = writer.ask(cast.vera, **query)
        assert (refused.status, refused.code) == (403, "forbidden")


def test_a_record_says_which_version_it_was_resolved_to(alice: Api, kind: Kind) -> None:
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


def test_a_served_agent_says_that_it_fell_back(alice: Api) -> None:
    draft = AGENTS.make(alice)["latestVersionId"]
    fallen = served(alice)
    assert fallen["fallback"]["code"] == "no_published_version"
    assert fallen["fallback"]["message"]
    assert (fallen["status"], fallen["resolvedVersionId"], fallen["activeVersionId"]) == (
        "draft",
        draft,
        None,
    )


@pytest.mark.parametrize("query", [{"status": "draft"}, {"label": "latest"}])
def test_a_draft_that_was_asked_for_is_no_fallback(alice: Api, query: dict[str, str]) -> None:
    AGENTS.make(alice)
    assert served(alice, **query)["fallback"] is None


@pytest.mark.parametrize(
    "query", [{}, {"status": "published"}, {"status": "draft"}, {"label": "blue"}, {"versionId": ""}], ids=str
)
def test_a_served_agent_says_what_was_asked_and_what_was_found(alice: Api, query: dict[str, str]) -> None:
    writer = Writer(AGENTS, "served", alice)
    query = {"versionId": writer.three} if "versionId" in query else query
    agent = served(alice, **query)
    assert agent["selector"] == (query or {"status": "published"})
    assert agent["fallback"] is None
    assert agent["activeVersionId"] == writer.two
    assert agent["status"] == "published"


@pytest.mark.parametrize(
    "path", ["versions", "labels", "dependents", "versions/compare"], ids=lambda path: path.replace("/", " ")
)
@pytest.mark.parametrize("key", ["versionId", "label"])
def test_a_route_that_takes_no_selector_refuses_one(alice: Api, kind: Kind, path: str, key: str) -> None:
    kind.make(alice)
    refused = alice.get(kind.url("writer", path), **{key: "x"})
    assert refused.status == 400
    assert key in refused.fields
