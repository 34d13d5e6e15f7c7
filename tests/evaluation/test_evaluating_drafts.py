"""A version is evaluated from the pages about it, and its result is shown next to the button *Publish*."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from capabilities.evaluation.experiments.models import Experiment
from capabilities.evaluation.studio.base import agent_choices, agent_names
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.gates import finish, make_gate, make_scored_dataset, start
from tests.support.override_files import define
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION

PAGES = "/studio/versioning/agent/writer"
PUBLISH, EVALUATE = f"{PAGES}/publish/", f"{PAGES}/evaluate/"


def candidate() -> Experiment:
    """Return the experiment that was started last and has a baseline."""
    return Experiment.objects.exclude(pair_of=None).latest("created_at")


def make_evaluated(cast: Cast) -> str:
    """Make an agent that is live and has a draft, evaluated once before; return the path of the dataset."""
    AGENTS.make(cast.alice, autoPublish=True)
    dataset = make_scored_dataset(cast.alice)
    finish(start(cast.alice, dataset, attempts=2, requestContext={"tier": "gold"}))
    AGENTS.save(cast.edgar, text="Something else")
    return dataset


@pytest.mark.database
def test_a_draft_is_evaluated_with_one_click_and_its_result_stands_on_the_publish_page(cast: Cast) -> None:
    make_evaluated(cast)
    paula = Visitor("paula")
    shown = paula.get(PUBLISH)
    assert "Evaluate this draft on “Questions” (12 items), compared with the live version" in shown.text
    sent = paula.post(EVALUATE, version=shown.field("version"), next=shown.field("next"))
    assert (sent.status, sent.headers["Location"]) == (302, PUBLISH)
    row = candidate()
    assert (row.version_id, row.attempts, row.request_context) == (
        shown.field("version"),
        2,
        {"tier": "gold"},
    )
    assert [one.scorer_id for one in row.scorers.all()] == ["exact"]
    running = paula.get(PUBLISH)
    assert "Evaluation started." in running.text and "data-moves" in running.markup
    assert "Evaluating on “Questions”: 0 of 24 answers." in running.text
    assert "Evaluate this draft" not in running.text
    finish(str(row.pair_of_id))
    finish(row.pk, lambda number: number > 2)
    said = paula.get(PUBLISH).text
    assert "9 of 12 items passed on “Questions”. Better on 0, worse on 3, same on 9" in said
    assert "No difference was found" in said and "Evaluate this draft" in said
    cast.alice.post(f"/datasets/{row.dataset_id}/items", {"input": "More 1", "groundTruth": "x"})
    assert "The dataset has changed since." in paula.get(PUBLISH).text


def test_an_editor_evaluates_while_saving_and_sees_the_experiment(cast: Cast) -> None:
    make_evaluated(cast)
    edgar = Visitor("edgar")
    page = edgar.get(f"{PAGES}/change/")
    assert "Evaluate this draft" in page.text
    fields = {name: page.field(name) for name in ("tag", "base")}
    sent = edgar.post(f"{PAGES}/change/", **fields, name="Renamed", then="evaluate")
    row = candidate()
    assert sent.headers["Location"].endswith(f"/experiments/{row.pk}/")
    assert AGENTS.versions(cast.edgar)[0]["id"] == row.version_id


def test_the_menu_of_the_edit_page_saves_before_a_dataset_is_chosen(cast: Cast) -> None:
    dataset = make_evaluated(cast)
    edgar = Visitor("edgar")
    page = edgar.get(f"{PAGES}/change/")
    button = '<button type="submit" form="edit-form" name="then" value="choose-dataset">Evaluate…</button>'
    assert button in page.markup
    assert not [link for link in page.links if link.startswith(EVALUATE)]
    fields = {name: page.field(name) for name in ("tag", "base")}
    sent = edgar.post(f"{PAGES}/change/", **fields, name="Renamed", then="choose-dataset")
    saved = AGENTS.versions(cast.edgar)[0]["id"]
    assert sent.headers["Location"] == f"{EVALUATE}?version={saved}" and saved != page.field("base")
    form = edgar.get(edgar.get(sent.headers["Location"]).headers["Location"])
    assert f'<option value="{saved}" selected>' in form.markup and dataset
    assert f"{EVALUATE}?version={saved}" in edgar.get(f"{PAGES}/history/").links


def test_what_is_live_is_evaluated_after_going_back(cast: Cast) -> None:
    make_evaluated(cast)
    newest, first = (one["id"] for one in AGENTS.versions(cast.edgar))
    for version in (newest, first):
        AGENTS.publish(cast.paula, "writer", version)
    assert Visitor("edgar").get(EVALUATE).headers["Location"].endswith(f"&version={first}")


def test_any_version_in_the_history_is_evaluated(cast: Cast) -> None:
    dataset = make_evaluated(cast)
    first = AGENTS.versions(cast.edgar)[-1]["id"]
    edgar = Visitor("edgar")
    link = f"{EVALUATE}?version={first}"
    assert link in edgar.get(f"{PAGES}/history/").links
    there = edgar.get(link).headers["Location"]
    assert there.endswith(f"{dataset}/experiments/add/?agent=writer&version={first}")
    form = edgar.get(there)
    assert f'<option value="{first}" selected>Version 1</option>' in form.markup
    typed = {"agent": "writer", "version": first, "attempts": "1", "scorers": "exact"}
    cells = edgar.post(there, **typed).field("cells")
    assert edgar.post(there, **typed, cells=cells).status == 302
    assert Experiment.objects.latest("created_at").version_id == first
    wrong = edgar.post(there, **{**typed, "version": "no-version"})
    assert wrong.status == 400 and "Select a valid choice" in wrong.text


def test_what_is_live_is_no_draft_and_is_evaluated_after_going_back(cast: Cast) -> None:
    make_evaluated(cast)
    newest, first = (one["id"] for one in AGENTS.versions(cast.alice))
    for live, other in ((newest, first), (first, newest)):
        assert cast.alice.post(AGENTS.url("writer", "versions", live, "activate")).status == 200
        address = Visitor("edgar").get(EVALUATE).headers["Location"]
        assert address.endswith(f"version={live}") and other not in address
    cast.alice.post(AGENTS.url("writer", "versions", newest, "activate"))
    shown = Visitor("edgar").get(f"{PAGES}/versions/{newest}/").text
    assert "Evaluate this version" in shown and "Evaluate this draft" not in shown


def test_without_an_earlier_experiment_a_dataset_is_chosen(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    edgar = Visitor("edgar")
    assert "This workspace has no dataset with items yet." in edgar.get(EVALUATE).text
    paula = Visitor("paula").get(PUBLISH)
    assert "Evaluate this draft…" in paula.text
    make_scored_dataset(cast.alice, items=1)
    other = cast.alice.post("/datasets", {"name": "Others", "workspaceId": "acme"}).body["id"]
    cast.alice.post(f"/datasets/{other}/items", {"input": "a"})
    shown = edgar.get(EVALUATE)
    assert shown.text.count("1 item") == 2
    assert len([link for link in shown.links if "/experiments/add/?agent=writer&version=" in link]) == 2
    assert edgar.post(EVALUATE, version="").headers["Location"].startswith(EVALUATE)


def test_gates_have_the_button_and_who_may_not_save_has_none(cast: Cast) -> None:
    dataset = make_evaluated(cast)
    make_gate(cast.alice, dataset)
    shown = Visitor("paula").get(PUBLISH)
    assert "Run experiment" in shown.text and "Evaluate this draft" not in shown.text
    vera = Visitor("vera")
    assert vera.get(EVALUATE).status in {403, 404} and vera.post(EVALUATE, version="").status in {403, 404}
    assert not re.search("Evaluat", vera.get(f"{PAGES}/change/").text)
    assert Experiment.objects.count() == 1


@pytest.mark.database
def test_experiments_are_a_place_of_their_own(cast: Cast) -> None:
    dataset = make_evaluated(cast)
    edgar = Visitor("edgar")
    shown = edgar.get("/studio/experiments/")
    assert "Experiment Dataset State Pass rate Started Writer, version 1 Questions" in shown.text
    [row] = shown.rows
    assert "complete 24 done, 0 failed" in row
    assert "/studio/experiments/" in edgar.get("/studio/").links
    address = next(link for link in shown.links if "/experiments/" in link and "/datasets/" in link)
    current = re.compile(r'<a href="([^"]*)" aria-current="page">')
    for page, place in [
        (address, "/studio/experiments/"),
        (f"/studio/versioning/workspace/acme{dataset}/", "/studio/datasets/"),
        (f"/studio/versioning/workspace/acme{dataset}/experiments/", "/studio/datasets/"),
        ("/studio/versioning/workspace/acme/releases/", "/studio/releases/"),
    ]:
        bar = edgar.get(page).markup.partition("</header>")[0]
        assert current.findall(bar) == [place], page
    assert not edgar.get("/studio/experiments/", agent="other").rows
    assert "Experiments with Writer" in edgar.get("/studio/experiments/", agent="writer").text
    cast.alice.post("/datasets", {"name": "More", "workspaceId": "acme"})
    assert Visitor("vera").get("/studio/experiments/").status == 403
    assert Visitor("charlie").get("/studio/experiments/", workspace="acme").status == 404


@pytest.mark.parametrize("source", ["database", "code"])
def test_an_override_has_the_name_of_its_agent_in_the_code(
    cast: Cast, settings: Any, tmp_path: Path, source: str
) -> None:
    define(settings, tmp_path, source=source)
    get_editor().agent.update("answers", instructions="two", publish=False)
    code = get_editor().code
    name = code.agents["answers"].name
    assert agent_names(["answers", "gone"], APPLICATION) == {"answers": name}
    assert ("answers", name) in agent_choices(code.workspace_id, APPLICATION)
