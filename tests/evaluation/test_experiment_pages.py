"""Experiments in the studio: the list, the form that starts one, its page, and who sees them."""

from __future__ import annotations

import re

import pytest

from capabilities.evaluation.experiments import results
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentOutcome
from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.datasets import make_dataset
from tests.support.gates import finish, make_scored_dataset, start
from tests.support.studio import Visitor, workspace_page
from versioning.models import events

FORM = {"agent": "writer", "version": "draft", "baseline": "published", "attempts": "2", "scorers": "exact"}


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    """An editor at the studio."""
    del cast
    return Visitor("edgar")


def page_of(dataset: str, *rest: str) -> str:
    """Return the address of a page about the experiments over a dataset."""
    return workspace_page("/".join(["datasets", dataset.removeprefix("/datasets/"), "experiments", *rest]))


def test_an_experiment_is_started_once_it_was_said_how_much_it_is(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice, autoPublish=True)
    AGENTS.save(alice, text="Something else")
    dataset = make_scored_dataset(alice, items=3)
    assert "There is no experiment yet" in edgar.get(page_of(dataset)).words
    said = edgar.submit(page_of(dataset, "add"), **FORM)
    assert re.search(r"Estimate: 12 answers, about \d+ tokens", said.words)
    assert "Items: 3, attempts for each: 2, and the same for the live version. 1 scorer" in said.words
    assert not Experiment.objects.exists()
    [cells] = re.findall(r'name="cells" value="(\d+)"', said.markup)
    more = edgar.submit(page_of(dataset, "add"), **{**FORM, "attempts": "3"}, cells=cells).words
    assert "Estimate: 18 answers" in more and not Experiment.objects.exists()
    shown = edgar.submit(page_of(dataset, "add"), **FORM, cells=cells)
    assert "0 done, 0 failed, 0 skipped, 6 queued" in shown.words
    candidate = Experiment.objects.exclude(pair_of=None).get()
    assert [one.scorer_id for one in candidate.scorers.all()] == ["exact"]
    listed = edgar.get(page_of(dataset)).words
    assert listed.count("0 done, 0 failed, 0 skipped, 6 queued") == 2


WRONG: list[tuple[dict[str, str], str]] = [
    ({"agent": "nobody"}, "Select a valid choice"),
    ({"attempts": "0"}, "greater than or equal to 1"),
    ({"baseline": "published"}, "nothing to compare"),
]


def test_what_cannot_be_started_is_said(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    dataset = make_scored_dataset(alice, items=1)
    for wrong, why in WRONG:
        answer = edgar.post(page_of(dataset, "add"), {**FORM, "baseline": "", **wrong})
        assert (answer.status, why in answer.words) == (400, True), answer.words


def test_a_dataset_without_items_starts_nothing(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    form = {"agent": "writer", "version": "draft", "attempts": "1"}
    answer = edgar.post(page_of(make_dataset(alice), "add"), form)
    assert answer.status == 400 and "the dataset has no items yet" in answer.words


def test_the_page_shows_answers_with_their_scores(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    dataset = make_scored_dataset(alice, items=4)
    experiment = finish(start(alice, dataset, selector={"status": "draft"}), lambda number: number > 0)
    page = edgar.get(page_of(dataset, experiment)).words
    assert "4 done, 0 failed" in page and "75% (95% CI 30–95%)" in page  # noqa: RUF001
    assert "Question 3 Good answer Answer 3 x Exact 1.0 passed" in page and "x Exact 0.0 not passed" in page
    assert "75% (95% CI 30–95%)" in edgar.get(page_of(dataset)).words  # noqa: RUF001


def compare(alice: Api, edgar: Visitor, items: int) -> tuple[str, str]:
    """Run a draft, which fails on three items, beside what is live; return the address and the page."""
    AGENTS.make(alice, autoPublish=True)
    AGENTS.save(alice, text="Something else")
    dataset = make_scored_dataset(alice, items=items)
    candidate = start(alice, dataset, selector={"status": "draft"}, baseline="published")
    address = page_of(dataset, candidate)
    assert "once both have ended" in edgar.get(address).words
    finish(str(Experiment.objects.get(pk=candidate).pair_of_id))
    finish(candidate, lambda number: number >= 3)
    Cell.objects.filter(experiment=candidate).update(output_json='"x and y"')
    return address, edgar.get(address).words


def test_a_comparison_begins_with_what_it_says(edgar: Visitor, alice: Api) -> None:
    address, page = compare(alice, edgar, 50)
    assert re.search(
        r"Better on 0, worse on 3, same on 47; a drop of \d+ points or more would have been", page
    )
    assert "No difference was found" in page and "Page 1 of 3" in page
    score = r"worse Exact ?: passed → not passed"
    score += r" (Question \d+) Good answer (Answer \d+)"
    assert sorted(re.findall(score, page)) == [(f"Question {one}", f"Answer {one}") for one in range(3)]
    assert "<ins>" in edgar.get(address).markup
    assert "→ not passed" not in edgar.get(address, page="3").words
    assert "x and y Exact 1.0 passed" in edgar.get(address, show="results").words


def test_items_that_got_better_come_before_those_without_a_difference(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice, autoPublish=True)
    AGENTS.save(alice, text="Something else")
    dataset = make_scored_dataset(alice, items=6)
    candidate = start(alice, dataset, selector={"status": "draft"}, baseline="published")
    finish(str(Experiment.objects.get(pk=candidate).pair_of_id), lambda number: number != 4)
    finish(candidate, lambda number: number != 2)
    found = re.findall(
        r"(the same|better|worse) Exact ?: (\w+ ?\w*) →", edgar.get(page_of(dataset, candidate)).words
    )
    assert found[:2] == [("worse", "passed"), ("better", "not passed")]
    assert [outcome for outcome, _before in found[2:]] == ["the same"] * 4


def test_the_activity_says_once_how_an_experiment_ended(edgar: Visitor, alice: Api) -> None:
    compare(alice, edgar, 12)
    for row in Experiment.objects.order_by("created_at"):
        with events.transaction():
            results.finish(row, ExperimentOutcome.COMPLETE)
    page = edgar.get("/studio/activity/").words
    found = re.findall(r"The (experiment|baseline) \S[^()]*(\([^)]*\)) has ended", page)
    assert sorted(found) == [
        ("baseline", "(100% passed)"),
        ("experiment", "(75% passed, baseline 100%)"),
    ]


def test_a_comparison_of_few_items_says_so(edgar: Visitor, alice: Api) -> None:
    _, page = compare(alice, edgar, 4)
    assert "Better on 0, worse on 3, same on 1. Not enough items to tell." in page
    assert "would have been noticed" not in page


def test_a_comparison_that_finds_nothing_says_what_more_items_would_show(edgar: Visitor, alice: Api) -> None:
    _, page = compare(alice, edgar, 12)
    assert "How many items you need Items Detectable drop, in points 10 73" in page


def test_pairs_are_judged_without_knowing_which_is_which(edgar: Visitor, alice: Api) -> None:
    address, page = compare(alice, edgar, 3)
    assert "Blind comparison" in page
    candidate = Experiment.objects.exclude(pair_of=None).get()
    Cell.objects.filter(experiment=candidate).update(output_digest="other")
    for number in range(1, 4):
        shown = edgar.get(f"{address}blind/").markup
        assert f"{number} of 3" in shown and candidate.pk not in shown.replace(address, "")
        [item] = re.findall(r'name="item" value="([^"]+)"', shown)
        here = re.search(r'id="side-([AB])">[AB]</h3>\s*<div class="text">x and y<', shown)
        assert here is not None
        better = here[1].lower() if number < 3 else "same"
        assert edgar.post(f"{address}blind/", {"item": item, "better": better}).status == 302
    said = "Preferred on 2, not on 0, no difference on 1. Not enough items to tell."
    assert said in edgar.get(f"{address}blind/").words and said in edgar.get(address).words
    labels = alice.get("/labels", experimentId=candidate.pk, name="preferred").body["labels"]
    assert sorted(one["value"] for one in labels) == sorted([candidate.pk, candidate.pk, "same"])
    assert edgar.post(f"{address}blind/", {"item": item, "better": "c"}).status == 404


def test_an_experiment_is_stopped_and_goes_on(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    dataset = make_scored_dataset(alice, items=2)
    experiment = start(alice, dataset, start=True, selector={"status": "draft"})
    address = page_of(dataset, experiment)
    assert "data-moves" in edgar.get(address).markup
    stopped = edgar.submit(address, do="cancel")
    assert "cancelled" in stopped.words and "2 skipped, 0 queued" in stopped.words
    assert "data-moves" not in stopped.markup
    assert "0 skipped, 2 queued" in edgar.submit(address, do="resume").words
    assert edgar.post(address, {"do": "explode"}).status == 404


def test_an_experiment_is_found_below_its_own_dataset_only(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    dataset = make_scored_dataset(alice, items=2)
    experiment = start(alice, dataset, selector={"status": "draft"})
    assert edgar.get(page_of(make_dataset(alice, "Other"), experiment)).status == 404


@pytest.mark.database
def test_pages_name_what_was_tested_and_with_what_it_is_compared(edgar: Visitor, alice: Api) -> None:
    address, page = compare(alice, edgar, 12)
    assert "Writer, version 2 vs. version 1 complete Tested Writer , version 2 Baseline version 1" in page
    assert "Dataset Questions, version 1 Deciding scorer Exact Answers 12 per version: 12 done" in page
    assert re.search(r"Pass rate: version 2 Baseline: version 1 Exact 75% \([^)]+\) 100% \([^)]+\)", page)
    baseline = Experiment.objects.get(pair_of=None)
    candidate = Experiment.objects.get(pair_of=baseline)
    its_page = edgar.get(address.replace(candidate.pk, baseline.pk)).words
    assert "Writer, version 1 complete Baseline Tested Writer , version 1 Dataset" in its_page
    for listed in ("/studio/experiments/", page_of(f"/datasets/{baseline.dataset_id}")):
        rows = edgar.get(listed).words
        assert "Writer, version 2 vs. version 1" in rows and "Writer, version 1 Baseline" in rows
    told = Visitor("alice").get(workspace_page("activity")).words
    assert "the experiment Writer, version 2 vs. version 1 on “Questions”" in told


def test_a_new_experiment_begins_in_the_list_of_all(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice)
    assert 'href="/studio/experiments/add/' in edgar.get("/studio/experiments/").markup
    assert "no dataset with items yet" in edgar.get("/studio/experiments/add/").words
    one = make_scored_dataset(alice, items=1)
    led = edgar.get("/studio/experiments/add/", {"agent": "writer"})
    assert (led.status, led.location) == (302, f"{page_of(one, 'add')}?agent=writer")
    other = make_dataset(alice, "Others")
    assert alice.post(f"{other}/items", {"input": "a"}).status == 201
    chosen = edgar.get("/studio/experiments/add/").markup
    assert page_of(one, "add") in chosen and page_of(other, "add") in chosen
    assert Visitor("vera").get("/studio/experiments/add/").status == 403
