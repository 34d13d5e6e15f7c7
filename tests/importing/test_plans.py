"""Plan, then apply: drafts in a release, nothing live, and twice is once."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest
from editor_client.shared import canonical

from tests.importing.conftest import CONFLICTS, DONE, USAGE, Desk, actions, losses
from tests.support.api import AGENTS

SAVED_PROMPT = {
    "openai_prompt_id": "pmpt_abc",
    "name": "Support Bot",
    "production_version": "2",
    "versions": [
        {
            "version": str(number),
            "messages": [
                {"role": "developer", "content": f"Help {{{{customer}}}}, v{number}."},
                {"role": "user", "content": "{{question}}"},
            ],
            "config": {"model": "gpt-4o", "temperature": 0.5, "text": {"format": {"type": "text"}}},
        }
        for number in (10, 1, 2)
    ],
}
AGENT = "support-bot"


@pytest.fixture
def prompt(desk: Desk) -> Any:
    """A saved prompt of OpenAI with three versions, of which the second is live."""
    return desk.write("prompt.json", SAVED_PROMPT)


def test_a_plan_changes_nothing_and_an_import_makes_nothing_live(desk: Desk, prompt: Any) -> None:
    plan = desk.plan("openai", prompt)
    assert actions(plan) == {f"agent {AGENT}": "create"}
    assert losses(plan) == {"input_message", "unknown_member"}
    assert desk.client.list_stored_agents(status="all").total == 0
    desk.apply("--release", "From OpenAI")
    agent = desk.client.get_stored_agent(AGENT)
    record = agent.details(status="draft")
    versions = list(agent.iter_versions())
    assert [one.change_message for one in versions] == [f"OpenAI Support Bot v{one}" for one in (10, 2, 1)]
    assert (record.status, record.name, record.workspace_id) == ("draft", "Support Bot", "acme")
    assert record.instructions == [{"type": "text", "content": "Help {{customer}}, v10."}]
    assert record.model == {"provider": "openai", "name": "gpt-4o"}
    assert record.default_options == {"modelSettings": {"temperature": 0.5}}
    assert record.metadata["import"] == {
        "config": {"text": {"format": {"type": "text"}}},
        "promptId": "pmpt_abc",
    }
    origin = record.metadata["origin"]
    assert (origin["system"], origin["name"], origin["version"]) == ("openai", "Support Bot", "10")
    [release] = desk.client.iter_releases()
    assert (release.title, release.state) == ("From OpenAI", "draft")
    assert [one.version_id for one in release.items_] == [versions[1].id]


def test_twice_is_once(desk: Desk, prompt: Any) -> None:
    desk.imports("openai", prompt)
    before = desk.api.get(f"{AGENTS.path}/{AGENT}", status="draft").body
    desk.apply()
    again = desk.imports("openai", prompt)
    assert actions(again) == {f"agent {AGENT}": "unchanged"}
    assert desk.api.get(f"{AGENTS.path}/{AGENT}", status="draft").body == before
    assert desk.client.list_releases().total == 1


def test_a_later_version_follows_those_that_are_there(desk: Desk, prompt: Any) -> None:
    desk.imports("openai", prompt)
    versions = [{**SAVED_PROMPT["versions"][0], "version": "11"}, *SAVED_PROMPT["versions"]]  # type: ignore[dict-item, list-item, misc]
    versions[0] = {**versions[0], "messages": [{"role": "system", "content": "New."}]}
    prompt.write_text(json.dumps({**SAVED_PROMPT, "versions": versions}))
    plan = desk.imports("openai", prompt)
    assert [one["version"] for one in plan["resources"][0]["versions"]] == ["11"]
    found = list(desk.client.get_stored_agent(AGENT).iter_versions())
    assert (len(found), found[0].instructions) == (4, "New.")
    newest = next(iter(desk.client.iter_releases()))
    assert newest.items_[0].version_id == found[2].id, "the source has version 2 live still"


def test_an_interrupted_import_goes_on_where_it_ended(desk: Desk, prompt: Any) -> None:
    plan = desk.plan("openai", prompt)
    versions = plan["resources"][0]["versions"]
    desk.api.post(
        AGENTS.path,
        {
            "id": AGENT,
            "workspaceId": "acme",
            "autoPublish": False,
            **versions[0]["config"],
            "metadata": {
                "origin": {
                    "system": "openai",
                    "name": "Support Bot",
                    "version": "1",
                    "digest": canonical.digest(versions[0]["config"]),
                }
            },
        },
    )
    desk.apply()
    assert desk.client.get_stored_agent(AGENT).list_versions().total == 3
    assert desk.client.list_releases().total == 1


def test_examples_become_blocks_and_the_question_is_the_input(desk: Desk) -> None:
    said = [("system", "Help."), ("user", "Hi"), ("assistant", "Hello"), ("user", "{{ question }}")]
    messages = [{"role": role, "content": content} for role, content in said]
    first = {"version": "1", "messages": messages, "config": {"reasoning": {"effort": "low"}}}
    versions = [first, {"version": "2", "messages": messages[:1]}]
    plan = desk.plan("openai", desk.write("prompt.json", {**SAVED_PROMPT, "versions": versions}))
    assert losses(plan) == {"message_as_block", "input_message", "earlier_version", "unknown_member"}
    blocks = {f"promptBlock {AGENT}/messages/{place}": "create" for place in ("2-user", "3-assistant")}
    assert actions(plan) == {**blocks, f"agent {AGENT}": "create"}


def test_what_has_an_id_of_the_import_is_left_alone(desk: Desk, prompt: Any) -> None:
    AGENTS.make(desk.api, AGENT, "Mine.", workspaceId="acme")
    plan = desk.plan("openai", prompt, code=CONFLICTS)
    assert actions(plan) == {f"agent {AGENT}": "conflict"}
    desk.apply(code=CONFLICTS)
    assert desk.client.get_stored_agent(AGENT).list_versions().total == 1
    assert actions(desk.plan("openai", prompt, "--prefix", "openai/")) == {f"agent openai/{AGENT}": "create"}


def test_what_was_changed_since_the_plan_is_left_alone(desk: Desk, prompt: Any) -> None:
    desk.plan("openai", prompt)
    AGENTS.make(desk.api, AGENT, "Mine.", workspaceId="acme")
    desk.apply(code=CONFLICTS)
    assert "plan again" in desk.err
    assert desk.client.get_stored_agent(AGENT).details(status="draft").instructions == "Mine."
    assert desk.client.list_releases().total == 0


def test_an_edit_made_here_is_not_undone_by_the_same_file(desk: Desk, prompt: Any) -> None:
    desk.imports("openai", prompt)
    desk.client.get_stored_agent(AGENT).update(instructions="Mine.")
    plan = desk.imports("openai", prompt)
    assert plan["resources"][0]["action"] == "unchanged" and "changed here" in plan["resources"][0]["reason"]
    assert desk.client.get_stored_agent(AGENT).details(status="draft").instructions == "Mine."


def test_two_that_would_be_one_are_refused(desk: Desk, prompt: Any) -> None:
    prompt.write_text(json.dumps([SAVED_PROMPT, SAVED_PROMPT]))
    assert "Two in the source" in desk.refuses("openai", prompt)


def test_a_plan_that_was_changed_is_refused(desk: Desk, prompt: Any) -> None:
    plan = desk.plan("openai", prompt)
    plan["resources"][0]["id"] = "another"
    (desk.folder.parent / "plan.json").write_text(json.dumps(plan))
    desk.apply(code=USAGE)
    assert "planDigest" in desk.err
    (desk.folder.parent / "plan.json").write_text('{"a": 1}')
    desk.apply(code=USAGE)


def test_a_wrong_use_is_refused(desk: Desk) -> None:
    for arguments in [
        ["openai"],
        ["openai", "x.json"],
        ["openai", "x.json", "--plan", "p", "--apply", "p"],
        ["--plan", "p"],
        ["other", "x", "--plan", "p"],
        [],
    ]:
        assert desk.does("import", *arguments) == USAGE


def test_a_viewer_is_refused_by_the_server(desk: Desk, prompt: Any, cast: Any) -> None:
    desk.plan("openai", prompt)
    file = desk.folder.parent / "plan.json"
    assert desk.does("import", "--apply", file, "--api-key", cast.vera.key) == 4
    assert desk.does("import", "--apply", file, "--api-key", "ek_none") == 4
    assert desk.client.list_stored_agents(status="all").total == 0
    assert desk.does("import", "--apply", file, "--api-key", cast.edgar.key) == DONE


def test_a_plan_may_begin_with_a_byte_order_mark(desk: Desk) -> None:
    desk.plan("openai", desk.write("a.json", SAVED_PROMPT))
    file = desk.folder.parent / "plan.json"
    file.write_bytes(codecs.BOM_UTF8 + file.read_bytes())
    desk.apply()
