"""Evidence in the studio: what is missing at the publish button, what it costs, and publishing without it."""

from __future__ import annotations

import re

import pytest

from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentOutcome, Score
from tests.conftest import Cast
from tests.releases.conftest import item, make
from tests.support.api import AGENTS
from tests.support.gates import finish, make_gate, make_scored_dataset, start
from tests.support.studio import PageResponse, Visitor, workspace_page
from versioning.conf import get_editor
from versioning.models import Event

PUBLISH = "/studio/versioning/agent/writer/publish/"
RUN = workspace_page("gates/run")


@pytest.fixture
def dataset(cast: Cast) -> str:
    """A dataset with a gate of an agent that is live, and has a draft."""
    AGENTS.make(cast.alice, autoPublish=True)
    AGENTS.save(cast.edgar, text="Something else")
    dataset = make_scored_dataset(cast.alice)
    make_gate(cast.alice, dataset)
    return dataset


def form_of(shown: PageResponse) -> dict[str, str]:
    """Return the fields of the form that starts what is missing."""
    return {name: shown.field(name) for name in ("kind", "resource", "version", "next")}


def test_what_is_missing_is_said_with_its_cost_and_started_from_the_publish_button(
    cast: Cast, dataset: str
) -> None:
    paula = Visitor("paula")
    shown = paula.get(PUBLISH)
    assert "Not run Writer has not been tested on “Questions” with this change." in shown.text
    assert re.search(r"An experiment is missing: 24 answers, about \d[\d,]* tokens\.", shown.text)
    form = form_of(shown)
    sent = paula.post(RUN, **form)
    assert (sent.status, sent.headers["Location"]) == (302, form["next"])
    running = paula.get(sent.headers["Location"])
    assert "2 evaluations were started." in running.text and "data-moves" in running.markup
    assert running.markup.count("<progress") == 1 and "0 of 12 answers" in running.text
    assert "Run experiment" not in running.text
    candidate = Experiment.objects.exclude(pair_of=None).get()
    assert f"/experiments/{candidate.pk}/" in running.markup
    for one in Experiment.objects.all():
        finish(one.pk, lambda number: number > 0)
    Cell.objects.update(milliseconds=60_000)
    passed = paula.get(PUBLISH)
    assert "Passed Writer was tested on “Questions”, and every rule holds." in passed.text.replace(
        "“ Writer ”", "Writer"
    )
    assert re.search(r": 92% of 12 items passed", passed.text)
    Experiment.objects.update(summary_json="")
    Score.objects.update(passed=False)
    assert "No answer passed Writer was tested on" in paula.get(PUBLISH).text
    assert "cannot be published" not in passed.text
    AGENTS.save(cast.edgar, text="And again")
    assert re.search(r"12 answers, about \d+ tokens, about 3 minutes\.", paula.get(PUBLISH).text)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ExperimentOutcome.CANCELLED, "Incomplete The test of Writer on “Questions” is incomplete"),
        (
            ExperimentOutcome.COMPLETE,
            "Failed Writer was tested on “Questions” and failed the rule “not worse than live”.",
        ),
    ],
)
def test_what_was_run_is_said_and_run_again_where_that_would_help(
    cast: Cast, dataset: str, outcome: ExperimentOutcome, said: str
) -> None:
    draft = {"selector": {"status": "draft"}, "baseline": "published"}
    candidate = Experiment.objects.get(pk=start(cast.edgar, dataset, **draft))
    finish(str(candidate.pair_of_id))
    finish(candidate.pk, lambda _: False)
    Experiment.objects.filter(pk=candidate.pk).update(outcome=outcome)
    shown = Visitor("paula").get(PUBLISH)
    assert said in shown.text and f"/experiments/{candidate.pk}/" in shown.markup
    assert ("Run experiment" in shown.text) == (outcome is ExperimentOutcome.CANCELLED)
    edited = Visitor("edgar").get(PUBLISH.replace("publish", "change"))
    assert said in edited.text and "The missing run" not in edited.text


def test_an_admin_publishes_without_evidence_with_a_reason(cast: Cast, dataset: str) -> None:
    """One form and one reason for all checks that refuse, of which the page says the first."""
    get_editor().review_policy.set("acme", required=1)
    assert 'id="bypass-reason"' not in Visitor("paula").get(PUBLISH).markup
    alice = Visitor("alice")
    shown = alice.get(PUBLISH)
    assert "Publish all the same…" in shown.text
    obstacle = shown.text.partition("This cannot be published yet.")[2]
    assert "One more approval" in obstacle or "Needs one more approval." in obstacle
    assert "has not been tested on" in obstacle[:300]
    codes = re.findall(r'name="overrules" value="(\w+)"', shown.markup)
    assert codes == ["review_required", "evaluation_required"]
    typed = {name: shown.field(name) for name in ("version", "tag")}
    assert alice.post(PUBLISH, **typed, overrules=codes[0], reason="It burns").status == 403
    assert alice.post(PUBLISH, **typed, overrules=codes, reason="It <burns>").status == 302
    assert Event.objects.filter(type__in=["gate.bypassed", "review.bypassed"]).count() == 2
    history = alice.get(PUBLISH.replace("publish", "history")).words
    assert "published it without evidence: “It <burns>”" in history.replace("&lt;", "<").replace("&gt;", ">")


def test_a_release_says_what_its_gates_lack(cast: Cast, dataset: str) -> None:
    release = make(cast.paula, item(AGENTS, "writer"))["id"]
    address, paula = workspace_page(f"releases/{release}"), Visitor("paula")
    shown = paula.get(address)
    assert "An experiment is missing: 24 answers" in shown.text
    sent = paula.post(RUN, release=release, next=address)
    assert sent.headers["Location"] == address and Experiment.objects.count() == 2


def test_who_may_not_save_starts_nothing(cast: Cast, dataset: str) -> None:
    form = form_of(Visitor("paula").get(PUBLISH))
    for name in ("vera", "charlie"):
        assert Visitor(name).post(RUN, **form).status in {403, 404}
    assert not Experiment.objects.exists()
