"""Scorers in the studio: made by choosing a type, edited with settings of that type, and tried."""

from __future__ import annotations

from html import unescape
from typing import Any, get_args

import pytest
from editor_client.shared.scores import ScorerType

from tests.conftest import Cast
from tests.support.api import SCORERS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.scorers import make_scorer
from tests.support.studio import Visitor, controls
from versioning.api.limits import runs


def test_a_scorer_is_made_by_its_type_and_edited(cast: Cast, alice: Api) -> None:
    del cast
    visitor, new = Visitor("alice"), "/studio/evaluation/scorer/add/"
    page = unescape(visitor.get(new).markup)
    assert "Whether the answer is biased (bias, for other runtimes)" in page
    assert (
        "New scorer" in page
        and "A part of the answer matches a pattern (regex)" in page
        and 'name="text"' not in page
    )
    made = {"name": "Polite", "id": "polite", "workspace": "acme", "choice": "regex"}
    page = unescape(visitor.submit(new, **made).markup)
    assert alice.get(SCORERS.url("polite"), status="draft").body["config"] == {"pattern": "."}
    assert 'name="config.parts.pattern"' in page and "Instructions of the judge" not in page
    version = SCORERS.versions(alice, "polite")[0]["id"]
    page = unescape(visitor.get(f"/studio/evaluation/scorer/polite/versions/{version}/").markup)
    assert "A part of the answer matches a pattern (regex)" in page  # the value in words, as in the form
    assert visitor.submit(new, **{**made, "id": "other", "choice": "guess"}).status == 400
    judge = {**made, "name": "Judge", "id": "judge", "choice": "llm-judge"}
    assert "Instructions of the judge" in unescape(visitor.submit(new, **judge).markup)
    for kind in get_args(ScorerType):  # the edit page of some is opened below
        follow = kind not in {example[0] for example in EXAMPLES}
        form = {**made, "id": kind.lower(), "choice": kind}
        assert visitor.post(new, form, follow=follow).status == (200 if follow else 302)


CHANGE = "/studio/evaluation/scorer/exact/change/"


def typed(visitor: Visitor) -> dict[str, str]:
    """Return what the form of the edit page sends, by the names of its controls."""
    return controls(visitor.get(CHANGE).markup, "edit-form")


CHOICES = [
    {"label": "good", "score": 1, "passes": True},
    {"label": "bad", "score": 0.5, "passes": False},
]
Example = tuple[str, dict[str, Any], dict[str, str], dict[str, Any]]
EXAMPLES: list[Example] = [
    (
        "equals",
        {"value": "12", "trim": False},
        {"value": "", "ignoreCase": "true"},
        {"trim": False, "ignoreCase": True},
    ),
    (
        "contains",
        {"values": ["a", "b"]},
        {"values": "a\nc", "mode": "any"},
        {"values": ["a", "c"], "mode": "any"},
    ),
    (
        "jsonSchema",
        {"schema": {"type": "object"}},
        {"schema": '{"type": "string"}'},
        {"schema": {"type": "string"}},
    ),
    ("numeric", {}, {"value": "7", "tolerance": "0.5"}, {"value": 7, "tolerance": 0.5}),
    (
        "calledTool",
        {"name": "find"},
        {"args": '{"n": 1}', "not": "true"},
        {"name": "find", "args": {"n": 1}, "not": True},
    ),
    ("maxTokens", {"value": 5}, {"value": "6"}, {"value": 6}),
    (
        "llm-judge",
        {"choices": CHOICES},
        {"choices.2.label": "ugly", "choices.2.score": "0", "choices.2.passes": "false"},
        {"choices": [*CHOICES, {"label": "ugly", "score": 0, "passes": False}]},
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[0])
@pytest.mark.usefixtures("cast")
def test_the_settings_of_a_type_have_controls(alice: Api, example: Example) -> None:
    sort, config, parts, after = example
    made = make_scorer(alice, type=sort, config=config)
    visitor = Visitor("edgar")
    form = typed(visitor)
    visitor.post(CHANGE, **form)
    same = alice.get(SCORERS.url("exact"), status="draft").body
    assert same["latestVersionId"] == made["latestVersionId"]
    visitor.post(CHANGE, **form | {f"config.parts.{name}": text for name, text in parts.items()})
    assert alice.get(SCORERS.url("exact"), status="draft").body["config"] == after


def test_settings_without_controls_of_their_own_are_json(cast: Cast, alice: Api) -> None:
    del cast
    make_scorer(alice, type="contains", config={"values": ["two\nlines"]})
    visitor = Visitor("edgar")
    form = typed(visitor)
    assert "config.json" in form
    visitor.post(CHANGE, **form | {"config.json": '{"values": ["one"]}'})
    assert alice.get(SCORERS.url("exact"), status="draft").body["config"] == {"values": ["one"]}
    form = typed(visitor)
    assert "config.parts.values" in form
    refused = visitor.post(CHANGE, **form | {"config.parts.values": ""})
    assert refused.status == 400
    other = visitor.post(CHANGE, **form | {"type": "regex"})
    assert other.status == 400 and 'name="config.parts.pattern"' in other.markup


TRY = "/studio/evaluation/scorer/exact/try-scorer/"


def test_in_german_the_activity_declines_a_scorer(cast: Cast, alice: Api) -> None:
    del cast
    make_scorer(alice, "polite")
    assert alice.patch(SCORERS.url("polite"), {"config": {"ignoreCase": True}}).status == 200
    client = Visitor("edgar")
    said = client.get("/studio/activity/", headers={"Accept-Language": "de"}).words
    assert "des Scorers Polite" in said


def test_a_scorer_is_tried_on_an_item(cast: Cast, alice: Api) -> None:
    del cast
    make_scorer(alice)
    item = add_item(alice, make_dataset(alice), input="Where?", groundTruth={"a": 1}, metadata={"n": 1})
    visitor = Visitor("edgar")
    assert "Questions" in visitor.get(TRY).words
    chosen = {"dataset": item["datasetId"]}
    assert "Where?" in visitor.get(TRY, **chosen).words
    page = unescape(visitor.get(TRY, **chosen, item=item["id"]).markup)
    assert '{"a":1}</textarea>' in page and '"n": 1' in page
    scored = visitor.submit(TRY, input="Where?", output='{"a": 1.0}', ground_truth='{"a":1}').words
    assert "Score 1.0" in scored and " passed " in scored
    assert "not passed" in visitor.submit(TRY, output="b", ground_truth="c").words
    assert "This answer can’t be scored." in visitor.submit(TRY, output="b").words
    for no_object in ("{", "[]"):
        assert visitor.post(TRY, output="a", metadata=no_object).status == 400


def test_a_busy_server_says_so_on_the_page(cast: Cast, alice: Api, settings: Any) -> None:
    del cast
    make_scorer(alice)
    settings.EDITOR_RUN_THREADS = 1
    places = [runs.join(), runs.join()]
    answer = Visitor("edgar").post(TRY, output="b", ground_truth="c")
    assert answer.status == 503 and "The server is busy" in answer.words
    for place in places:
        place.leave()


def test_viewers_are_not_offered_to_try_a_scorer(cast: Cast, alice: Api) -> None:
    del cast
    SCORERS.publish(alice, "exact", make_scorer(alice)["latestVersionId"])
    assert "Try" not in Visitor("vera").get("/studio/evaluation/scorer/exact/change/").words
