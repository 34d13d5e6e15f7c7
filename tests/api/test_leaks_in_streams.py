"""A stream is refused like any other answer, and says no more than any other."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.calls import DRAFTS, PUBLISHED_WORDS, READ, SECRETS, STREAMS, Call, make_history

EXPECTED = {
    "root": {READ: 200, DRAFTS: 200},
    "edgar": {READ: 200, DRAFTS: 200},
    "vera": {READ: 200, DRAFTS: 403},
    "charlie": {READ: 404, DRAFTS: 404},
    "nobody": {READ: 401, DRAFTS: 401},
}


def api_of(cast: Cast, who: str) -> Api:
    api: Api = getattr(cast, who)
    return api


@pytest.mark.parametrize("who", EXPECTED)
def test_the_role_decides_what_is_streamed(transactional_db: None, cast: Cast, who: str) -> None:
    history = make_history(AGENTS, cast.alice)
    found = {call.words: call.send(api_of(cast, who), AGENTS, history).status for call in STREAMS}
    assert found == {call.words: EXPECTED[who][call.right] for call in STREAMS}


@pytest.mark.parametrize("who", ["charlie", "nobody"])
def test_a_public_agent_is_streamed_to_any_signed_in_caller_as_it_is_published(
    transactional_db: None, cast: Cast, who: str
) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    for call in STREAMS:
        # To a stranger the label of a draft is an unknown one; `draft` itself names nothing.
        refusal = 404 if "label=" in call.line else 403
        expected = (200 if call.right == READ else refusal) if who == "charlie" else 401
        answer = call.send(api_of(cast, who), AGENTS, history)
        assert answer.status == expected, call
        assert not [words for words in SECRETS if words in str(answer.body)], call
        assert (PUBLISHED_WORDS in str(answer.body)) is (answer.status == 200), call


def test_the_draft_is_streamed_to_an_editor(transactional_db: None, cast: Cast) -> None:
    history = make_history(AGENTS, cast.alice)
    call = Call("streaming the draft", "POST {served}/stream?status=draft", DRAFTS, {"messages": "hello"})
    answer = call.send(cast.edgar, AGENTS, history)
    assert "draft words" in answer.body
    assert PUBLISHED_WORDS not in answer.body


def test_an_unreadable_agent_is_streamed_exactly_like_a_missing_one(
    transactional_db: None, cast: Cast
) -> None:
    history = make_history(AGENTS, cast.alice)
    for call in STREAMS:
        unreadable, missing = (
            call.send(cast.charlie, AGENTS, history, name) for name in ("writer", "missing")
        )
        assert (unreadable.status, unreadable.body) == (404, missing.body), call
