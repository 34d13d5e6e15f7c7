"""Feedback on runs and versions: stored once, summarized, and readable with the right."""

from __future__ import annotations

import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from capabilities.rollouts.models import ServedRun
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.reviews import reference as named
from tests.support.rollouts import arm, started
from tests.support.runs import ECHO, ran
from tests.support.served import published_agent, published_block, reference, text

pytestmark = pytest.mark.usefixtures("committed_db")


def say(api: Api, **fields: Any) -> Answer:
    return api.post("/feedback", {"name": "helpful", "value": True, **fields})


def writer(cast: Cast) -> tuple[str, str]:
    """Make the agent `writer` with the block `tone`; return its live version and a draft."""
    published_block(cast.alice, "tone", "Be brief.")
    published_agent(cast.alice, "writer", [text("Write."), reference("tone")], model=ECHO)
    live = cast.alice.get("/stored/agents/writer").body["activeVersionId"]
    return live, AGENTS.save(cast.alice, "writer", "other words")["latestVersionId"]


def listed(api: Api, resource_id: str = "writer", **query: str) -> list[dict[str, Any]]:
    kind = AGENTS if resource_id == "writer" else PROMPT_BLOCKS
    answer = api.get("/feedback", kind=named(kind)["kind"], id=resource_id, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["feedback"])


def test_feedback_on_a_run_names_its_version_and_arm(cast: Cast) -> None:
    _, draft = writer(cast)
    started(cast.paula, AGENTS, arm(draft))
    run = ran(cast.vera, requestContext={"userId": "ada"})
    made = say(cast.vera, runId=run["runId"], comment="Just so.")
    assert made.status == 201, made.body
    assert (made.body["versionId"], made.body["arm"], made.body["runId"]) == (draft, "new", run["runId"])
    assert listed(cast.edgar) == [made.body]
    plain = ran(cast.vera)
    assert say(cast.vera, runId=plain["runId"], resource=named(PROMPT_BLOCKS, "tone")).status == 201
    assert len(listed(cast.edgar, "tone")) == 1
    other = say(cast.vera, runId=run["runId"], resource=named(PROMPT_BLOCKS, "tone"))
    assert (other.status, other.fields) == (400, ["resource"])


def test_feedback_on_a_run_is_not_about_a_later_namesake(cast: Cast) -> None:
    """Not of the agent, in its workspace or another one, nor of a block that it showed."""
    writer(cast)
    run = ran(cast.vera)
    on_block = {"runId": run["runId"], "resource": named(PROMPT_BLOCKS, "tone")}
    cast.alice.delete("/stored/prompt-blocks/tone")
    assert say(cast.vera, **on_block).status == 404
    published_block(cast.alice, "tone", "Be loud.")
    assert say(cast.vera, **on_block).fields == ["resource"]
    assert say(cast.vera, runId=run["runId"]).status == 201
    cast.alice.delete("/stored/agents/writer")
    assert say(cast.vera, runId=run["runId"]).status == 404
    published_agent(cast.alice, "writer", "Write again.", model=ECHO)
    assert say(cast.vera, runId=run["runId"]).status == 404
    assert say(cast.vera, runId=ran(cast.vera)["runId"]).status == 201
    cast.alice.delete("/stored/agents/writer")
    published_agent(
        cast.charlie, "writer", "Theirs.", model=ECHO, workspaceId="elsewhere", visibility="public"
    )
    assert say(cast.vera, runId=run["runId"]).status == 404
    assert listed(cast.charlie) == []


def test_a_run_is_forgotten_after_thirty_days_though_no_worker_comes(cast: Cast) -> None:
    writer(cast)
    run = ran(cast.vera)
    assert say(cast.vera, runId=run["runId"]).status == 201
    for days, status in ((29, 201), (31, 404)):
        ServedRun.objects.update(created_at=timezone.now() - datetime.timedelta(days=days))
        assert say(cast.vera, runId=run["runId"]).status == status


def test_feedback_is_given_by_readers_of_the_version(cast: Cast) -> None:
    live, draft = writer(cast)
    run = ran(cast.vera)
    about = {"resource": named(AGENTS), "versionId": live}
    assert say(cast.charlie, runId=run["runId"]).status == 404
    assert say(cast.charlie, **about).status == 404
    assert say(cast.vera, runId=str(uuid4())).status == say(cast.vera, runId="x").status == 404
    assert say(cast.vera, **{**about, "versionId": draft}).status == 403
    assert say(cast.vera, **about).status == 201


def test_feedback_with_the_same_external_id_is_stored_once(cast: Cast) -> None:
    live, _ = writer(cast)
    about = {"resource": named(AGENTS), "versionId": live, "externalId": "mail-1"}
    first, second = say(cast.vera, **about), say(cast.vera, **about, comment="again")
    assert (first.status, second.status) == (201, 200) and first.body == second.body
    assert len(listed(cast.edgar)) == 1


def test_an_external_id_does_not_show_the_feedback_of_others(cast: Cast) -> None:
    live, _ = writer(cast)
    about = {"resource": named(AGENTS), "versionId": live, "externalId": "mail-1"}
    first = say(cast.edgar, **about, comment="It swears.")
    mine = say(cast.vera, **about, comment="Fine.")
    assert (mine.status, mine.body) == (200, {**first.body, "comment": "Fine."})
    assert say(cast.alice, **about).body == first.body


def test_feedback_is_summarized_by_version_arm_and_name(cast: Cast) -> None:
    live, _ = writer(cast)
    about = {"resource": named(AGENTS), "versionId": live}
    for name, value in (("helpful", True), ("helpful", True), ("helpful", False), ("stars", 4), ("stars", 5)):
        assert say(cast.vera, **about, name=name, value=value).status == 201
    assert say(cast.vera, **about, name="tone", value="kind").status == 201
    found = cast.edgar.get("/feedback/summary", kind="agent", id="writer").body["summary"]
    of_live = {"versionId": live, "arm": None}
    assert found == [
        {**of_live, "name": "helpful", "count": 3, "mean": None, "counts": {"false": 1, "true": 2}},
        {**of_live, "name": "stars", "count": 2, "mean": 4.5, "counts": {}},
        {**of_live, "name": "tone", "count": 1, "mean": None, "counts": {"kind": 1}},
    ]
    assert len(listed(cast.edgar, name="stars")) == 2
    assert listed(cast.edgar, versionId=str(uuid4())) == []


def test_invalid_members_are_refused(cast: Cast) -> None:
    live, _ = writer(cast)
    wrong: dict[str, Any]
    for wrong, field in [
        ({"name": " "}, "name"),
        ({"name": "n" * 65}, "name"),
        ({"value": None}, "value"),
        ({"value": ["a"]}, "value"),
        ({"value": 10**400}, "value"),
        ({"value": -(2**53)}, "value"),
        ({"arm": "invented"}, "arm"),
        ({"versionId": None}, "versionId"),
        ({"value": "v" * 201}, "value"),
        ({"comment": "é" * 1025}, "comment"),
        ({"externalId": "e" * 201}, "externalId"),
        ({"versionId": "gone"}, "versionId"),
        ({"runId": str(uuid4())}, "runId"),
    ]:
        answer = say(cast.vera, **{"resource": named(AGENTS), "versionId": live, **wrong})
        assert (answer.status, answer.fields) == (400, [field]), answer.body


def test_deleting_a_resource_deletes_its_data(cast: Cast) -> None:
    live, _ = writer(cast)
    assert say(cast.vera, resource=named(AGENTS), versionId=live).status == 201
    assert cast.alice.delete("/stored/agents/writer").status == 200
    published_agent(cast.alice, "writer", "Write.")
    assert listed(cast.edgar) == []
