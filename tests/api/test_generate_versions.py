"""Which version runs of the called agent and of the agents that it delegates to."""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.runs import agent, draft, noticed, ran, run, team

GONE = "00000000-0000-4000-8000-000000000000"
DRAFT = {"status": "draft"}

Place = dict[str, Any]


def own(place: str, selector: dict[str, str], agent_id: str = "writer") -> Place:
    """Return the part of a request that selects the called agent's own version in that place."""
    if place == "query":
        return {"query": selector}
    versions = {"agents": {agent_id: selector}} if place.endswith("entry") else {"self": selector}
    return (
        {"requestContext": {"versions": versions}} if place.startswith("context") else {"versions": versions}
    )


PLACES = {
    "query": "status",
    "self": "versions.self",
    "entry": "versions.agents.writer",
    "context self": "versions.self",
    "context entry": "versions.agents.writer",
}


def asking(agent_id: str, selector: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"versions": {"agents": {agent_id: selector}, **more}}


# The called agent


def test_every_place_selects_the_called_agents_own_version(alice: Api) -> None:
    old = agent(alice)
    new = draft(alice)
    assert alice.put("/stored/agents/writer/labels/old", {"versionId": old}).status == 200
    for place, (selector, version_id) in product(
        PLACES,
        (
            (DRAFT, new),
            ({"versionId": new}, new),
            ({"label": "old"}, old),
            ({"status": "published"}, old),
        ),
    ):
        answer = ran(alice, **own(place, selector))
        assert answer["resolvedVersions"] == {"writer": version_id}, (place, selector)
    for place in PLACES:
        strict = own(place, {"label": "gone"})
        assert run(alice, **strict).status == 404, place
        strict["versions"] = {**strict.get("versions", {}), "strict": True}
        assert run(alice, **strict).status == 404, place
    twice = run(alice, **own("query", DRAFT), **own("entry", DRAFT))
    assert (twice.status, twice.fields) == (400, ["status", "versions.agents.writer"])


def test_a_viewer_may_run_no_draft_and_the_refusal_names_the_selector(cast: Cast) -> None:
    agent(cast.alice)
    old = draft(cast.alice, instructions="between")
    draft(cast.alice)
    for place, selector in product(PLACES, (DRAFT, {"versionId": old}, {"label": "latest"})):
        answer = run(cast.vera, **own(place, selector))
        named = next(iter(selector)) if place == "query" else PLACES[place]
        assert (answer.status, answer.code) == (403, "forbidden")
        assert named in answer.body["error"]


# Those that it delegates to


def test_sub_agents_run_published_versions_unless_others_are_selected(alice: Api) -> None:
    lead, published = team(alice)
    new_lead, new = draft(alice, "lead", "new lead"), draft(alice)
    for asked, versions in (
        ({}, (lead, published)),
        ({"versions": {"self": DRAFT}}, (new_lead, published)),
        ({"query": DRAFT}, (new_lead, published)),
        ({"versions": {"defaultStatus": "draft"}}, (lead, new)),
        (asking("writer", DRAFT), (lead, new)),
        (asking("writer", {"versionId": new}), (lead, new)),
        (asking("writer", {"status": "published"}, defaultStatus="draft"), (lead, published)),
    ):
        answer = ran(alice, "lead", **asked)
        assert tuple(answer["resolvedVersions"].values()) == versions, asked
        words = "one" if versions[1] == published else "two"
        assert answer["toolResults"][0]["result"] == f"{words}\n\nhello"
        assert answer["warnings"] == []


def test_a_sub_agent_draft_that_a_viewer_selects_is_treated_as_missing(cast: Cast) -> None:
    _, published = team(cast.alice)
    draft(cast.alice)
    for versions, place in (
        ({"agents": {"writer": DRAFT}}, "versions.agents.writer"),
        ({"agents": {"writer": {"label": "latest"}}}, "versions.agents.writer"),
        ({"defaultStatus": "draft"}, "versions.defaultStatus"),
    ):
        strict = run(cast.vera, "lead", versions={**versions, "strict": True})
        assert (strict.status, strict.code) == (424, "version_unresolved")
        assert place in strict.body["error"]
        answer = ran(cast.vera, "lead", versions=versions)
        assert answer["resolvedVersions"]["writer"] == published
        assert noticed(answer) == [("version_unresolved", place)]


def test_the_published_version_may_be_selected_in_any_way(cast: Cast) -> None:
    _, published = team(cast.alice)
    draft(cast.alice)
    for selector in ({"status": "published"}, {"versionId": published}, {"label": "production"}):
        answer = ran(cast.vera, "lead", **asking("writer", selector))
        assert answer["resolvedVersions"]["writer"] == published and answer["warnings"] == []


def test_a_published_agent_runs_its_private_sub_agents_for_every_caller(cast: Cast) -> None:
    lead, published = team(cast.alice, visibility="public")
    draft(cast.alice)
    answer = ran(cast.charlie, "lead")
    assert answer["text"] == "lead\n\nhello\n\none\n\nhello"
    assert answer["resolvedVersions"] == {"lead": lead, "writer": published}
    assert run(cast.charlie, "writer").status == 404


def test_an_entry_for_an_agent_that_takes_no_part_is_ignored_with_one_uniform_warning(cast: Cast) -> None:
    team(cast.alice, visibility="public")
    agent(cast.alice, "unrelated", visibility="public")
    agent(cast.alice, "hidden")
    entries = {"unrelated": DRAFT, "hidden": DRAFT, "unknown": DRAFT}
    answer = ran(cast.charlie, "lead", versions={"agents": entries})
    assert set(noticed(answer)) == {("version_not_applied", f"versions.agents.{name}") for name in entries}
    reasons = {
        warning["message"].replace(warning["field"].rpartition(".")[2], "x") for warning in answer["warnings"]
    }
    assert len(reasons) == 1  # it does not reveal what exists


def test_a_draft_gives_no_access_to_agents_that_the_caller_cannot_read(cast: Cast) -> None:
    agent(cast.charlie, "theirs", "secret", workspaceId="elsewhere")
    agent(cast.alice, "lead", "lead", agents={"theirs": {}}, autoPublish=False)
    answer = ran(cast.edgar, "lead", query=DRAFT)
    assert "secret" not in str(answer) and "not available" in answer["text"]
    assert "theirs" not in answer["resolvedVersions"]


# What cannot be resolved


def test_an_unresolved_version_of_a_code_defined_sub_agent_runs_its_code(
    cast: Cast, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    selector = {"versionId": GONE}
    settings.EDITOR_FRAMEWORK = "editor_project.framework.framework"
    code = ran(cast.vera, "support")["text"]
    AGENTS.make(cast.root, "support", "override", autoPublish=True)
    with caplog.at_level(logging.WARNING, logger="versioning.runtime"):
        answer = ran(cast.vera, "supervisor", **asking("support", selector))
    assert answer["toolResults"][0]["result"] == code
    assert answer["resolvedVersions"] == {"supervisor": None, "support": None}
    assert noticed(answer) == [("version_unresolved", "versions.agents.support")]
    assert [record.levelname for record in caplog.records if record.name == "versioning.runtime"] == [
        "WARNING"
    ]
    strict = run(cast.vera, "supervisor", **asking("support", selector, strict=True))
    assert (strict.status, strict.code) == (424, "version_unresolved")
    assert "versions.agents.support" in strict.body["error"]
    assert "nothing ran" in strict.body["error"] and "it runs" not in strict.body["error"]


def test_a_stored_sub_agent_that_is_not_published_is_not_available(alice: Api) -> None:
    team(alice)
    assert alice.post("/stored/agents/writer/unpublish").status == 200
    for agents in ({}, {"writer": {"status": "published"}}, {"writer": {"label": "gone"}}):
        answer = ran(alice, "lead", versions={"agents": agents})
        assert "not available" in answer["toolResults"][0]["result"]
        assert "one" not in answer["text"] and set(answer["resolvedVersions"]) == {"lead"}
        assert ("agent_unavailable", "agents.writer") in noticed(answer)
        assert run(alice, "lead", versions={"agents": agents, "strict": True}).status == 424


# Precedence, two levels down


@pytest.fixture
def chain(cast: Cast, settings: Any) -> dict[str, str]:
    """`first` → `middle` → `last`; versions are named after what selects them. Return their ids by name."""
    settings.EDITOR_FRAMEWORK = "tests.support.chain.framework"
    made = {"nobody": AGENTS.make(cast.root, "last", "nobody", autoPublish=True)["resolvedVersionId"]}
    for name in ("by-framework", "by-context", "by-body"):
        made[name] = draft(cast.root, "last", name)
        assert cast.root.put(f"/stored/agents/last/labels/{name}", {"versionId": made[name]}).status == 200
    return made


def test_selectors_of_the_body_precede_the_request_context_and_that_the_framework(
    cast: Cast, chain: dict[str, str]
) -> None:
    context = {"requestContext": asking("last", {"label": "by-context"})}
    body = asking("last", {"label": "by-body"})
    for asked, winner in (
        (context, "by-context"),
        (body, "by-body"),
        ({**context, **body}, "by-body"),
        ({}, "by-framework"),  # nothing is left of the requests before
    ):
        answer = ran(cast.root, "first", **asked)
        assert answer["text"] == f"first\n\nhello\n\nmiddle\n\nhello\n\n{winner}\n\nhello"
        assert answer["resolvedVersions"] == {"first": None, "middle": None, "last": chain[winner]}


def test_versions_selected_by_the_framework_need_no_right_of_the_caller(
    cast: Cast, chain: dict[str, str]
) -> None:
    assert ran(cast.charlie, "first")["resolvedVersions"]["last"] == chain["by-framework"]
    assert ran(cast.charlie, "last")["resolvedVersions"]["last"] == chain["nobody"]
    answer = ran(cast.charlie, "first", **asking("last", {"label": "by-body"}))
    assert answer["resolvedVersions"]["last"] is None
    assert noticed(answer) == [("version_unresolved", "versions.agents.last")]
