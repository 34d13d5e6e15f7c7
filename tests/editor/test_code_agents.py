"""Agents that code defines: reads without an override, and the editor's verbs in Python."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.code import TOOLS
from tests.support.people import give_role
from tests.support.runs import noticed, run
from tests.support.served import published_agent, served
from versioning.conf import get_editor, get_framework
from versioning.domain.access import Role
from versioning.domain.errors import Forbidden, Invalid, NoInstructions, NotFound
from versioning.domain.selectors import DRAFT
from versioning.editor import Editor
from versioning.runtime import Agent

URL = AGENTS.url("answers")
PUBLIC = {"answers", "leads-answers", "leads-notes"}


@pytest.fixture
def team(cast: Cast, settings: Any) -> Cast:
    """The cast of acme, all with the same roles in the workspace of the code."""
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    roles = {"alice": Role.ADMIN, "paula": Role.PUBLISHER, "edgar": Role.EDITOR, "vera": Role.VIEWER}
    for name, role in roles.items():
        give_role(name, "default", role)
    return cast


@pytest.fixture
def editor(team: Cast) -> Editor:
    """The editor of the framework."""
    return get_editor()


def user(name: str) -> User:
    found: User = User.objects.get(username=name)
    return found


def override(api: Api, agent_id: str = "answers", **body: Any) -> dict[str, Any]:
    """Make a published override and return its record."""
    answer = api.post(AGENTS.path, {"id": agent_id, "instructions": "override", "autoPublish": True, **body})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def named(api: Api) -> set[str]:
    """Return which dependents of `answers` are named."""
    return {found["id"] for found in api.get(f"{URL}/dependents").body["dependents"]}


def everybody_reads(team: Cast, agent_id: str) -> set[str]:
    return {served(api, agent_id)["instructions"] for api in (team.alice, team.vera, team.charlie, team.root)}


# Over REST


def test_without_an_override_there_are_no_versions_and_no_record(team: Cast) -> None:
    assert team.edgar.get(f"{URL}/versions").body == {
        "versions": [],
        "total": 0,
        "page": 0,
        "perPage": 20,
        "hasMore": False,
    }
    assert team.edgar.get(URL).status == 404
    assert team.edgar.get(AGENTS.path, status="all").body["total"] == 0
    assert team.alice.delete(URL).status == team.alice.post(f"{URL}/unpublish").status == 404
    assert team.vera.get(f"{URL}/versions").code == team.charlie.get(f"{URL}/versions").code == "forbidden"


def test_the_dependents_of_an_agent_do_not_depend_on_an_override(team: Cast) -> None:
    published_agent(team.alice, "stored-lead", "x", workspaceId="acme", agents={"answers": {}})
    for make in (lambda: None, lambda: override(team.alice)):
        make()
        assert named(team.edgar) == {"leads-answers", "stored-lead", "hidden"}
        assert named(team.charlie) == {"leads-answers"}
        assert team.charlie.get(f"{URL}/dependents").body["hiddenCount"] == 2
    assert team.alice.request("DELETE", URL, query={"ifUnused": "true"}).code == "in_use"


def test_an_edit_makes_the_first_draft_of_an_override(team: Cast) -> None:
    for reader in (team.vera, team.charlie, team.edgar):
        assert reader.patch(URL, {"instructions": "mine", "autoPublish": True}).status == 403
    saved = team.edgar.patch(URL, {"instructions": "first", "changeMessage": "Try"})
    assert (saved.status, saved.body["status"], saved.body["hasDraft"]) == (200, "draft", True)
    assert saved.body["resolvedVersionId"] == saved.body["latestVersionId"]
    (version,) = AGENTS.versions(team.edgar, "answers")
    assert (version["versionNumber"], version["changeMessage"]) == (1, "Try")
    assert everybody_reads(team, "answers") == {"code"}
    assert served(team.edgar, "answers", status="draft")["instructions"] == "first"
    assert team.edgar.patch(URL, {"instructions": "second"}).body["instructions"] == "second"


def test_code_defined_and_stored_agents_are_served(team: Cast) -> None:
    published_agent(team.alice, "notes", "stored", workspaceId="acme")
    AGENTS.make(team.alice, "drafted", workspaceId="acme")
    override(team.alice, tools={"clock": {}})
    agents = team.vera.get("/agents").body
    assert set(agents) == {*PUBLIC, "hidden", "notes"}
    assert {agent_id: agent["source"] for agent_id, agent in agents.items() if agent["source"] != "code"} == {
        "notes": "stored"
    }
    assert all(agents[agent_id] == served(team.vera, agent_id) for agent_id in agents)
    assert agents["answers"]["instructions"] == "override"
    assert agents["leads-answers"]["agents"] == {"answers": {}}
    strangers = team.charlie.get("/agents").body
    assert set(strangers) == PUBLIC
    assert strangers["answers"] == agents["answers"]


def test_a_private_agent_does_not_exist_for_non_members(team: Cast) -> None:
    for exists in (False, True):
        if exists:
            assert override(team.alice, "hidden")["visibility"] == "private"
        for path, body in (
            ("/agents/{}", None),
            ("/agents/{}?status=draft", None),
            ("/stored/agents/{}", None),
            ("/stored/agents/{}/versions", None),
            ("/stored/agents/{}/dependents", None),
            ("/stored/agents/{}/export", {"instructions": "mine"}),
            ("/agents/{}/generate", {"messages": "hello"}),
        ):
            method = "POST" if body else "GET"
            hidden, missing = (
                team.charlie.request(method, path.format(name), body) for name in ("hidden", "missing")
            )
            assert (hidden.status, hidden.body) == (404, missing.body), path
        assert "hidden" not in team.charlie.get("/agents").body
        assert served(team.vera, "hidden")["instructions"] == ("override" if exists else "hidden code")


@pytest.mark.parametrize(("before", "after"), [("framework", "private"), ("private", "framework")])
def test_the_visibility_in_the_code_decides_who_reads_an_override(
    team: Cast, settings: Any, before: str, after: str
) -> None:
    settings.EDITOR_FRAMEWORK = f"tests.support.code.{before}"
    override(team.alice)
    opposite = "private" if before == "framework" else "public"
    assert team.alice.patch(URL, {"visibility": opposite}).fields == ["visibility"]
    settings.EDITOR_FRAMEWORK = f"tests.support.code.{after}"
    found = {team.charlie.get(path).status for path in (URL, "/agents/answers")}
    assert found == {404 if after == "private" else 200}
    listed = team.charlie.get("/agents").body.get("answers", {})
    assert listed.get("instructions") == (None if after == "private" else "override")


def test_a_stored_agent_of_another_workspace_is_no_override(team: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.no_code.framework"
    published_agent(team.alice, "answers", "stored", workspaceId="acme", visibility="public")
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    assert everybody_reads(team, "answers") == {"code"}
    assert run(team.alice, "leads-answers").body["text"] == "lead\n\nhello\n\ncode\n\nhello"
    listed = team.alice.get("/agents").body["answers"]
    assert (listed["instructions"], listed["resolvedVersionId"]) == ("code", None)


def test_a_copy_of_an_override_is_a_whole_agent(team: Cast) -> None:
    override(team.alice)
    answer = team.alice.post(f"{URL}/clone", {"newId": "copy"})
    assert answer.status == 201
    copy = {name: answer.body[name] for name in ("name", "instructions", "tools", "visibility")}
    assert copy == {"name": "Answers", "instructions": "override", "tools": TOOLS, "visibility": "private"}


def test_warnings_know_the_agents_and_tools_of_the_code(team: Cast) -> None:
    refers = {
        "agents": {"answers": {}, "hidden": {}, "missing": {}},
        "tools": {"clock": {}, "look_up": {}},
    }
    own_tool = ("unknown_tool", "tools.look_up")  # belongs to `answers` alone
    missing = ("unknown_agent", "agents.missing")
    made = AGENTS.make(team.alice, "stored", workspaceId="acme", **refers)
    assert sorted(noticed(made)) == [missing, own_tool]
    theirs = AGENTS.make(team.charlie, "theirs", **refers)
    assert sorted(noticed(theirs)) == [("unknown_agent", "agents.hidden"), missing, own_tool]
    tools = {"clock": {}, "look_up": {}, "missing": {}}
    assert noticed(override(team.alice, tools=tools)) == [("unknown_tool", "tools.missing")]
    loop = AGENTS.make(team.alice, "notes", agents={"leads-notes": {}}, workspaceId="acme")
    assert noticed(loop) == [("agent_cycle", "agents.leads-notes")]


# In Python


def test_updating_an_agent_publishes_and_makes_an_override_of_a_code_defined_agent(editor: Editor) -> None:
    editor.agent.create(id="notes", name="Notes", instructions="one", workspace="acme")
    for agent_id in ("answers", "notes"):
        first = editor.agent.update(agent_id, instructions="two")
        assert str(first.resource.active_version_id) == first.version.version_id
        drafted = editor.agent.update(agent_id, instructions="three", publish=False)
        assert editor.agent.get(agent_id).version.config["instructions"] == "two"
        assert editor.agent.get(agent_id, DRAFT).version.version_id == drafted.version.version_id
        agent = get_framework().get_agent_by_id(agent_id, status="published")
        assert (agent.instructions, agent.resolved_version_id) == ("two", first.version.version_id)


def test_the_acting_person_is_the_author_and_the_application_leaves_no_author(
    editor: Editor, team: Cast
) -> None:
    editor.agent.update("answers", instructions="one")
    editor.agent.update("answers", instructions="two", by=user("paula"))
    assert [version["authorId"] for version in AGENTS.versions(team.alice, "answers")] == ["paula", None]
    assert team.alice.get(URL).body["authorId"] is None


def test_a_user_has_the_rights_of_the_role_in_python(editor: Editor, team: Cast) -> None:
    with pytest.raises(Forbidden):
        editor.agent.update("answers", instructions="one", by=user("edgar"))  # would be published
    with pytest.raises(Forbidden):
        editor.agent.update("answers", instructions="one", publish=False, by=user("charlie"))
    assert editor.agent.versions("answers").resource is None
    made = editor.agent.update("answers", instructions="one", publish=False, by=user("edgar"))
    with pytest.raises(Forbidden):
        editor.agent.publish("answers", made.version.version_id, by=user("edgar"))
    with pytest.raises(NotFound):
        editor.agent.get("answers", by=user("vera"))
    assert list(editor.agent.list(by=user("vera"))) == []
    assert [agent.pk for agent in editor.agent.list(by=user("edgar"))] == ["answers"]
    with pytest.raises(NotFound):
        get_framework().get_agent_by_id("hidden", status="published", by=user("charlie"))


def test_every_verb_of_the_collection_works(editor: Editor) -> None:
    first = editor.agent.update("answers", instructions="one").version.version_id
    second = editor.agent.update("answers", tools={"clock": {}}, publish=False).version.version_id
    _, _, differences = editor.agent.compare("answers", first, second)
    assert [(one.field, one.previous, one.current) for one in differences] == [("tools", None, {"clock": {}})]
    editor.agent.publish("answers", second)
    assert editor.agent.get("answers").version.version_id == second
    restored = editor.agent.restore("answers", first)
    assert restored.version.config == {"instructions": "one"}
    assert editor.agent.get("answers").version.version_id == second
    assert [row.number for row in editor.agent.versions("answers").versions] == [3, 2, 1]
    editor.agent.unpublish("answers")
    assert editor.agent.get("answers").resource.active_version_id is None
    assert [agent.pk for agent in editor.agent.list()] == ["answers"]
    editor.agent.delete("answers")
    with pytest.raises(NotFound):
        editor.agent.get("answers")


def test_python_keeps_the_ownership_and_knows_the_fields(editor: Editor, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.nothing"
    for field, code in (("instructions", "owned_by_code"), ("unheard", "validation_failed")):
        with pytest.raises(Invalid) as refused:
            get_editor().agent.update("answers", {field: "override"})
        assert refused.value.code == code
        assert [issue.field for issue in refused.value.issues] == [field]


def test_the_registered_agent_is_never_changed(editor: Editor) -> None:
    framework = get_framework()
    registered = framework.agents["answers"]
    before = _facts(registered)
    saved = editor.agent.update("answers", instructions="override", tools={"clock": {}}).version.version_id
    for selector in ({"status": "published"}, {"status": "draft"}, {"version_id": saved}):
        copy = framework.get_agent_by_id("answers", **selector)
        assert copy is not registered
        assert (copy.id, copy.name, copy.instructions) == ("answers", "Answers", "override")
        assert dict(copy.tools) == {**TOOLS, "clock": {}}
        assert copy.generate("hello").text == "override\n\nhello"
    assert framework.get_agent_by_id("answers") is framework.agents["answers"] is registered
    assert _facts(registered) == before
    assert registered.generate("hello").text == "code\n\nhello"
    with pytest.raises(AttributeError):
        registered.instructions = "changed"  # type: ignore[misc]


def _facts(agent: Agent) -> dict[str, Any]:
    """Return every field of an agent: values copied, objects as they are."""
    facts = {field.name: getattr(agent, field.name) for field in fields(agent)}
    copied = {name: deepcopy(dict(facts[name])) for name in ("model", "default_options", "metadata")}
    return {**facts, **copied, "toolbox": dict(facts["toolbox"])}


# Instructions that the code leaves to the editor


def test_an_agent_without_instructions_fails_clearly_until_some_are_published(
    team: Cast, settings: Any
) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.unworded"
    agent = get_framework().get_agent_by_id("answers")
    draft = team.edgar.patch(URL, {"instructions": "from the editor"}).body["latestVersionId"]
    for answer in (
        team.vera.get("/agents/answers"),
        run(team.vera, "answers"),
        run(team.vera, "answers", verb="stream"),
    ):
        assert (answer.status, answer.code) == (422, "no_instructions")
    with pytest.raises(NoInstructions, match="none are published"):
        agent.generate("hello")
    assert set(team.vera.get("/agents").body) == {"leads-answers"}
    lead = run(team.vera, "leads-answers")
    assert lead.status == 200
    assert ("agent_unavailable", "agents.answers") in noticed(lead.body)
    assert served(team.edgar, "answers", status="draft")["instructions"] == "from the editor"
    AGENTS.publish(team.paula, "answers", draft)
    assert served(team.vera, "answers")["instructions"] == "from the editor"
    assert agent.generate("hello").text == "from the editor\n\nhello"
    assert "from the editor" in run(team.vera, "leads-answers").body["text"]
    assert team.paula.post(f"{URL}/unpublish").status == 200
    assert run(team.vera, "answers").code == "no_instructions"


def test_instructions_may_be_missing_only_if_the_editor_explicitly_owns_them() -> None:
    editor: Any
    for editor in (None, False, {"tools": True}, {"instructions": False}):
        with pytest.raises(ValueError, match="instructions are missing"):
            Agent(id="a", name="A", editor=editor)


def test_a_selector_without_an_applicable_override_returns_the_registered_agent(
    team: Cast, editor: Editor
) -> None:
    framework = get_framework()
    registered = framework.get_agent_by_id("answers")
    for status in ("published", "draft"):
        assert framework.get_agent_by_id("answers", status=status) is registered
    editor.agent.update("answers", instructions="draft", publish=False)
    assert framework.get_agent_by_id("answers", status="published") is registered
    assert framework.get_agent_by_id("answers", status="draft").instructions == "draft"
    editor.agent.update("answers", instructions="live", publish=True)
    assert framework.get_agent_by_id("answers", status="published").instructions == "live"


def test_an_override_of_a_removed_code_defined_agent_breaks_nothing(team: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.unworded"
    made = team.alice.post(AGENTS.path, {"id": "answers", "instructions": "left", "autoPublish": True})
    assert made.status == 201
    settings.EDITOR_FRAMEWORK = "tests.support.no_code.framework"
    assert served(team.vera, "answers")["name"] == "answers"
    assert team.vera.get("/agents").body["answers"]["source"] == "stored"
    assert team.charlie.get("/agents/answers").status == 404, "a row that no one made public is private"
