"""The version of the called agent itself."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.runtime.memory import EDITOR, STRANGER, VIEWER, MemoryStore
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.domain.selectors import DRAFT, Selector
from versioning.runtime import Agent, Framework, RequestContext

DRAFT_ENTRY = {"status": "draft"}


@pytest.fixture(autouse=True)
def stored(store: MemoryStore) -> None:
    store.put("writer", "writer 1", "writer 2", "writer 3", active=2, labels={"blue": 1})
    store.put("poet", "poet 1", "poet 2", active=1)


def version(framework: Framework, **call: Any) -> str | None:
    return framework.generate("writer", "hello", **call).resolved_versions["writer"]


def test_every_place_can_select_the_version_of_the_called_agent(framework: Framework, writer: Agent) -> None:
    assert version(framework) == "writer-2"
    for selector, expected in (
        ({"status": "draft"}, "writer-3"),
        ({"status": "published"}, "writer-2"),
        ({"versionId": "writer-1"}, "writer-1"),
        ({"label": "blue"}, "writer-1"),
    ):
        assert version(framework, versions={"agents": {"writer": selector}}) == expected
        assert version(framework, versions={"self": selector}) == expected
        assert version(framework, selector=Selector.parse(selector)) == expected
        assert version(framework, request_context={"versions": {"self": selector}}) == expected
        assert writer.generate("hello", versions={"self": selector}).resolved_versions["writer"] == expected
    result = writer.generate("hello")
    assert (result.text, result.resolved_versions) == ("writer in code\n\nhello", {"writer": None})


def test_selecting_in_two_places_is_refused_and_both_are_named(framework: Framework) -> None:
    for places in list(combinations(["entry", "self", "query"], 2)):
        versions: dict[str, Any] = {}
        if "entry" in places:
            versions["agents"] = {"writer": DRAFT_ENTRY}
        if "self" in places:
            versions["self"] = DRAFT_ENTRY
        with pytest.raises(Invalid) as refusal:
            version(framework, versions=versions, selector=DRAFT if "query" in places else None)
        names = {"entry": "versions.agents.writer", "self": "versions.self", "query": "status"}
        assert [issue.field for issue in refusal.value.issues] == [names[place] for place in places]


def test_a_missing_agent_or_version_is_not_found(framework: Framework) -> None:
    for selector in ({"versionId": "writer-9"}, {"versionId": "poet-1"}, {"label": "red"}):
        with pytest.raises(NotFound):
            version(framework, versions={"self": selector})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("nobody", {}),
        ("nobody", {"default": None}),
        ("poet", {"request_context": RequestContext(by=STRANGER)}),
    ]
    for agent_id, options in calls:
        with pytest.raises(NotFound):
            framework.generate(agent_id, "hello", **options)


def test_a_draft_that_the_caller_may_not_read_is_refused_by_the_selectors_name(framework: Framework) -> None:
    context = RequestContext.of({}, {"self": DRAFT_ENTRY}, by=VIEWER)
    with pytest.raises(Forbidden, match=r"versions\.self"):
        framework.generate("writer", "hello", request_context=context)
    context = RequestContext.of({}, {"agents": {"writer": DRAFT_ENTRY}}, by=VIEWER)
    with pytest.raises(Forbidden, match=r"versions\.agents\.writer"):
        framework.generate("writer", "hello", request_context=context)
    with pytest.raises(Forbidden, match="status"):
        framework.generate("writer", "hello", request_context=RequestContext(by=VIEWER), selector=DRAFT)
    context = RequestContext.of({}, {"self": DRAFT_ENTRY}, by=EDITOR)
    assert version(framework, request_context=context) == "writer-3"


def test_self_is_not_passed_down(store: MemoryStore, lead: Agent, framework: Framework) -> None:
    store.put("lead", "lead 1", "lead 2", active=1)
    result = lead.generate("hello", versions={"self": DRAFT_ENTRY})
    assert result.resolved_versions == {"lead": "lead-2", "writer": "writer-2"}


def test_defaults_of_the_framework_apply_to_sub_agents_only(writer: Agent, store: MemoryStore) -> None:
    framework = Framework(
        agents=[writer], editor=store, versions={"agents": {"writer": DRAFT_ENTRY}, "self": DRAFT_ENTRY}
    )
    assert version(framework) == "writer-2"


def test_a_selected_agent_runs_at_its_selector(framework: Framework) -> None:
    chosen = framework.get_agent_by_id("writer", status="draft")
    assert chosen.generate("hello").text == "writer 3\n\nhello"
    result = chosen.generate("hello", versions={"self": {"label": "blue"}})
    assert result.resolved_versions["writer"] == "writer-1"


def test_without_an_editor_an_exact_version_is_not_found_and_a_status_is_the_code() -> None:
    writer = Agent(
        id="writer", name="Writer", instructions="code", model={"provider": "echo", "name": "echo"}
    )
    framework = Framework(agents=[writer])
    assert framework.generate("writer", "hello", selector=DRAFT).text == "code\n\nhello"
    with pytest.raises(NotFound):
        framework.generate("writer", "hello", selector=Selector(version_id="writer-1"))
