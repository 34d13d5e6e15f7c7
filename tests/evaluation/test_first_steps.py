"""From a pasted table to a gate: the page of a dataset says what comes next, and leads there."""

from __future__ import annotations

import html
import re

from capabilities.evaluation.experiments.models import Experiment
from tests.conftest import Cast
from tests.support.api import AGENTS, SCORERS
from tests.support.datasets import make_dataset
from tests.support.gates import GATES, finish
from tests.support.scorers import make_scorer
from tests.support.studio import PageResponse, Visitor, workspace_page
from versioning.conf import get_editor

PASTED = "Question 0\tYes\nQuestion 1\tNo"


def next_of(seen: PageResponse) -> str:
    """Return where the step leads that a page shows."""
    found = re.search(r'<section class="notice step".*?href="([^"]+)"', seen.markup, re.DOTALL)
    assert found is not None, seen.text
    return html.unescape(found[1])


def test_a_pasted_table_becomes_a_gate_step_by_step(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    page = workspace_page("datasets/" + make_dataset(cast.alice).rpartition("/")[2])
    paula = Visitor("paula")
    importing = next_of(paula.get(page))
    assert "No column is called Input, Question" in paula.post(importing, pasted=PASTED, do="look").text
    looked = paula.post(importing, pasted=PASTED, first_row="example", do="look")
    assert "2 new items" in looked.text and "No column" not in looked.text
    sent = {name: looked.field(name) for name in ("content", "format")}
    paula.post(importing, **sent, do="import")
    choosing = next_of(paula.get(page))
    assert paula.post(choosing, make="unknown").status == 404
    paula.post(choosing, make="contains-good-answer")
    scorer = cast.alice.get(SCORERS.url("contains-good-answer")).body
    assert scorer["status"] == "published"
    starting = next_of(paula.get(page))
    form = {"agent": "writer", "version": "draft", "attempts": "1"}
    cells = paula.post(starting, **form).field("cells")
    paula.post(starting, **form, cells=cells)
    experiment = Experiment.objects.get()
    assert [one.scorer_id for one in experiment.scorers.all()] == ["contains-good-answer"]
    finish(experiment.pk)
    making = next_of(paula.get(f"{page}experiments/{experiment.pk}/"))
    shown = paula.get(making).markup
    assert 'value="contains-good-answer" checked' in shown and 'value="writer" selected' in shown
    chosen = {
        "agent": "writer",
        "dataset": page.split("/")[-2],
        "scorers": "contains-good-answer",
        "attempts": "1",
        "rule": "notWorse",
        "days": "30",
        "bypass": "admin",
        "enabled": "yes",
    }
    assert (
        "Gate saved. The page for publishing shows"
        in paula.get(paula.post(making, **chosen).headers["Location"]).text
    )
    assert cast.alice.get(GATES).body["total"] == 1
    assert 'class="notice step"' not in paula.get(page).markup


def test_a_scorer_that_nobody_may_publish_alone_stays_a_draft_and_the_gates_say_so(cast: Cast) -> None:
    get_editor().review_policy.set("acme", required=1)
    dataset = make_dataset(cast.alice)
    page = workspace_page(f"datasets/{dataset.rpartition('/')[2]}")
    paula = Visitor("paula")
    made = paula.post(f"{page}scorers/", make="equals-good-answer")
    assert "A gate counts it once it is published." in paula.get(made.headers["Location"]).text
    body = {"workspaceId": "acme", "datasetId": dataset.rpartition("/")[2], "rules": [{"rule": "notWorse"}]}
    assert cast.alice.post(GATES, {**body, "scorerIds": ["equals-good-answer"]}).status == 201
    said = "The scorer Equals the good answer is not published, so no experiment counts yet."
    assert said in paula.get(workspace_page("gates")).text
    make_scorer(cast.alice, "own")
    paula.post(f"{page}scorers/", scorers="own")
    assert cast.alice.get(dataset).body["scorerIds"] == ["own"]
