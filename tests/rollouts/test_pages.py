"""Rollouts and usage in the studio: starting, widening, reading, stopping, publishing; and who may."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from capabilities.rollouts.counting import RECORDER, Count, UsageKey, store
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.rollouts import arm, started, with_draft
from tests.support.runs import ECHO, ran
from tests.support.served import published_agent
from tests.support.studio import Visitor, page_of
from versioning.domain.access import APPLICATION
from versioning.models import ApiKey
from versioning.models.keys import PREFIX_LENGTH

pytestmark = pytest.mark.usefixtures("committed_db")


def start(window: Visitor, kind: Kind, version: str, **more: str) -> Any:
    form = {"version": version, "share": "5", "key": "userId", "name": "new", **more}
    return window.post(page_of(kind, "share"), **form)


def rollout_page(kind: Kind, rollout_id: str, page: str = "") -> str:
    return f"{page_of(kind, 'rollouts')}{rollout_id}/{page}"


@pytest.mark.both_kinds
def test_a_rollout_is_started_widened_and_stopped(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    paula = Visitor("paula")
    asked = paula.get(page_of(kind, "share") + f"?version={draft}")
    assert asked.status == 200 and "Start a rollout of version 2" in asked.text
    assert "First step from (UTC)" in asked.text and "Second step from (UTC)" in asked.text
    assert start(paula, kind, draft).status == 302
    [running] = cast.paula.get("/rollouts").body["rollouts"]
    assert running["arms"][0]["weight"] == 500
    for page in ("history", "change"):
        assert "Version 2 runs on 5% of the requests" in paula.get(page_of(kind, page)).text
    shown = paula.get(page_of(kind, "rollouts"))
    assert "new 5%" in shown.text and "No runs yet" in shown.text
    assert re.search(rf'href="[^"]*/versions/{draft}/">Version 2</a>', shown.markup)
    assert ">Version 1</a>" in shown.markup
    changed = paula.post(rollout_page(kind, running["id"], "weights/"), share_0="12.5")
    assert changed.status == 302
    assert cast.paula.get(f"/rollouts/{running['id']}").body["arms"][0]["weight"] == 1250
    assert paula.post(rollout_page(kind, running["id"], "stop/"), reason="Enough.").status == 302
    ended = paula.get(rollout_page(kind, running["id"])).text
    assert "Rollout stopped by" in ended and "Enough. Everyone gets the live version." in ended
    assert "was 12.5%" in ended and "so far" not in ended and "stay together" not in ended
    assert "Start a rollout…" in ended
    assert cast.paula.get(f"/rollouts/{running['id']}").body["state"] == "stopped"


@pytest.mark.both_kinds
def test_an_arm_goes_live_after_its_difference_was_shown(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft, weight=500))
    paula, address = Visitor("paula"), rollout_page(kind, made["id"], "complete/new/")
    asked = paula.get(address)
    assert asked.status == 200 and "other words" in asked.text
    assert paula.post(address, live="something else").status == 409
    assert paula.post(address, live=live).status == 302
    assert cast.paula.get(kind.url("writer")).body["activeVersionId"] == draft
    assert cast.paula.get(f"/rollouts/{made['id']}").body["state"] == "completed"
    assert "has ended" in paula.get(address).text


def test_the_numbers_of_arms_are_shown_side_by_side(cast: Cast) -> None:
    published_agent(cast.alice, "writer", "Write.", model=ECHO)
    draft = AGENTS.save(cast.alice, "writer", "other words")["latestVersionId"]
    made = started(cast.paula, AGENTS, arm(draft))
    run = ran(cast.vera, requestContext={"userId": "ada"})
    ran(cast.vera)
    RECORDER.write()
    said = {"runId": run["runId"], "name": "helpful", "value": True}
    assert cast.vera.post("/feedback", said).status == 201
    edgar = Visitor("edgar")
    page = edgar.get(rollout_page(AGENTS, made["id"]))
    assert page.status == 200 and "Stop rollout" not in page.text and "95% intervals" not in page.text
    for words in ("1 of 1: too few to tell", "0 of 1: too few to tell", "helpful", "<svg"):
        assert words in page.markup
    assert "the interval" not in page.text  # of which none is shown
    usage = edgar.get(page_of(AGENTS, "runs")).text
    assert "Version 1" in usage and "Version 2" in usage and "new" in usage
    assert f"vera with an API key ({cast.vera.key[:PREFIX_LENGTH]}…)" in usage
    own = ApiKey.objects.filter(prefix=cast.vera.key[:PREFIX_LENGTH])
    own.update(name="make run")
    assert "vera with the API key make run" in Visitor("alice").get(page_of(AGENTS, "runs")).text
    assert "make run" not in edgar.get(page_of(AGENTS, "runs")).text
    for name, sees in (("edgar", True), ("vera", False)):
        listed = Visitor(name).get("/studio/versioning/agent/")
        assert ("On 100%" in listed.text, "<svg class" in listed.markup) == (sees, sees), name


def test_errors_are_shown_next_to_the_field(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    paula = Visitor("paula")
    for name, wrong, says in (
        ("share", "101", "100"),
        ("share", "x", "number"),
        ("key", "a b", "path"),
        ("name", "NO", "1 to 64 characters of a-z"),
        ("name", "", "required"),
    ):
        answer = start(paula, kind, draft, **{name: wrong})
        assert answer.status == 400 and says in answer.text, answer.text
    for key, says in (("", "This field is required."), ("a b", "must be a path")):
        both = start(paula, kind, draft, key=key, name="Bad Name!")
        assert both.status == 400 and says in both.text.replace("Must", "must"), both.text
        assert "1 to 64 characters of a-z" in both.text
    assert cast.paula.get("/rollouts").body["total"] == 0


def test_one_rollout_at_a_time_and_only_with_a_live_version(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "fresh", autoPublish=False)
    paula = Visitor("paula")
    assert "Nothing is live" in paula.get(page_of(kind, "share", "fresh")).text
    live, draft = with_draft(cast.alice, kind)
    assert "everyone gets it already" in paula.get(page_of(kind, "share"), version=live).text
    assert start(paula, kind, live).status == 409
    started(cast.paula, kind, arm(draft), bucketBy="customer.id")
    assert "A rollout is already running; only one" in paula.get(page_of(kind, "share")).text
    assert start(paula, kind, draft).status == 409
    assert "is running" in paula.get(page_of(kind, "publish")).text
    # The next form begins with the key of the last rollout.
    kind.make(cast.alice, "next", autoPublish=True)
    kind.save(cast.alice, "next", "two")
    assert 'value="customer.id"' in paula.get(page_of(kind, "share", "next")).markup


def test_pages_and_forms_need_the_rights_of_each_role(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft, weight=500))
    pages = ["", "weights/", "stop/", "complete/new/"]
    forms = {"weights/": {"share_0": "9"}, "stop/": {}, "complete/new/": {"live": live}}
    for name, reads in (("charlie", 404), ("vera", 403), ("edgar", 200)):
        window = Visitor(name)
        assert window.get(rollout_page(kind, made["id"])).status == reads, name
        assert window.get(page_of(kind, "runs")).status == reads, name
        refused = 403 if reads == 200 else reads
        assert start(window, kind, draft).status == refused, name
        for page in pages[1:]:
            assert window.post(rollout_page(kind, made["id"], page), **forms[page]).status == refused, (
                name,
                page,
            )
    assert cast.paula.get(f"/rollouts/{made['id']}").body["arms"][0]["weight"] == 500
    kind.make(cast.charlie, "theirs", autoPublish=True)
    charlie = Visitor("charlie")
    for page in pages:
        assert charlie.get(rollout_page(kind, made["id"], page).replace("/writer/", "/theirs/")).status == 404


def test_a_sentence_compares_an_arm_with_what_is_live(cast: Cast) -> None:
    _, draft = with_draft(cast.alice, AGENTS)
    live = AGENTS.versions(cast.alice)[-1]["id"]
    made = started(cast.paula, AGENTS, arm(draft, weight=500))
    paula, address = Visitor("paula"), rollout_page(AGENTS, made["id"])
    about = {"resource": {"kind": "agent", "id": "writer"}}

    def report(version: str, runs: int, errors: int, **more: str) -> None:
        sent = {**about, "versionId": version, "runs": runs, "errors": errors, **more}
        answer = cast.paula.post("/usage", sent)
        assert answer.status < 300, answer.body

    report(live, 400, 40)
    report(draft, 10, 0, arm="new")
    assert "Not enough runs to compare “new” with live: 10 and 400, at least" in paula.get(address).text
    report(draft, 290, 30, arm="new")
    said = "No difference in errors was found between “new” (10.0% of 300 runs) and live (10.0% of 400)."
    assert said in paula.get(address).text
    report(draft, 100, 60, arm="new")
    assert "“new” fails more often than live: 22.5% of 400 runs, compared with 10.0% of 400." in (
        paula.get(address).text
    )


def test_a_rollout_whose_key_no_request_sends_is_warned_of(cast: Cast) -> None:
    published_agent(cast.alice, "writer", "Write.", model=ECHO)
    draft = AGENTS.save(cast.alice, "writer", "other words")["latestVersionId"]
    made = started(cast.paula, AGENTS, arm(draft, weight=5000))
    address, warning = rollout_page(AGENTS, made["id"]), "None of the last 10 runs was part of the rollout."
    paula = Visitor("paula")
    for number in range(10):
        assert warning not in paula.get(address).text, number
        ran(cast.vera)
        RECORDER.write()
    shown = paula.get(address).text
    assert warning in shown and "sends userId in the request context" in shown
    for name in "abcdefgh":
        ran(cast.vera, requestContext={"userId": name})
    RECORDER.write()
    assert warning not in paula.get(address).text


def test_runs_before_the_share_was_changed_do_not_show_that_the_key_is_missing(cast: Cast) -> None:
    published_agent(cast.alice, "writer", "Write.", model=ECHO)
    draft = AGENTS.save(cast.alice, "writer", "other words")["latestVersionId"]
    made = started(cast.paula, AGENTS, arm(draft, weight=1))
    address, warning = rollout_page(AGENTS, made["id"]), "of the last 10 runs was part of the rollout"
    paula = Visitor("paula")

    def run_often() -> None:
        for _number in range(10):
            ran(cast.vera)
        RECORDER.write()

    run_often()
    assert paula.post(rollout_page(AGENTS, made["id"], "weights/"), share_0="50").status == 302
    assert warning not in paula.get(address).text
    run_often()
    assert f"None {warning}" in paula.get(address).text


@pytest.mark.database
def test_only_runs_and_feedback_between_start_and_end_are_counted(cast: Cast) -> None:
    live, draft = with_draft(cast.alice, AGENTS)
    about = {"resource": {"kind": "agent", "id": "writer"}}

    def report(version: str, runs: int, **more: str) -> None:
        sent = {**about, "versionId": version, "runs": runs, **more}
        assert cast.paula.post("/usage", sent).status < 300

    def give(value: str) -> None:
        sent = {**about, "versionId": live, "name": "helpful", "value": value}
        assert cast.paula.post("/feedback", sent).status == 201

    report(live, 40)
    give("yes")
    paula = Visitor("paula")
    for number in range(2):  # of the second one, the first is earlier as well
        made = started(cast.paula, AGENTS, arm(draft, weight=3000))
        address = rollout_page(AGENTS, made["id"])
        assert paula.get(address).text.count("No runs yet.") == 2 and "helpful" not in paula.get(address).text
        report(draft, 3, arm="new")
        report(live, 7 + number)
        give("no")
        assert cast.paula.post(f"/rollouts/{made['id']}/stop", {}).status == 200
        report(live, 50)
        give("yes")
        shown = paula.get(address)
        runs = re.findall(r"<dt>Runs</dt><dd>(\d+)</dd>", shown.markup)
        assert runs == ["3", str(7 + number)] and "1 of 1" in shown.text, shown.text
        assert "Version 1" in shown.text and "Version 2" in shown.text


def test_a_chart_has_axes_and_the_same_as_a_table(cast: Cast) -> None:
    live, _draft = with_draft(cast.alice, AGENTS)
    about = {"resource": {"kind": "agent", "id": "writer"}, "versionId": live}
    assert cast.paula.post("/usage", {**about, "runs": 12}).status < 300
    page = Visitor("paula").get(page_of(AGENTS, "runs"))
    assert re.search(r'aria-label="12 runs from [^"]*, at most 12 a day, on [^"]*"', page.markup)
    assert re.search(r'<div class="chart-scale"[^>]*><span>12</span><span>0</span>', page.markup)
    assert re.search(r'<tr><th scope="row">[^<]+</th><td>12</td></tr>', page.markup)
    for label in ("Runs", "Errors", "Tokens", "Mean time", "Last run"):
        assert f'data-label="{label}"' in page.markup
    listed = Visitor("paula").get("/studio/versioning/agent/")
    assert "12 runs in 31 days" in listed.text


def test_runs_of_experiments_are_named_as_such(cast: Cast) -> None:
    live, _draft = with_draft(cast.alice, AGENTS)
    count = Count.of(APPLICATION, timezone.now(), cost=None, runs=1)
    store({UsageKey("agent", "writer", live, "evaluation", timezone.now().date()): count})
    assert '<span class="chip">Experiment</span>' in Visitor("paula").get(page_of(AGENTS, "runs")).markup


def test_in_german_a_step_begins_at_a_time(cast: Cast) -> None:
    _, draft = with_draft(cast.alice, AGENTS)
    paula = Visitor("paula")
    paula.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    form = paula.get(page_of(AGENTS, "share"), version=draft)
    assert re.findall(r'for="id_step_\d_at">([^<]+)<', form.markup) == [
        "Erste Stufe ab (UTC)",
        "Zweite Stufe ab (UTC)",
    ]
    assert form.field("name") == "neu"
