"""Hidden resources do not leak: on every route, a resource that the caller cannot read does not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import (
    CALLS,
    DRAFTS,
    PUBLISH,
    PUBLISHED_WORDS,
    READ,
    SAY,
    SECRETS,
    STREAMS,
    Call,
    History,
    calls_of,
    make_history,
    undone,
)
from tests.support.override_files import define
from tests.support.people import give_role, key_of, person
from tests.support.unchanged import everything_stored

VOLATILE = {"X-Request-ID"}


def seen(answer: Answer) -> tuple[int, Any, dict[str, str]]:
    """Everything by which a caller could distinguish two answers."""
    return answer.status, answer.body, {k: v for k, v in answer.headers.items() if k not in VOLATILE}


def text_of(answer: Answer) -> str:
    """The whole answer as one text, to look for words in."""
    return json.dumps([answer.body, dict(answer.headers.items())], ensure_ascii=False)


def shape_of(line: str, kind: Kind) -> str:
    """The route of a call, as the OpenAPI document writes it."""
    method, _, path = line.partition(" ")
    path = path.partition("?")[0].replace("{url}", f"{kind.path}/{{id}}").replace("{served}", "/agents/{id}")
    path = re.sub(r"/versions/\{\w+\}", "/versions/{version}", path)
    return f"{method} /api{re.sub('/labels/[a-z]+', '/labels/{name}', path)}"


@pytest.mark.both_kinds
def test_every_route_below_an_id_is_among_the_calls(kind: Kind) -> None:
    """A route that is added later fails here until it is in the table that the other tests read."""
    paths = Client().get("/api/schema").json()["paths"]
    roots = (f"{kind.path}/{{id}}", *(["/agents/{id}"] if kind is AGENTS else []))
    documented = {
        f"{method.upper()} /api{path}"
        for path, operations in paths.items()
        for method in operations
        if path.startswith(roots)
    }
    called = {shape_of(call.line, kind) for call in [*calls_of(kind), *STREAMS]}
    assert documented - called == set()
    assert len(documented) >= 17


# Unreadable is missing


def private_and_published(cast: Cast, kind: Kind) -> tuple[Api, History]:
    return cast.charlie, make_history(kind, cast.alice)


def never_published(cast: Cast, kind: Kind) -> tuple[Api, History]:
    history = make_history(kind, cast.alice)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    return cast.vera, history


def public_but_never_published(cast: Cast, kind: Kind) -> tuple[Api, History]:
    more = {"visibility": "public"} if kind is AGENTS else {}
    history = make_history(kind, cast.alice, **more)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    return cast.charlie, history


Situation = Callable[[Cast, Kind], tuple[Api, History]]


@pytest.mark.both_kinds
@pytest.mark.parametrize("situation", [private_and_published, never_published, public_but_never_published])
def test_unreadable_is_answered_exactly_like_missing(cast: Cast, kind: Kind, situation: Situation) -> None:
    stranger, history = situation(cast, kind)
    before = everything_stored()
    # Tried where there is most to see: every call checks the rights.
    for call in calls_of(kind) if situation is private_and_published else calls_of(kind, READ):
        unreadable = call.send(stranger, kind, history)
        missing = call.send(stranger, kind, history, "missing")
        assert unreadable.status == 404, call
        assert seen(unreadable) == seen(missing), call
    assert everything_stored() == before


WRONG: list[tuple[str, dict[str, Any] | None]] = [
    ("GET {url}?status=wrong", None),
    ("GET {url}?status=draft&label=latest", None),
    ("GET {url}/versions?perPage=5000", None),
    ("GET {url}/versions/{draft}0", None),
    ("PATCH {url}", {"name": 5}),
    ("PATCH {url}", {"unknown": "field"}),
    ("PATCH {url}", {"name": "x", "changeMessage": "m" * 501}),
    ("POST {url}/clone", {}),
    ("POST {url}/clone", {"newId": "writer"}),
    ("POST {url}/export", {"name": ""}),
    ("PUT {url}/labels/LATEST", {"versionId": "{draft}"}),
    ("PUT {url}/labels/latest", {"versionId": "{draft}"}),
    ("PUT {url}/labels/ok", {"versionId": "nonsense"}),
    ("DELETE {url}/labels/absent", None),
    ("DELETE {url}/versions/nonsense", None),
    ("POST {url}/versions/{draft}/restore", {"changeMessage": 5}),
]


def test_a_malformed_call_reveals_nothing_to_non_members(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    for line, body in WRONG:
        call = Call("a wrong call", line, READ, body)
        unreadable, missing = (call.send(cast.charlie, kind, history, name) for name in ("writer", "missing"))
        assert unreadable.status in {400, 404}, call
        assert seen(unreadable) == seen(missing), call


def test_an_entity_tag_does_not_tell_whether_something_exists(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    right = cast.alice.get(kind.url("writer")).etag
    asked = (("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None))
    for (method, body), tag, header in product(asked, (right, "*"), ("if_match", "if_none_match")):
        answers = [
            cast.charlie.request(method, kind.url(name), body, **{header: tag})
            for name in ("writer", "missing")
        ]
        assert answers[0].status == 404
        assert seen(answers[0]) == seen(answers[1])


def test_a_conflict_over_a_taken_id_does_not_reveal_its_owner(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.make(cast.charlie, "theirs")
    hidden, own = (cast.charlie.post(kind.path, kind.body(id=name)) for name in ("writer", "theirs"))
    assert (hidden.status, hidden.code) == (409, "id_taken") == (own.status, own.code)
    assert hidden.body["error"] == own.body["error"].replace("theirs", "writer")
    assert history.published not in text_of(hidden)


# Drafts and history


@pytest.mark.both_kinds
def test_no_answer_to_a_viewer_contains_drafts_or_history(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    hidden = (*SECRETS, history.draft, history.historical, history.labelled)
    for call in calls_of(kind, READ, DRAFTS):
        text = text_of(call.send(cast.vera, kind, history))
        assert not [words for words in hidden if words in text], call


@pytest.mark.parametrize("who", ["vera", "charlie"])
def test_no_answer_about_a_public_agent_contains_drafts_or_history(cast: Cast, who: str) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    api: Api = getattr(cast, who)
    hidden = (*SECRETS, history.draft, history.historical, history.labelled)
    for call in CALLS:
        text = text_of(call.send(api, AGENTS, history))
        assert not [words for words in hidden if words in text], call


def test_the_record_of_a_viewer_does_not_say_whether_there_is_a_draft(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    record = cast.vera.get(kind.url("writer")).body
    listed = cast.vera.get(kind.path).body[kind.list_key][0]
    for answer in (record, listed):
        assert (answer["latestVersionId"], answer["hasDraft"]) == (None, None)
        assert answer[kind.text] == PUBLISHED_WORDS
        assert answer["resolvedVersionId"] == answer["activeVersionId"]


@pytest.mark.both_kinds
def test_changes_of_drafts_change_no_answer_for_callers_who_may_not_read_drafts(
    cast: Cast, kind: Kind
) -> None:
    more = {"visibility": "public"} if kind is AGENTS else {}
    history = make_history(kind, cast.alice, **more)
    kind.make(cast.alice, "other", autoPublish=True, **more)
    readers = [cast.vera, *([cast.charlie] if kind is AGENTS else [])]
    reads = [call for call in calls_of(kind, READ) if call.line.startswith(("GET", "HEAD"))]
    orders = [{"orderBy[field]": field, "perPage": 1} for field in ("createdAt", "updatedAt")]

    def answers() -> list[Any]:
        found = [call.send(api, kind, history) for api in readers for call in reads]
        return [seen(one) for one in found + [api.get(kind.path, **by) for api in readers for by in orders]]

    before, tags = answers(), [api.get(kind.url("writer")).etag for api in readers]
    draft = kind.save(cast.edgar, text="newer words")["latestVersionId"]
    assert answers() == before
    cast.alice.put(kind.url("writer", "labels", "inside"), {"versionId": draft})
    cast.alice.put(kind.url("writer", "labels", "inside"), {"versionId": history.draft})
    cast.alice.delete(kind.url("writer", "labels", "inside"))
    cast.edgar.delete(kind.url("writer", "versions", draft))
    assert cast.edgar.post(kind.url("writer", "versions", history.labelled, "restore"), {}).status == 201
    assert cast.edgar.post(kind.url("writer", "versions")).status == 201
    assert answers() == before
    for api, tag in zip(readers, tags, strict=True):
        assert api.request("GET", kind.url("writer"), if_none_match=tag).status == 304


VISIBLE: list[tuple[str, dict[str, Any] | None]] = [
    ("POST {url}/versions/{draft}/activate", None),
    ("PATCH {url}", {"metadata": {"team": "one"}}),
    ("PUT {url}/labels/beta", {"versionId": "{draft}", "released": True}),
    ("PUT {url}/labels/beta", {"versionId": "{published}"}),
    ("DELETE {url}/labels/stable", None),
]


def test_a_visible_change_moves_the_etag_the_time_and_the_place_in_lists(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.make(cast.alice, "other", autoPublish=True)

    def newest() -> list[str]:
        found = cast.vera.get(kind.path, **{"orderBy[field]": "updatedAt"}).body
        return [one["id"] for one in found[kind.list_key]]

    before = cast.vera.get(kind.url("writer"))
    assert newest() == ["other", "writer"]
    for line, body in VISIBLE:
        with undone():
            changed = Call("changing", line, PUBLISH, body).send(cast.alice, kind, history)
            after = cast.vera.get(kind.url("writer"))
            assert changed.status == 200 and newest() == ["writer", "other"], line
            assert after.etag != before.etag and after.body["updatedAt"] > before.body["updatedAt"], line


def test_asking_for_the_draft_is_refused_even_when_the_latest_version_is_published(
    cast: Cast, kind: Kind
) -> None:
    record = kind.make(cast.alice, autoPublish=True)
    assert not record["hasDraft"]
    for path in [kind.url("writer")] + (["/agents/writer"] if kind is AGENTS else []):
        for query in ({"status": "draft"}, {"label": "latest"}):
            answer = cast.vera.get(path, **query)
            assert (answer.status, answer.code) == (403, "forbidden")


def test_a_formerly_published_version_is_hidden_from_viewers(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    named_by_id = kind.url("writer", "versions", history.published)
    assert cast.vera.get(named_by_id).status == 200
    kind.publish(cast.alice, "writer", history.draft)
    assert cast.vera.get(named_by_id).status == 403
    assert cast.vera.get(kind.url("writer"), label="stable").status == 403
    assert cast.vera.get(kind.url("writer", "versions", history.draft)).body[kind.text] == "draft words"


def test_an_older_etag_gives_no_access_to_a_draft(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    for tag in (cast.alice.get(kind.url("writer"), status="draft").etag, "*"):
        answer = cast.vera.request("GET", kind.url("writer"), query={"status": "draft"}, if_none_match=tag)
        assert answer.status == 403


def test_a_refused_write_does_not_show_the_state_that_a_conflict_would_show(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    answer = cast.vera.patch(kind.url("writer"), {"name": "x"}, if_match='"stale"')
    assert (answer.status, answer.code) == (403, "forbidden")
    assert history.draft not in text_of(answer)


NAMED: list[tuple[str, dict[str, Any] | None]] = [
    ("GET {url}?versionId={draft}", None),
    ("GET {url}?versionId={historical}", None),
    ("GET {url}?label=first", None),
    ("GET {url}?label=latest", None),
    ("GET {url}/versions/{draft}", None),
    ("GET {url}/versions/compare?from={published}&to={draft}", None),
    ("GET {url}/versions/compare?from={draft}&to={published}", None),
    ("POST {url}/export?versionId={draft}", None),
    ("POST {url}/export?label=first", None),
    ("POST {url}/clone?versionId={draft}", {"newId": "copy"}),
    ("POST {url}/clone?label=first", {"newId": "copy"}),
    ("GET {served}?versionId={draft}", None),
    ("GET {served}?label=first", None),
    ("GET {served}?label=latest", None),
    ("POST {served}/generate?versionId={draft}", SAY),
    ("POST {served}/generate?label=first", SAY),
]


def test_versions_and_labels_of_a_public_agent_look_unknown_to_non_members(cast: Cast) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    unknown = replace(history, draft=str(uuid4()), historical=str(uuid4()))
    person("lena")
    person("wanda", elsewhere="viewer", acme="admin")
    strangers = (cast.charlie, key_of("charlie", workspace="elsewhere"), key_of("lena"))
    readers = (cast.vera, key_of("alice", workspace="acme", role="viewer"))
    outside = key_of("wanda", workspace="elsewhere")  # her other keys reach acme
    for line, body in NAMED:
        there = Call("there", line, READ, body)
        missing = Call("missing", line.replace("first", "unknown").replace("latest", "unknown"), READ, body)
        for api in strangers:
            answer = there.send(api, AGENTS, history)
            assert (answer.status, answer.code) == (404, "not_found"), line
            assert seen(answer) == seen(missing.send(api, AGENTS, unknown)), line
        for api in readers:
            assert there.send(api, AGENTS, history).status == 403, line
        assert seen(there.send(outside, AGENTS, history)) == seen(missing.send(outside, AGENTS, unknown)), (
            line
        )


@pytest.mark.parametrize("source", ["database", "code"])
def test_versions_and_labels_of_an_override_look_unknown_to_non_members(
    cast: Cast, settings: Any, tmp_path: Path, source: str
) -> None:
    if source == "code":
        define(settings, tmp_path)
    else:
        settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    give_role("alice", "default", "admin")
    version = AGENTS.make(cast.alice, "answers", "override", autoPublish=True)["latestVersionId"]
    draft = AGENTS.save(cast.alice, "answers", "draft")["latestVersionId"]
    cast.alice.put(AGENTS.url("answers", "labels", "next"), {"versionId": draft})
    for address in (AGENTS.url("answers"), "/agents/answers"):
        for query in ({"versionId": draft}, {"label": "next"}, {"label": "latest"}):
            answer = cast.charlie.get(address, **query)
            assert seen(answer) == seen(cast.charlie.get(address, label="unknown")), query
        assert cast.charlie.get(address, versionId=version).status == 200


# Versions of other resources

OF_A_VERSION: list[tuple[str, dict[str, Any] | None]] = [
    ("GET {url}?versionId={draft}", None),
    ("GET {url}/versions/{draft}", None),
    ("GET {url}/versions/compare?from={draft}&to={draft}", None),
    ("POST {url}/export?versionId={draft}", None),
    ("POST {url}/versions/{draft}/activate", None),
    ("POST {url}/versions/{draft}/restore", None),
    ("DELETE {url}/versions/{draft}", None),
    ("PUT {url}/labels/ok", {"versionId": "{draft}"}),
    ("POST {url}/clone?versionId={draft}", {"newId": "copy"}),
]


def test_a_version_cannot_be_reached_via_another_resource(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.make(cast.charlie, "theirs", autoPublish=True)
    kind.make(cast.alice, "ours", autoPublish=True)
    for line, body in OF_A_VERSION:
        call = Call("through another one", line, READ, body)
        for api, resource_id in ((cast.charlie, "theirs"), (cast.alice, "ours")):
            assert call.send(api, kind, history, resource_id).status == 404, line
    assert cast.root.get(kind.url("copy")).status == 404
    assert cast.alice.get(kind.url("writer"), status="draft").body["resolvedVersionId"] == history.draft
