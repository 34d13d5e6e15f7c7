"""The resolution table: which version answers, the same through Python, over REST and as a sub-agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.people import key_of, person
from tests.support.runs import ECHO, draft, noticed, ran, run
from tests.support.served import ask
from versioning.conf import get_framework
from versioning.domain.access import Role
from versioning.domain.errors import NotFound
from versioning.runtime import Agent

pytestmark = pytest.mark.both_kinds

UNKNOWN = "00000000-0000-4000-8000-000000000000"
LEADS = {"answers": "leads-answers", "notes": "leads-notes"}
ARGUMENTS = {"status": "status", "versionId": "version_id", "label": "label"}

# Stored versions, oldest first. `old` is a version with the label `stable`.
STATES = {
    "none": [],
    "draft only": ["old", "draft"],
    "published": ["old", "published"],
    "both": ["old", "published", "draft"],
}

# What is served: the text of a version, `code`, or `-` for nothing at all. A star marks the latest
# version in place of a published one. The columns are the selectors.
SELECTORS = ["none", "published", "draft", "exact", "foreign", "unknown", "label"]
TABLE = {
    ("answers", "none"): ["code", "code", "code", "-", "-", "-", "-"],
    ("answers", "draft only"): ["code", "code", "draft", "old", "-", "-", "old"],
    ("answers", "published"): ["published", "published", "published", "old", "-", "-", "old"],
    ("answers", "both"): ["published", "published", "draft", "old", "-", "-", "old"],
    ("notes", "none"): ["-", "-", "-", "-", "-", "-", "-"],
    ("notes", "draft only"): ["draft*", "draft*", "draft", "old", "-", "-", "old"],
    ("notes", "published"): ["published", "published", "published", "old", "-", "-", "old"],
    ("notes", "both"): ["published", "published", "draft", "old", "-", "-", "old"],
}


@dataclass(frozen=True)
class Stored:
    """The stored versions of an agent, and the selectors of the table."""

    api: Api
    versions: dict[str, str | None]
    """The version ids, by text; the code has none."""
    selectors: dict[str, dict[str, str]]


@pytest.fixture
def editor(db: None, settings: Any) -> Api:
    """An editor of the workspace of the code, which defines `answers`; `notes` is only ever stored."""
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    person("erin", default=Role.EDITOR)
    return key_of("erin")


@pytest.fixture
def stored(editor: Api, agent_id: str, state: str) -> Stored:
    """The agent in the state of its row."""
    person("pat", default=Role.PUBLISHER)
    publisher = key_of("pat")
    foreign = AGENTS.make(publisher, "other", "foreign")["resolvedVersionId"]
    versions: dict[str, str | None] = {"code": None}
    for text in STATES[state]:
        if len(versions) == 1:
            versions[text] = AGENTS.make(publisher, agent_id, text, model=ECHO)["resolvedVersionId"]
            label = publisher.put(AGENTS.url(agent_id, "labels", "stable"), {"versionId": versions[text]})
            assert label.status == 200
        else:
            versions[text] = draft(publisher, agent_id, text)
        if text == "published":
            AGENTS.publish(publisher, agent_id, versions[text])
    selectors = {
        "none": {},
        "published": {"status": "published"},
        "draft": {"status": "draft"},
        "exact": {"versionId": versions.get("old", UNKNOWN)},
        "foreign": {"versionId": foreign},
        "unknown": {"versionId": UNKNOWN},
        "label": {"label": "stable"},
    }
    return Stored(api=editor, versions=versions, selectors=selectors)


@pytest.mark.parametrize(("agent_id", "state"), TABLE, ids=str)
def test_every_interface_resolves_the_version_in_the_table(
    stored: Stored, agent_id: str, state: str, subtests: pytest.Subtests
) -> None:
    for selector, expected in zip(SELECTORS, TABLE[agent_id, state], strict=True):
        selected, text = stored.selectors[selector], expected.rstrip("*")
        with subtests.test(selector=selector):
            if text == "-":
                _is_nowhere(stored.api, agent_id, selected)
            else:
                _answers_over_rest(stored, agent_id, selected, text, falls_back="*" in expected)
                _answers_in_python(stored, agent_id, selected, text)
            _answers_as_sub_agent(stored, agent_id, selected, expected)


def _is_nowhere(api: Api, agent_id: str, selected: dict[str, str]) -> None:
    assert ask(api, agent_id, **selected).status == 404
    assert run(api, agent_id, query=selected).status == 404
    with pytest.raises(NotFound):
        get_framework().get_agent_by_id(agent_id, **_arguments(selected))


def _answers_over_rest(
    stored: Stored, agent_id: str, selected: dict[str, str], text: str, *, falls_back: bool
) -> None:
    answer = ask(stored.api, agent_id, **selected)
    assert answer.status == 200, answer.body
    agent = answer.body
    assert (agent["instructions"], agent["resolvedVersionId"]) == (text, stored.versions[text])
    assert agent["activeVersionId"] == stored.versions.get("published")
    assert agent["source"] == ("code" if agent_id == "answers" else "stored")
    assert agent["selector"] == (selected or {"status": "published"})
    assert (agent["fallback"] is not None) == falls_back
    answered = ran(stored.api, agent_id, query=selected)
    assert answered["text"] == f"{text}\n\nhello"
    assert answered["resolvedVersions"] == {agent_id: stored.versions[text]}


def _answers_in_python(stored: Stored, agent_id: str, selected: dict[str, str], text: str) -> None:
    framework = get_framework()
    agent = framework.get_agent_by_id(agent_id, **_arguments(selected))
    if agent_id == "answers" and (not selected or stored.versions[text] is None):
        # Without a selector, or without an applicable override, Python gives the registered agent.
        assert agent is framework.agents["answers"]
        text = "code"
    else:
        assert not isinstance(agent, Agent)
        assert agent.resolved_version_id == stored.versions[text]
    assert agent.instructions == text
    result = agent.generate("hello")
    assert result.text == f"{text}\n\nhello"
    assert result.resolved_versions == {agent_id: stored.versions[text]}


def _answers_as_sub_agent(stored: Stored, agent_id: str, selected: dict[str, str], expected: str) -> None:
    text: str | None = expected
    warns = False
    if expected in {"-", "draft*"}:
        # A missing version: the code is served, or the published version of a stored agent, or nothing.
        published = "published" if "published" in stored.versions else None
        text, warns = ("code" if agent_id == "answers" else published), True
    versions = {"agents": {agent_id: selected}} if selected else {}
    over_rest = ran(stored.api, LEADS[agent_id], versions=versions)
    in_python = get_framework().get_agent_by_id(LEADS[agent_id]).generate("hello", versions=versions)
    assert over_rest["text"] == in_python.text
    assert over_rest["resolvedVersions"] == in_python.resolved_versions
    taking_part = {} if text is None else {agent_id: stored.versions[text]}
    assert over_rest["resolvedVersions"] == {LEADS[agent_id]: None, **taking_part}
    if text is None:
        assert "not available" in over_rest["text"]
    else:
        assert over_rest["text"] == f"lead\n\nhello\n\n{text}\n\nhello"
    assert bool(noticed(over_rest)) == bool(in_python.warnings) == warns


def _arguments(selected: dict[str, str]) -> dict[str, str]:
    return {ARGUMENTS[key]: value for key, value in selected.items()}


@pytest.mark.parametrize(
    ("agent_id", "state", "statuses"),
    [
        ("answers", "both", [200, 200, 403, 403, 404, 404, 403]),
        ("notes", "draft only", [404, 404, 404, 404, 404, 404, 404]),
    ],
    ids=str,
)
def test_a_viewer_gets_published_versions_only(
    stored: Stored, agent_id: str, state: str, statuses: list[int]
) -> None:
    person("vic", default=Role.VIEWER)
    viewer = key_of("vic")
    for selector, status in zip(SELECTORS, statuses, strict=True):
        selected = stored.selectors[selector]
        answer = ask(viewer, agent_id, **selected)
        assert (answer.status, run(viewer, agent_id, query=selected).status) == (status, status), selector
        if status == 200:
            assert answer.body["instructions"] == TABLE[agent_id, state][1]
