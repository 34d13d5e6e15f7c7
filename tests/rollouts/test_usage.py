"""Usage: counts of runs, reports by applications, and who may read it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from capabilities.rollouts.counting import RECORDER
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.reviews import reference as named
from tests.support.rollouts import arm, started, with_draft
from tests.support.runs import ECHO, ran, run, team
from tests.support.served import published_agent, published_block, reference, text
from tests.support.studio import Visitor, page_of

pytestmark = pytest.mark.usefixtures("committed_db")


def used(api: Api, kind: Kind, resource_id: str = "writer", **query: str) -> list[dict[str, Any]]:
    """Return the current usage of a resource."""
    RECORDER.write()
    answer = api.get("/usage", kind=named(kind)["kind"], id=resource_id, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["usage"])


def report(api: Api, kind: Kind, version_id: str | None, **more: Any) -> Any:
    return api.post("/usage", {"resource": named(kind), "versionId": version_id, "runs": 1, **more})


@pytest.mark.database
def test_a_run_counts_for_its_agents_and_blocks_by_version_and_arm(cast: Cast) -> None:
    tone = published_block(cast.alice, "tone", "Be brief.")
    live = published_agent(cast.alice, "writer", [text("Write."), reference("tone")], model=ECHO)
    draft = AGENTS.save(cast.alice, "writer", "other words")["latestVersionId"]
    started(cast.paula, AGENTS, arm(draft))
    for user in ("ada", "ben"):
        ran(cast.vera, requestContext={"userId": user})
    ran(cast.vera)
    found = {one["versionId"]: one for one in used(cast.alice, AGENTS)}
    assert {one: (row["arm"], row["runs"], row["errors"]) for one, row in found.items()} == {
        draft: ("new", 2, 0),
        live: (None, 1, 0),
    }
    assert found[live]["inputTokens"] > 0 and found[live]["versionNumber"] == 1
    [block] = used(cast.alice, PROMPT_BLOCKS, "tone")
    assert (block["runs"], block["inputTokens"], block["arm"]) == (1, 0, None)
    assert block["versionId"] == (tone if "-" in tone else block["versionId"])


def test_usage_of_sub_agents_is_counted_separately(cast: Cast) -> None:
    team(cast.alice)
    ran(cast.vera, "lead")
    [lead], [writer] = used(cast.alice, AGENTS, "lead"), used(cast.alice, AGENTS)
    assert lead["runs"] == writer["runs"] == 1


def test_refused_requests_are_not_counted_as_runs(cast: Cast) -> None:
    published_agent(cast.alice, "writer", "Write.", model=ECHO)
    assert run(cast.vera, versions={"self": {"label": "none"}}).status >= 400
    assert run(cast.charlie).status == 404
    assert used(cast.alice, AGENTS) == []


def test_an_application_reports_its_usage(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    sums = {"runs": 3, "errors": 1, "inputTokens": 10, "outputTokens": 5, "milliseconds": 7}
    assert report(cast.vera, kind, live, **sums).status == 201
    assert report(cast.vera, kind, live, runs=1).status == 201
    assert report(cast.vera, kind, draft).status == 403
    assert report(cast.charlie, kind, live).status == 404
    made = started(cast.paula, kind, arm(draft))
    assert report(cast.vera, kind, draft).status == 403
    assert report(cast.vera, kind, draft, arm="new").status == 201
    assert cast.paula.post(f"/rollouts/{made['id']}/stop", {}).status == 200
    assert report(cast.vera, kind, draft, arm="new").status == 201
    rows = {(one["versionId"], one["arm"]): one for one in used(cast.edgar, kind)}
    assert {name: rows[live, None][name] for name in sums} == {**sums, "runs": 4}
    assert rows[draft, "new"]["runs"] == 2
    for wrong, field in (
        ({"runs": -1}, "runs"),
        ({"arm": "invented"}, "arm"),
        ({"arm": "x" * 65}, "arm"),
        ({"versionId": None}, "versionId"),
        ({"errors": "1"}, "errors"),
        ({"resource": {"kind": "agent", "id": ""}}, "resource.id"),
    ):
        answer = report(cast.vera, kind, live, **wrong)
        assert (answer.status, answer.fields) == (400, [field]), answer.body
    assert report(cast.vera, kind, "gone").fields == ["versionId"]


def test_usage_of_the_previously_active_version_can_still_be_reported(cast: Cast, kind: Kind) -> None:
    before, draft = with_draft(cast.alice, kind)
    assert report(cast.vera, kind, draft).status == 403
    cast.alice.post(f"{kind.url('writer')}/versions/{draft}/activate")
    for version_id in (before, draft):
        assert report(cast.vera, kind, version_id).status == 201


def test_usage_is_read_between_dates(cast: Cast, kind: Kind) -> None:
    live, _ = with_draft(cast.alice, kind)
    report(cast.vera, kind, live)
    assert len(used(cast.edgar, kind)) == 1
    assert used(cast.edgar, kind, to="2020-01-01") == used(cast.edgar, kind, **{"from": "2999-01-01"}) == []
    query = {"kind": named(kind)["kind"], "id": "writer", "from": "soon"}
    assert cast.edgar.get("/usage", **query).fields == ["from"]
    assert cast.edgar.get("/usage").status == 400


def test_deleting_a_resource_deletes_its_data(cast: Cast, kind: Kind) -> None:
    live, _ = with_draft(cast.alice, kind)
    report(cast.vera, kind, live)
    assert used(cast.alice, kind)
    report(cast.vera, kind, live)
    assert cast.alice.delete(kind.url("writer")).status == 200
    kind.make(cast.alice, autoPublish=True)
    assert used(cast.alice, kind) == []


def test_usage_of_code_defined_agents_is_counted_too(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    run_id = ran(cast.vera, "answers")["runId"]
    [code] = used(cast.root, AGENTS, "answers")
    assert (code["versionId"], code["versionNumber"], code["runs"]) == (None, None, 1)
    said = cast.vera.post("/feedback", {"runId": run_id, "name": "helpful", "value": True})
    assert (said.status, said.body["versionId"]) == (201, None)
    assert report(cast.vera, AGENTS, None, resource={"kind": "agent", "id": "answers"}).status == 201
    override = cast.root.post("/stored/agents", {"id": "answers", "instructions": "x", "autoPublish": True})
    assert override.status == 201
    ran(cast.vera, "answers")
    assert {one["versionNumber"] for one in used(cast.root, AGENTS, "answers")} == {None, 1}
    assert cast.root.delete(AGENTS.url("answers")).status == 200
    assert [one["runs"] for one in used(cast.root, AGENTS, "answers")] == [2]
    assert cast.charlie.get("/usage", kind="agent", id="hidden").status == 404


PRICES = {"echo/echo": {"input": 1, "output": 2}}


def test_usage_has_its_cost_where_every_price_is_known(cast: Cast, settings: Any) -> None:
    settings.EDITOR_PRICES = PRICES
    published_block(cast.alice, "tone", "Be brief.")
    live = published_agent(cast.alice, "writer", [text("Write."), reference("tone")], model=ECHO)
    spent = [ran(cast.vera)["usage"]["cost"] for _ in range(2)]
    assert report(cast.vera, AGENTS, live, inputTokens=1_000_000, outputTokens=500_000).status == 201
    [row] = used(cast.alice, AGENTS)
    assert Decimal(row["cost"]["amount"]) == sum(Decimal(one["amount"]) for one in spent) + 2
    assert row["cost"] == {**spent[0], "amount": row["cost"]["amount"]}
    assert used(cast.alice, PROMPT_BLOCKS, "tone")[0]["cost"] is None  # its agents pay
    page = Visitor("alice").get(page_of(AGENTS, "runs")).text
    assert "Estimated cost" in page and "$2.00" in page
    settings.EDITOR_PRICES = ""
    ran(cast.vera)  # the price of which is unknown
    assert used(cast.alice, AGENTS)[0]["cost"] is None
    assert report(cast.vera, AGENTS, live).status == 201
    assert "Estimated cost" not in Visitor("alice").get(page_of(AGENTS, "runs")).text
