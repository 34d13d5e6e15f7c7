"""Gates in the studio: the list, the form, and who sees and writes them."""

from __future__ import annotations

import html
import re

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.gates import GATES, make_gate, make_scored_dataset
from tests.support.studio import Visitor, workspace_page

FORM = {
    "scorers": "exact",
    "primary": "",
    "attempts": "1",
    "rule": "passRate",
    "number": "90",
    "days": "7",
    "bypass": "nobody",
    "enabled": "yes",
}


@pytest.fixture
def dataset(alice: Api) -> str:
    """A dataset of twelve items, beside an agent."""
    AGENTS.make(alice)
    return make_scored_dataset(alice)


def typed(dataset: str, **changes: str) -> dict[str, str]:
    return {**FORM, "dataset": dataset.rpartition("/")[2], **changes}


def test_a_gate_is_made_changed_and_deleted(cast: Cast, alice: Api, dataset: str) -> None:
    paula = Visitor("paula")
    assert "There is no gate yet" in paula.get(workspace_page("gates")).words
    warned = paula.submit(workspace_page("gates/add"), **typed(dataset, agent="writer"))
    said = "The dataset has 12 items. If 90% of them pass, the true share lies between 63 and 98%"
    assert said in warned.words and "50 between 79 and 96%" in warned.words
    # The browser leads to the warning, and the button says what it does.
    assert 'tabindex="-1" data-answer' in warned.markup
    assert "Create gate anyway" in warned.words and "Create gate Cancel" not in warned.words
    assert alice.get(GATES).body["gates"] == []
    [seen] = re.findall(r'name="warned" value="([^"]*)"', warned.markup)
    again = typed(dataset, agent="writer", warned=html.unescape(seen))
    made = paula.submit(workspace_page("gates/add"), **again).words
    assert "at least 90% of the items pass" in made and said in made
    assert "is not published" not in made
    [gate] = alice.get(GATES).body["gates"]
    assert (gate["rules"], gate["evidenceDays"], gate["bypass"], gate["primaryScorer"]) == (
        [{"rule": "passRate", "min": 0.9}],
        7,
        "nobody",
        "exact",
    )
    address = workspace_page(f"gates/{gate['id']}")
    assert "Gate for Writer" in paula.get(address).words and "Save gate Cancel" in paula.get(address).words
    assert re.search(r">Writer<|<bdi>Writer</bdi>", paula.get(workspace_page("gates")).markup)
    assert 'value="90.0"' in paula.get(address).markup
    changed = paula.submit(address, **typed(dataset, rule="notWorse", number="", enabled="no"))
    assert "the true share" not in changed.words
    [gate] = alice.get(GATES).body["gates"]
    assert (gate["rules"], gate["enabled"]) == ([{"rule": "notWorse"}], False)
    assert "without this evidence" in paula.get(f"{address}delete/").words
    paula.post(f"{address}delete/")
    assert alice.get(GATES).body["gates"] == []


def test_rules_that_the_form_cannot_say_stay(cast: Cast, alice: Api, dataset: str) -> None:
    rules = [{"rule": "allPass", "tag": "must"}, {"rule": "notWorse"}]
    gate = make_gate(alice, dataset, rules=rules)
    address = workspace_page(f"gates/{gate['id']}")
    said = "every item with the tag must passes, in every attempt + it is not found"
    assert said in Visitor("paula").get(address).words
    Visitor("paula").post(address, **typed(dataset, rule="kept", number="", attempts="2"))
    [gate] = alice.get(GATES).body["gates"]
    assert (gate["rules"], gate["attempts"]) == (rules, 2)


WRONG: list[dict[str, str]] = [
    {"number": ""},
    {"number": "101"},
    {"rule": "maxTokens", "number": "0"},
    {"primary": "x"},
    {"days": "0"},
]


def test_what_cannot_be_asked_is_refused(cast: Cast, alice: Api, dataset: str) -> None:
    for wrong in WRONG:
        form = typed(dataset, agent="writer", **wrong)
        assert Visitor("paula").post(workspace_page("gates/add"), form).status == 400
        assert alice.get(GATES).body["gates"] == []


def test_the_scorers_of_the_dataset_are_chosen_and_one_is_needed(cast: Cast, alice: Api) -> None:
    AGENTS.make(alice)
    empty = alice.post("/datasets", {"name": "A", "workspaceId": "acme"}).body["id"]
    none = Visitor("paula").get(workspace_page("gates/add"))
    assert "No scorer yet. Choose one." in none.words and f"{empty}/scorers/" in none.markup
    dataset = make_scored_dataset(alice, scorerIds=["exact"])
    chosen = re.compile(r'name="scorers" value="exact"( checked)?>')
    dataset_id = dataset.rpartition("/")[2]
    for query, expected in (({}, ""), ({"dataset": dataset_id}, " checked"), ({"dataset": empty}, "")):
        form = Visitor("paula").get(workspace_page("gates/add"), **query).markup
        assert chosen.findall(form) == [expected], query
    alice.delete(f"/datasets/{empty}")
    form = Visitor("paula").get(workspace_page("gates/add")).markup
    assert chosen.findall(form) == [" checked"]
    sent = {name: value for name, value in typed(dataset, agent="writer").items() if name != "scorers"}
    answer = Visitor("paula").post(workspace_page("gates/add"), sent)
    assert answer.status == 400 and "Choose at least one scorer." in answer.words


def test_the_form_begins_with_what_matters_and_opens_the_rest_for_errors(
    cast: Cast, alice: Api, dataset: str
) -> None:
    form = Visitor("paula").get(workspace_page("gates/add")).markup
    names = re.findall(r'name="(agent|dataset|scorers|rule|number|tag|primary|attempts|enabled)"', form)
    assert list(dict.fromkeys(names)) == [
        *("agent", "dataset", "scorers", "rule", "number", "tag", "primary", "attempts", "enabled")
    ]
    more = re.compile(r'<details class="field"( open)?>\s*<summary class="link">More settings')
    assert more.findall(form) == [""]
    wrong = typed(dataset, agent="writer", days="0")
    answer = Visitor("paula").post(workspace_page("gates/add"), wrong)
    assert more.findall(answer.markup) == [" open"]


def test_roles_decide_who_sees_and_writes_gates(cast: Cast, alice: Api, dataset: str) -> None:
    gate = make_gate(alice, dataset, None)
    listed, own = workspace_page("gates"), workspace_page(f"gates/{gate['id']}")
    pages = [listed, own, f"{own}delete/", workspace_page("gates/add")]
    assert [Visitor("edgar").get(page).status for page in pages] == [200, 403, 403, 403]
    for_all = typed(dataset, agent="", rule="notWorse", number="")
    paula = Visitor("paula")
    assert paula.post(workspace_page("gates/add"), for_all).status in {400, 403}
    assert paula.post(own, typed(dataset, rule="notWorse", number="")).status == 403
    assert Visitor("alice").post(workspace_page("gates/add"), for_all).status == 302
    elsewhere = own.replace("/acme/", "/globex/")
    assert Visitor("alice").get(elsewhere).status == 404
