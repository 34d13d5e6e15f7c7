"""What pickers offer, and what the form refuses: ids that lead nowhere, if they were typed now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.calls import undone
from tests.support.people import give_role, person
from tests.support.served import reference, text
from tests.support.studio import Visitor, page_of

PEOPLE = "/studio/people/"


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    AGENTS.make(cast.alice, "writer", [text("Be brief."), reference("missing")])  # type: ignore[arg-type]
    PROMPT_BLOCKS.make(cast.alice, "team/tone", "Be kind.", name="Tone of voice")
    PROMPT_BLOCKS.make(cast.charlie, "theirs", "Secret plan", workspaceId="elsewhere")
    return Visitor("edgar")


def choices(of: Visitor, wanted: str, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(of.get(page_of(AGENTS, "choices"), of=wanted, **query).content)[
        "choices"
    ]
    return found


def people(name: str, **query: str) -> list[str]:
    return [one["id"] for one in Visitor(name).get(PEOPLE, query).json()["choices"]]


def block(place: str, block_id: str) -> dict[str, str]:
    row = f"instructions.blocks.{place}"
    return {f"{row}.type": "prompt_block_ref", f"{row}.id": block_id}


def test_a_typed_block_that_leads_nowhere_is_refused_at_its_field(edgar: Visitor) -> None:
    form = edgar.form(AGENTS) | block("n1", "team/tone")
    for unknown in ("nothing", "theirs", "Tone of voice", "<b>"):
        refused = edgar.post(page_of(AGENTS, "change"), form | block("n2", unknown))
        page = refused.markup
        assert refused.status == 400
        assert f"There is no prompt block with the id {unknown} that you may use here" in refused.words
        assert 'aria-describedby="error-instructions.blocks.n2.id"' in page and "<b>" not in page
        assert 'id="error-instructions.blocks.0.id"' not in page and "Secret plan" not in page


def test_what_was_stored_before_may_lead_nowhere(cast: Cast, edgar: Visitor) -> None:
    assert edgar.save(AGENTS, description="Changed").status == 302
    moved = edgar.form(AGENTS) | block("n1", "missing")
    assert edgar.post(page_of(AGENTS, "change"), moved).status == 302
    body = cast.alice.get(AGENTS.url("writer"), status="draft").body
    assert [one.get("id") for one in body["instructions"]] == [None, "missing", "missing"]


def test_sub_agents_are_refused_in_fields_variants_and_json(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice, "helper")
    form = edgar.form(AGENTS)
    sentence = "here is no agent with the id nobody that you may use here"
    for typed in (
        {"agents.as": "controls", "agents.offered.n1.key": "nobody"},
        {"agents.as": "variants", "agents.variants.n1.value.offered.n2.key": "nobody"},
        {"agents.as": "json", "agents.json": '{"helper": {}, "nobody": {}}'},
    ):
        refused = edgar.post(page_of(AGENTS, "change"), form | typed)
        assert refused.status == 400 and sentence in refused.words, typed
        good = {name: value.replace("nobody", "helper") for name, value in typed.items()}
        if "json" not in typed["agents.as"]:
            with undone():
                assert edgar.post(page_of(AGENTS, "change"), form | good).status == 302
    for broken in ("[1]", '"text"', "[{}]", '{"a": 1}'):
        typed = {"agents.as": "json", "agents.json": broken}
        assert edgar.post(page_of(AGENTS, "change"), form | typed).status == 400


def test_a_choice_has_its_name_state_folder_and_the_beginning_of_its_text(cast: Cast, edgar: Visitor) -> None:
    [found] = choices(edgar, "prompt", q="voice")
    assert (found["id"], found["name"], found["folder"]) == ("team/tone", "Tone of voice", "team/")
    assert (found["state"], found["preview"]) == ("Never published", "Be kind.")
    assert choices(edgar, "prompt", q="Secret") == choices(edgar, "prompt", q="theirs") == []


def test_tools_and_models_are_those_that_agents_of_the_workspace_use(
    cast: Cast, edgar: Visitor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"provider": "openai", "name": "gpt-in-use"}
    AGENTS.make(cast.alice, "helper", name="Helper", tools={"look-up": {}}, model=model)
    varying = [{"value": {"provider": "anthropic", "name": "claude-in-use"}}]
    AGENTS.make(cast.alice, "other", model=varying)
    AGENTS.make(cast.charlie, "foreign", workspaceId="elsewhere", tools={"secret-tool": {}})
    [tool] = choices(edgar, "tool", q="LOOK")
    assert (tool["id"], tool["preview"]) == ("look-up", "used in Helper")
    assert choices(edgar, "tool", q="secret") == []
    assert {one["id"] for one in choices(edgar, "model", q="in-use")} == {"gpt-in-use", "claude-in-use"}
    assert [one["id"] for one in choices(edgar, "model", provider="openai")] == ["gpt-in-use"]
    assert [one["id"] for one in choices(edgar, "provider", q="anthr")] == ["anthropic"]
    settings.EDITOR_PROVIDERS = {"vllm-a": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    offered = {one["id"]: one["preview"] for one in choices(edgar, "provider")}
    assert list(offered)[:1] == ["echo"] and offered["vllm-a"] == "ready"
    [lacking] = choices(edgar, "provider", q="deepseek")
    assert lacking["preview"] == "DEEPSEEK_API_KEY is not set"
    assert '<option value="vllm-a">ready</option>' in edgar.get(page_of(AGENTS, "change")).markup
    # Others can be typed: programs may have tools and models that nothing here names.
    typed = {"model.provider": "openai", "model.name": "brand-new", "tools.offered.n1.key": "brand-new"}
    assert edgar.post(page_of(AGENTS, "change"), edgar.form(AGENTS) | typed).status == 302


def test_what_no_run_can_use_is_named_after_a_save_and_before_publishing(cast: Cast, edgar: Visitor) -> None:
    typed = {"model.provider": "opnai", "model.name": "m"}
    assert edgar.post(page_of(AGENTS, "change"), edgar.form(AGENTS) | typed).status == 302
    warning = "There is no provider “opnai”. Do you mean “openai”?"
    assert warning in edgar.get(page_of(AGENTS, "change")).words
    assert warning in Visitor("paula").get("/studio/versioning/agent/writer/publish/").text


def test_people_are_found_by_their_names_within_the_workspace(cast: Cast) -> None:
    User.objects.filter(username="paula").update(first_name="Grace", last_name="Hopper")
    assert people("edgar", workspace="acme") == ["alice", "edgar", "paula"]
    assert people("edgar", workspace="acme", q="HOP grace") == ["paula"]
    assert people("edgar", workspace="acme", q="%") == people("edgar", workspace="acme", q="x" * 200) == []
    User.objects.filter(username="paula").update(is_active=False)
    assert people("edgar", workspace="acme", q="paul") == []
    for name, workspace in (("vera", "acme"), ("charlie", "acme"), ("edgar", "elsewhere"), ("edgar", "\x00")):
        answer = Visitor(name).get(PEOPLE, {"workspace": workspace})
        assert answer.status in {403, 404} and "paula" not in answer.markup


def test_only_people_of_shared_workspaces_are_offered_to_be_invited(cast: Cast) -> None:
    give_role("alice", "elsewhere", "editor")
    person("dora", elsewhere="viewer")
    assert people("alice", inviting="acme") == ["charlie", "dora"]
    give_role("alice", "elsewhere", "viewer")
    assert people("alice", inviting="acme") == []
    for name in ("paula", "charlie"):
        assert Visitor(name).get(PEOPLE, {"inviting": "acme"}).status in {403, 404}
