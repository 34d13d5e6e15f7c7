"""Requests to change an override in its repository, which nothing takes yet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.people import give_role

BODIES: list[Any] = [None, {}, {"instructions": "new", "changeMessage": "Why", "inspectOnly": True}]
WRONG = [
    ({"changeMessage": 5}, "changeMessage"),
    ({"changeMessage": "m" * 501}, "changeMessage"),
    ({"inspectOnly": "yes"}, "inspectOnly"),
    ({"instructions": " "}, "instructions"),
    ([], "body"),
]


@pytest.fixture
def team(cast: Cast, settings: Any) -> Cast:
    """The cast, with the same roles where code defines the public agent `answers`; `writer` is stored."""
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    for name, role in {"alice": "admin", "edgar": "editor", "vera": "viewer"}.items():
        give_role(name, "default", role)
    return cast


@pytest.mark.parametrize("agent_id", ["writer", "answers"])
def test_without_a_repository_a_change_cannot_be_requested(team: Cast, agent_id: str) -> None:
    address = AGENTS.url(agent_id, "change-request")
    for body in BODIES:
        answer = team.edgar.post(address, body)
        assert (answer.status, answer.code) == (400, "no_source_control")
    for wrong, field in WRONG:
        answer = team.edgar.post(address, wrong)
        assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", [field])


def test_who_may_not_save_is_refused_before_the_body_is_looked_at(team: Cast) -> None:
    for body in (*BODIES, *(wrong for wrong, _ in WRONG)):
        for agent_id in ("writer", "answers"):
            for api in (team.vera, team.charlie):
                answer = api.post(AGENTS.url(agent_id, "change-request"), body)
                assert (answer.status, answer.code) == (403, "forbidden")
        for agent_id in ("hidden", "missing"):
            answer = team.charlie.post(AGENTS.url(agent_id, "change-request"), body)
            assert (answer.status, answer.code) == (404, "not_found")
    assert team.nobody.post(AGENTS.url("writer", "change-request")).status == 401
