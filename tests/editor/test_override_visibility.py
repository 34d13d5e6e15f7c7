"""Who may read an override: the current code decides at each request, not a stored visibility."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.override_files import define
from tests.support.people import give_role
from tests.support.served import served
from tests.support.studio import Visitor, page_of
from versioning.domain.access import Role

URL = AGENTS.url("answers")
SECRET = "a rare word"

Release = Callable[[str], None]
"""Starts the release of the code in which `answers` has this visibility."""


@pytest.fixture(params=["database", "code"])
def release(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Release:
    """Overrides in rows, and overrides in files."""

    def start(visibility: str) -> None:
        define(settings, tmp_path / "overrides", source=request.param, visibility=visibility)

    return start


@pytest.fixture
def team(cast: Cast, release: Release) -> Cast:
    """A published override of the public `answers`; alice and vera are members, charlie is not."""
    release("public")
    for name, role in {"alice": Role.ADMIN, "vera": Role.VIEWER}.items():
        give_role(name, "default", role)
    made = cast.alice.post(AGENTS.path, {"id": "answers", "instructions": SECRET, "autoPublish": True})
    assert made.status == 201
    return cast


def asked(api: Api, agent_id: str) -> dict[str, Answer]:
    """Request an agent in every way in which its record can be requested."""
    version = api.get(f"/stored/agents/{agent_id}").body.get("activeVersionId", "0" * 8)
    reads = ["", "?status=draft", "/versions", f"/versions/{version}", "/labels", "/dependents"]
    return {
        **{path: api.get(f"/stored/agents/{agent_id}{path}") for path in reads},
        "served": api.get(f"/agents/{agent_id}"),
        "export": api.post(f"/stored/agents/{agent_id}/export"),
        "clone": api.post(f"/stored/agents/{agent_id}/clone", {"newId": "copy"}),
        "save": api.patch(f"/stored/agents/{agent_id}", {"name": None}),
        "generate": api.post(f"/agents/{agent_id}/generate", {"messages": "hello"}),
    }


def test_an_agent_does_not_exist_for_non_members_while_it_is_private(team: Cast, release: Release) -> None:
    assert team.charlie.get(URL).body["instructions"] == SECRET
    assert team.charlie.get(AGENTS.path, search=SECRET).body["total"] == 1
    release("private")
    hidden, missing = asked(team.charlie, "answers"), asked(team.charlie, "missing")
    for way, answer in hidden.items():
        assert (answer.status, answer.body) == (missing[way].status, missing[way].body), way
    for query in (
        {},
        {"status": "all"},
        {"search": SECRET},
        {"visibility": "public"},
        {"visibility": "private"},
    ):
        assert team.charlie.get(AGENTS.path, **query).body["total"] == 0, query
    assert "answers" not in team.charlie.get("/agents").body
    assert served(team.vera, "answers")["instructions"] == SECRET
    saved = team.alice.patch(URL, {"instructions": "newer", "autoPublish": True})
    assert saved.body["visibility"] == "private"
    release("public")
    assert team.charlie.get(URL).body["instructions"] == "newer"
    assert team.charlie.get("/agents").body["answers"]["instructions"] == "newer"
    assert team.charlie.get(AGENTS.path).body["total"] == 1


def test_the_record_and_its_etag_follow_the_visibility_in_the_code(team: Cast, release: Release) -> None:
    before = team.vera.get(URL)
    release("private")
    after = team.vera.request("GET", URL, if_none_match=before.etag)
    assert (before.body["visibility"], after.status, after.body["visibility"]) == ("public", 200, "private")
    found = {
        word: team.vera.get(AGENTS.path, visibility=word).body["total"] for word in ("public", "private")
    }
    assert found == {"public": 0, "private": 1}
    assert team.alice.patch(URL, {"name": "x"}, if_match=team.alice.get(URL).etag).status == 200


def test_a_draft_of_an_override_changes_no_answer_for_callers_who_may_not_read_drafts(team: Cast) -> None:
    readers = (team.vera, team.charlie)

    def answers() -> list[Any]:
        found = [(api.get(URL), api.get(AGENTS.path, **{"orderBy[field]": "updatedAt"})) for api in readers]
        return [(one.body, one.etag, listed.body) for one, listed in found]

    before = answers()
    drafted = AGENTS.save(team.alice, "answers", "newer")
    assert drafted["hasDraft"]
    assert answers() == before
    AGENTS.publish(team.alice, "answers", drafted["latestVersionId"])
    assert all(now[1] != then[1] for now, then in zip(answers(), before, strict=True))


def test_an_agent_that_turned_private_disappears_from_the_studio_for_non_members(
    team: Cast, release: Release
) -> None:
    stranger = Visitor("charlie")
    assert stranger.get(page_of(AGENTS, "change", "answers")).status == 200
    release("private")
    assert stranger.get(page_of(AGENTS, "change", "answers")).status == 404
    for address, query in (("/studio/versioning/agent/", {}), ("/studio/", {"q": SECRET}), ("/studio/", {})):
        assert "Answers" not in stranger.get(address, **query).words


def test_the_id_of_an_unreadable_code_defined_agent_is_taken_like_any_other(
    team: Cast, release: Release
) -> None:
    AGENTS.make(team.alice, "theirs", workspaceId="acme")
    release("private")
    body = {"name": "Mine", "instructions": "mine"}
    taken, in_code = (team.charlie.post(AGENTS.path, {"id": name, **body}) for name in ("theirs", "answers"))
    assert (taken.status, taken.code) == (in_code.status, in_code.code) == (409, "id_taken")
    assert taken.body["error"].replace("theirs", "answers") == in_code.body["error"]
    nameless = {"instructions": "mine"}
    taken, in_code = (
        team.charlie.post(AGENTS.path, {"id": name, **nameless}) for name in ("theirs", "answers")
    )
    assert taken.body == in_code.body


def test_a_dependent_that_turned_private_is_counted_and_not_named(team: Cast, release: Release) -> None:
    target = AGENTS.make(team.alice, "target", workspaceId="acme", visibility="public", autoPublish=True)[
        "id"
    ]
    url = f"/stored/agents/{target}/dependents"
    lead = {"name": "Lead", "instructions": "x", "agents": {target: {}}}
    AGENTS.make(team.alice, "leading", workspaceId="acme", visibility="public", autoPublish=True, **lead)
    assert [one["id"] for one in team.charlie.get(url).body["dependents"]] == ["leading"]
    release("private")
    assert [one["id"] for one in team.charlie.get(url).body["dependents"]] == ["leading"]
    warned = team.charlie.post(
        AGENTS.path, {"id": "mine", "name": "Mine", "instructions": "x", "agents": {"answers": {}}}
    )
    assert [warning["code"] for warning in warned.body["warnings"]] == ["unknown_agent"]


def test_the_id_of_a_private_agent_is_taken_like_any_other(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.private_code.framework"
    AGENTS.make(cast.alice, "secret")
    for given in (("id",), ()):
        for workspace in ("elsewhere", "default", None):
            where = {"workspaceId": workspace} if workspace else {}
            hidden, secret = (
                cast.charlie.post(
                    AGENTS.path,
                    {"name": one.title(), "instructions": "x", **dict.fromkeys(given, one), **where},
                )
                for one in ("hidden", "secret")
            )
            assert hidden.status == secret.status
            assert str(hidden.body).replace("hidden", "secret") == str(secret.body)
