"""What each route allows viewers, editors, publishers, admins, superusers and non-members.

The whole table of roles and rights is in tests/domain/test_access.py; here every call is made with the
lowest role that allows it, and with a role that does not.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import DRAFTS, PUBLISH, READ, SAVE, History, calls_of, make_history, undone
from tests.support.people import key_of, person

pytestmark = pytest.mark.both_kinds

ALLOWED = {
    "vera": [READ],
    "edgar": [DRAFTS, SAVE],
    "paula": [PUBLISH],
    "root": [READ, PUBLISH],
}
"""Which calls everybody makes here: those that a lower role may not."""
REFUSED = {"vera": [DRAFTS, SAVE, PUBLISH], "edgar": [PUBLISH]}
FORBIDDEN = "403 forbidden"
PUBLIC = {"visibility": "public"}


def api_of(cast: Cast, who: str) -> Api:
    api: Api = getattr(cast, who)
    return api


def outcome(answer: Answer) -> str:
    """The status, with the code of an error; a HEAD has no body to read a code from."""
    return f"{answer.status} {answer.code}" if answer.body and answer.status >= 400 else str(answer.status)


def outcomes(api: Api, kind: Kind, history: History, *rights: str) -> dict[str, str]:
    """The outcome of every call that needs one of these rights, each undone before the next."""
    found = {}
    for call in calls_of(kind, *rights):
        with undone():
            found[call.words] = outcome(call.send(api, kind, history))
    return found


def all_successful(kind: Kind, *rights: str) -> dict[str, str]:
    return {call.words: str(call.success) for call in calls_of(kind, *rights)}


def all_refused(kind: Kind, how: str, *rights: str) -> dict[str, str]:
    status = how.split(maxsplit=1)[0]
    return {call.words: status if call.line.startswith("HEAD") else how for call in calls_of(kind, *rights)}


def refused_outcomes(cast: Cast, api: Api, kind: Kind, history: History, *rights: str) -> dict[str, str]:
    """The outcomes of all calls in sequence, none of which may change anything."""
    before = whole_state(kind, cast.alice)
    found = {call.words: outcome(call.send(api, kind, history)) for call in calls_of(kind, *rights)}
    assert whole_state(kind, cast.alice) == before
    return found


def whole_state(kind: Kind, api: Api, resource_id: str = "writer") -> dict[str, Any]:
    return {
        "record": api.get(kind.url(resource_id), status="draft").body,
        "versions": kind.versions(api, resource_id),
        "labels": api.get(kind.url(resource_id, "labels")).body,
        "list": api.get(kind.path, status="all").body,
    }


@pytest.fixture
def history(cast: Cast, kind: Kind) -> History:
    return make_history(kind, cast.alice)


@pytest.mark.parametrize("who", ALLOWED)
def test_the_role_allows(cast: Cast, kind: Kind, history: History, who: str) -> None:
    found = outcomes(api_of(cast, who), kind, history, *ALLOWED[who])
    assert found == all_successful(kind, *ALLOWED[who])


@pytest.mark.parametrize("who", REFUSED)
def test_the_role_does_not_allow_and_nothing_changes(
    cast: Cast, kind: Kind, history: History, who: str
) -> None:
    found = refused_outcomes(cast, api_of(cast, who), kind, history, *REFUSED[who])
    assert found == all_refused(kind, FORBIDDEN, *REFUSED[who])


def test_any_signed_in_caller_reads_the_published_version_of_a_public_agent(cast: Cast) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    person("lena")  # a member of no workspace
    for api in (cast.charlie, key_of("lena")):
        assert outcomes(api, AGENTS, history, READ) == all_successful(AGENTS, READ)


def test_any_signed_in_caller_may_only_read_a_public_agent(cast: Cast) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    rights = (DRAFTS, SAVE, PUBLISH)
    # Non-members cannot name versions by their id or a label.
    named = [
        call.words
        for call in calls_of(AGENTS, DRAFTS)
        if re.search("versionId=|label=|/versions/", call.line)
    ]
    expected = all_refused(AGENTS, FORBIDDEN, *rights) | dict.fromkeys(named, "404 not_found")
    assert refused_outcomes(cast, cast.charlie, AGENTS, history, *rights) == expected


def test_creating_needs_the_right_to_save_and_with_auto_publish_that_to_publish(
    cast: Cast, kind: Kind
) -> None:
    body = kind.body(id="writer", workspaceId="acme")
    for api, publish in product((cast.vera, cast.charlie), (False, True)):
        assert outcome(api.post(kind.path, {**body, "autoPublish": publish})) == FORBIDDEN
    assert outcome(cast.nobody.post(kind.path, body)) == "401 unauthorized"
    assert outcome(cast.edgar.post(kind.path, {**body, "autoPublish": True})) == FORBIDDEN
    assert cast.alice.get(kind.path, status="all").body["total"] == 0
    for api in (cast.edgar, cast.paula, cast.root):
        with undone():
            assert outcome(api.post(kind.path, {**body, "autoPublish": False})) == "201"


def test_creating_a_public_agent_needs_the_right_to_publish(cast: Cast) -> None:
    body = AGENTS.body(id="writer", autoPublish=False, **PUBLIC)
    assert outcome(cast.edgar.post(AGENTS.path, body)) == FORBIDDEN
    assert cast.paula.post(AGENTS.path, body).body["visibility"] == "public"


def test_a_new_agent_is_published_by_default_if_its_creator_may_publish(cast: Cast) -> None:
    for who, status in (("edgar", "draft"), ("paula", "published")):
        record = api_of(cast, who).post(AGENTS.path, AGENTS.body(id=who)).body
        assert record["status"] == status
        assert record["activeVersionId"] == (record["latestVersionId"] if status == "published" else None)


def test_a_save_is_refused_entirely_if_one_field_needs_a_further_right(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    before = whole_state(AGENTS, cast.alice)
    answer = cast.edgar.patch(AGENTS.url("writer"), {"instructions": "two", "metadata": {"a": 1}, **PUBLIC})
    assert outcome(answer) == FORBIDDEN
    assert whole_state(AGENTS, cast.alice) == before


@pytest.mark.parametrize("who", ["edgar", "root"])
def test_the_author_is_the_caller(cast: Cast, kind: Kind, who: str) -> None:
    api = api_of(cast, who)
    assert kind.make(api, "mine", workspaceId="acme")["authorId"] == who
    history = make_history(kind, cast.alice)
    kind.save(api, text="by someone")
    api.post(kind.url("writer", "versions"))
    api.post(kind.url("writer", "versions", history.historical, "restore"))
    authors = [version["authorId"] for version in kind.versions(cast.alice)]
    assert authors == [who] * 3 + ["alice"] * 4
    assert cast.alice.get(kind.url("writer")).body["authorId"] == "alice"
    clone = api.post(kind.url("writer", "clone"), {"newId": "copy", "workspaceId": "acme"}).body
    assert clone["authorId"] == who


def test_the_author_is_never_taken_from_the_body(cast: Cast, kind: Kind) -> None:
    api = cast.root
    kind.make(cast.alice)
    body = kind.body(id="other", workspaceId="acme", authorId="vera")
    for answer in (
        api.post(kind.path, body),
        api.patch(kind.url("writer"), {"authorId": "vera"}),
        api.post(kind.url("writer", "clone"), {"newId": "copy", "authorId": "vera"}),
        api.post(kind.url("writer", "versions"), {"authorId": "vera"}),
    ):
        assert (answer.status, answer.fields) == (400, ["authorId"])


def test_the_caller_is_recorded_as_the_mover_of_a_label(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    answer = cast.paula.put(kind.url("writer", "labels", "stable"), {"versionId": history.draft})
    assert answer.body["updatedBy"] == "paula"
