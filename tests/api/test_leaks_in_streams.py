"""Streams are refused like other answers, and reveal no more than other answers."""

from __future__ import annotations

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


def test_a_public_agent_is_streamed_to_any_signed_in_caller_as_it_is_published(
    committed_db: None, cast: Cast
) -> None:
    history = make_history(AGENTS, cast.alice, visibility="public")
    for call in STREAMS:
        # To non-members the label of a draft is unknown; `draft` itself names nothing.
        refusal = 404 if "label=" in call.line else 403
        answer = call.send(cast.charlie, AGENTS, history)
        assert answer.status == (200 if call.right == READ else refusal), call
        assert not [words for words in SECRETS if words in str(answer.body)], call
        assert (PUBLISHED_WORDS in str(answer.body)) is (answer.status == 200), call
        assert call.send(cast.nobody, AGENTS, history).status == 401, call


def test_the_role_decides_what_may_be_streamed(committed_db: None, cast: Cast) -> None:
    history = make_history(AGENTS, cast.alice)
    for who, expected in EXPECTED.items():
        api: Api = getattr(cast, who)
        found = {call.words: call.send(api, AGENTS, history).status for call in STREAMS}
        assert found == {call.words: expected[call.right] for call in STREAMS}, who
    draft = Call("streaming the draft", "POST {served}/stream?status=draft", DRAFTS, {"messages": "hello"})
    streamed = draft.send(cast.edgar, AGENTS, history).body
    assert "draft words" in streamed and PUBLISHED_WORDS not in streamed
    # An unreadable agent is answered exactly like a missing one.
    for call in STREAMS:
        unreadable, missing = (
            call.send(cast.charlie, AGENTS, history, name) for name in ("writer", "missing")
        )
        assert (unreadable.status, unreadable.body) == (404, missing.body), call
