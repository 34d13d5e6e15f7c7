"""Which versions sub-agents run, what happens when there is none, and what the caller is told."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.runtime.memory import EDITOR, STRANGER, VIEWER, MemoryStore
from versioning.domain.access import Caller
from versioning.runtime import Agent, Framework, RequestContext, Result, VersionUnresolved

DRAFT = {"status": "draft"}
UNKNOWN = {"versionId": "gone"}


def ask(framework: Framework, agent_id: str, *, by: Caller = EDITOR, **versions: Any) -> Result:
    """Run an agent as REST does, with `versions` in the body."""
    return framework.generate(agent_id, "hello", request_context=RequestContext.of({}, versions, by=by))


def codes(result: Result) -> list[tuple[str, str | None]]:
    return [(notice.code, notice.field) for notice in result.warnings]


@pytest.fixture
def boss(store: MemoryStore) -> Framework:
    """A public stored agent, with a stored sub-agent that only its workspace reads."""
    store.put("helper", "helper 1", "helper 2", active=1, labels={"blue": 2})
    store.put("boss", "boss 1", "boss 2", active=1, public=True, agents={"helper": {}})
    return Framework(editor=store)


def test_without_a_selector_the_published_version_runs(boss: Framework) -> None:
    result = ask(boss, "boss")
    assert result.resolved_versions == {"boss": "boss-1", "helper": "helper-1"}
    assert result.text == "boss 1\n\nhello\n\nhelper 1\n\nhello"
    assert codes(result) == []


def test_the_code_runs_when_no_override_is_published(framework: Framework, store: MemoryStore) -> None:
    store.put("writer", "writer 1")
    assert ask(framework, "lead").resolved_versions == {"lead": None, "writer": None}


def test_a_selected_version_runs(boss: Framework) -> None:
    for selector in (DRAFT, {"versionId": "helper-2"}, {"label": "blue"}):
        assert ask(boss, "boss", agents={"helper": selector}).resolved_versions["helper"] == "helper-2"
    drafts = {"boss": "boss-1", "helper": "helper-2"}
    assert ask(boss, "boss", defaultStatus="draft").resolved_versions == drafts
    result = ask(boss, "boss", defaultStatus="draft", agents={"helper": {"status": "published"}})
    assert result.resolved_versions["helper"] == "helper-1"


@pytest.mark.parametrize("caller", [VIEWER, STRANGER], ids=["viewer", "stranger"])
def test_a_version_that_the_caller_may_not_use_looks_like_a_missing_one(
    boss: Framework, caller: Caller
) -> None:
    results = [
        ask(boss, "boss", by=caller, agents={"helper": selector})
        for selector in (DRAFT, {"versionId": "helper-2"}, {"label": "blue"}, UNKNOWN, {"label": "gone"})
    ]
    assert {str(result.as_dict() | {"runId": ""}) for result in results} == {
        str(results[0].as_dict() | {"runId": ""})
    }
    assert results[0].resolved_versions["helper"] == "helper-1"
    assert codes(results[0]) == [("version_unresolved", "versions.agents.helper")]
    by_default = ask(boss, "boss", by=caller, defaultStatus="draft")
    assert by_default.resolved_versions["helper"] == "helper-1"
    assert codes(by_default) == [("version_unresolved", "versions.defaultStatus")]
    with pytest.raises(VersionUnresolved, match=r"versions\.agents\.helper"):
        ask(boss, "boss", by=caller, strict=True, agents={"helper": DRAFT})


def test_an_unreadable_sub_agent_looks_like_a_missing_one_for_every_selector(store: MemoryStore) -> None:
    secret = Agent(
        id="secret",
        name="S",
        instructions="s",
        model={"provider": "echo", "name": "echo"},
        visibility="private",
    )
    for agent_id in ("secret", "theirs", "nobody"):
        store.put(f"lead-{agent_id}", "lead", active=1, workspace="elsewhere", agents={agent_id: {}})
    store.put("theirs", "theirs 1", "theirs 2", active=1)
    framework = Framework(agents=[secret], editor=store)
    for selector in (UNKNOWN, DRAFT, {"label": "gone"}, {"status": "published"}):
        told = {
            str(
                ask(framework, f"lead-{agent_id}", by=STRANGER, agents={agent_id: selector}).as_dict()
                | {"runId": ""}
            ).replace(agent_id, "X")
            for agent_id in ("secret", "theirs", "nobody")
        }
        assert len(told) == 1


def test_a_selector_for_an_agent_that_takes_no_part_is_listed(boss: Framework) -> None:
    result = ask(boss, "boss", by=STRANGER, agents={"other": DRAFT})
    assert codes(result) == [("version_not_applied", "versions.agents.other")]
    assert result.text.endswith("helper 1\n\nhello")  # as part of the published agent


def test_sub_agents_of_a_draft_run_only_for_their_readers(store: MemoryStore, boss: Framework) -> None:
    assert ask(boss, "boss", self=DRAFT).resolved_versions == {"boss": "boss-2", "helper": "helper-1"}
    store.put("helper", "helper 1", active=1, workspace="elsewhere")
    store.granted.add("helper")
    assert ask(boss, "boss").text == "boss 1\n\nhello\n\nhelper 1\n\nhello"
    result = ask(boss, "boss", self=DRAFT)
    assert result.text == "boss 2\n\nhello\n\nThe agent 'helper' is not available."
    assert codes(result) == [("agent_unavailable", "agents.helper")]


def test_a_default_of_the_framework_grants_a_draft_no_sub_agents(store: MemoryStore) -> None:
    store.put("helper", "helper 1", "helper 2", active=1, workspace="elsewhere")
    store.granted.add("helper")
    store.put("boss", "boss 1", "boss 2", active=1, agents={"helper": {}})
    framework = Framework(editor=store, versions={"agents": {"helper": DRAFT}})
    assert ask(framework, "boss").resolved_versions["helper"] == "helper-2"
    assert ask(framework, "boss", by=VIEWER).resolved_versions["helper"] == "helper-2"
    assert "helper" not in ask(framework, "boss", self=DRAFT).resolved_versions


def test_a_sub_agent_granted_to_one_agent_does_not_run_for_another(store: MemoryStore) -> None:
    store.put("secret", "secret 1", active=1, workspace="elsewhere")
    store.granted.add("secret")
    store.put("helper", "helper 1", active=1, agents={"secret": {}})
    store.put("boss", "boss 1", "boss 2", active=1, agents={"secret": {}, "helper": {}})
    result = ask(Framework(editor=store), "boss", self=DRAFT)
    # The echo model calls the first sub-agent: that of the draft is missing, that of `helper` is available.
    assert result.text == "boss 2\n\nhello\n\nThe agent 'secret' is not available."
    assert result.resolved_versions == {"boss": "boss-2", "helper": "helper-1", "secret": "secret-1"}
    assert codes(result) == [("agent_unavailable", "agents.secret")]
    assert ask(Framework(editor=store), "helper").text.endswith("secret 1\n\nhello")


def test_a_draft_of_a_sub_agent_grants_no_sub_agents_either(store: MemoryStore) -> None:
    store.put("secret", "secret 1", active=1)
    store.put("helper", "helper 1", "helper 2", active=1, public=True, agents={"secret": {}})
    store.put("boss", "boss 1", active=1, public=True, agents={"helper": {}})
    framework = Framework(editor=store, versions={"agents": {"helper": {"versionId": "helper-2"}}})
    result = ask(framework, "boss", by=STRANGER)
    assert result.resolved_versions == {"boss": "boss-1", "helper": "helper-2"}
    assert "secret 1" not in result.text
    assert ask(framework, "helper", by=STRANGER).text.endswith("secret 1\n\nhello")


def test_an_unpublished_sub_agent_of_a_published_agent_is_not_available(
    store: MemoryStore, boss: Framework, caplog: pytest.LogCaptureFixture
) -> None:
    store.put("helper", "helper 1")
    result = ask(boss, "boss")
    assert result.text == "boss 1\n\nhello\n\nThe agent 'helper' is not available."
    assert result.resolved_versions == {"boss": "boss-1"}
    assert codes(result) == [("agent_unavailable", "agents.helper")]
    assert [record.name for record in caplog.records] == ["versioning.runtime"]


def test_an_unresolved_version_of_a_code_defined_agent_runs_the_code_and_warns(
    framework: Framework, store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.put("writer", "writer 1", active=1)
    result = ask(framework, "lead", agents={"writer": UNKNOWN})
    assert result.resolved_versions == {"lead": None, "writer": None}
    assert result.text.endswith("writer in code\n\nhello")
    assert codes(result) == [("version_unresolved", "versions.agents.writer")]
    assert [(record.name, record.levelno) for record in caplog.records] == [
        ("versioning.runtime", logging.WARNING)
    ]


def test_an_unresolved_version_of_a_stored_agent_runs_the_published_one_if_there_is_one(
    store: MemoryStore, boss: Framework
) -> None:
    result = ask(boss, "boss", agents={"helper": UNKNOWN})
    assert result.resolved_versions["helper"] == "helper-1"
    assert codes(result) == [("version_unresolved", "versions.agents.helper")]
    store.put("helper", "helper 1")
    result = ask(boss, "boss", agents={"helper": UNKNOWN})
    assert "not available" in result.text
    assert codes(result)[0] == ("version_unresolved", "versions.agents.helper")
    del store.stored["helper"]
    with pytest.raises(VersionUnresolved, match="helper"):
        ask(boss, "boss", strict=True)


def test_without_an_editor_a_selector_warns_and_the_code_runs(
    lead: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    Framework(agents=[lead])
    result = lead.generate("hello", versions={"agents": {"writer": DRAFT}})
    assert result.text.endswith("writer in code\n\nhello")
    assert codes(result) == [("version_unresolved", "versions.agents.writer")]
    assert "no" in caplog.text and caplog.records[0].name == "versioning.runtime"


@pytest.mark.parametrize("agent_id", ["boss", "lead"])
def test_strict_refuses_instead_of_falling_back(store: MemoryStore, lead: Agent, agent_id: str) -> None:
    store.put("helper", "helper 1", active=1)
    store.put("boss", "boss 1", active=1, agents={"helper": {}})
    framework = Framework(agents=[lead], editor=store)
    below = "helper" if agent_id == "boss" else "writer"
    with pytest.raises(VersionUnresolved, match=rf"versions\.agents\.{below}") as refusal:
        ask(framework, agent_id, strict=True, agents={below: UNKNOWN})
    assert refusal.value.code == "version_unresolved"
    assert ask(framework, agent_id, strict=True).text


def test_strict_refuses_without_an_editor(lead: Agent) -> None:
    framework = Framework(agents=[lead], versions={"strict": True})
    with pytest.raises(VersionUnresolved):
        ask(framework, "lead", agents={"writer": DRAFT})
    assert ask(framework, "lead", agents={"writer": DRAFT}, strict=False).text


def test_every_agent_is_looked_up_once_per_run(store: MemoryStore) -> None:
    store.put("deep", "deep", active=1)
    store.put("left", "left", active=1, agents={"deep": {}})
    store.put("right", "right", active=1, agents={"deep": {}, "top": {}})
    store.put("top", "top", active=1, agents={"left": {}, "right": {}})
    assert set(ask(Framework(editor=store), "top").resolved_versions) == {"top", "left", "right", "deep"}
    assert sorted(agent_id for agent_id, _ in store.served[1:]) == ["deep", "left", "right", "top"]


def test_a_stored_sub_agent_reports_its_fallback(store: MemoryStore) -> None:
    store.put("helper", "helper 1")
    store.put("boss", "boss 1", agents={"helper": {}})
    result = ask(Framework(editor=store), "boss")
    assert result.resolved_versions == {"boss": "boss-1", "helper": "helper-1"}
    assert [notice.code for notice in result.warnings] == ["never_published", "never_published"]
    assert "helper" in result.warnings[1].message
