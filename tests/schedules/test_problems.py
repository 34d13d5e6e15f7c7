"""What would keep a schedule from happening: said before its time, as the gate would say it then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.schedules.models import Schedule
from capabilities.schedules.running import look
from tests.conftest import Cast
from tests.schedules.conftest import ahead, pass_time, run, scheduled
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.people import give_role, key_of, person
from tests.support.reviews import reference, require_approvals
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.editor import notifications
from versioning.models import Membership, caller_for


def approve(cast: Cast, kind: Kind, version: str, by: Api) -> None:
    """Request a review of a version, and approve it."""
    review = cast.edgar.post("/reviews", {"resource": reference(kind), "versionId": version}).body
    verdict = {"versionId": version, "verdict": "approve"}
    assert by.post(f"/reviews/{review['id']}/verdicts", verdict).status == 200


def codes(api: Api, schedule: dict[str, Any]) -> list[str]:
    """Return the codes of a schedule's problems, which the list shows too."""
    problems = api.get(f"/schedules/{schedule['id']}").body["problems"]
    [listed] = [one for one in api.get("/schedules").body["schedules"] if one["id"] == schedule["id"]]
    assert listed["problems"] == problems
    return [str(one["code"]) for one in problems]


def _demote(cast: Cast, kind: Kind) -> None:
    give_role("paula", "acme", "editor")


def _switch_off(cast: Cast, kind: Kind) -> None:
    User.objects.filter(username="paula").update(is_active=False)


def _leave(cast: Cast, kind: Kind) -> None:
    Membership.objects.end(Membership.objects.get(user__username="paula"))


def _lose_the_version(cast: Cast, kind: Kind) -> None:
    """Delete the row: the editor retains scheduled versions, but those in files or in Git can be lost."""
    Schedule.objects.update(version_id="00000000-0000-4000-8000-000000000000")


def _require_approval(cast: Cast, kind: Kind) -> None:
    require_approvals(1)


def _mend(cast: Cast, kind: Kind) -> None:
    kind.save(cast.alice, text="mended", autoPublish=True)


@pytest.mark.parametrize(
    ("happens", "problem"),
    [
        (
            _require_approval,
            ("review_required", "One more approval is needed before this version goes live."),
        ),
        (
            _mend,
            ("edit_conflict", "Something else is live, or will be by then, than this was scheduled for."),
        ),
        (_lose_the_version, ("gone", "What was scheduled no longer exists.")),
        *(
            (happens, ("not_allowed", "'paula' may no longer publish there."))
            for happens in (_demote, _leave, _switch_off)
        ),
    ],
)
def test_the_predicted_problem_is_the_reason_of_the_failure(
    cast: Cast, kind: Kind, draft: str, happens: Callable[[Cast, Kind], None], problem: tuple[str, str]
) -> None:
    made = scheduled(cast.paula, kind, draft)
    assert made["problems"] == [] == codes(cast.alice, made)
    happens(cast, kind)
    [found] = cast.alice.get(f"/schedules/{made['id']}").body["problems"]
    assert (found["code"], found["message"]) == problem
    over = run(made, cast.alice)
    assert (over["code"], over["problems"]) == (problem[0], [])


def test_all_problems_are_reported_from_the_beginning(cast: Cast, kind: Kind, draft: str) -> None:
    require_approvals(1)
    made = scheduled(cast.paula, kind, draft)
    assert [one["code"] for one in made["problems"]] == ["review_required"]
    cast.alice.post(kind.url("writer", "unpublish"))
    assert codes(cast.edgar, made) == ["edit_conflict", "review_required"]
    moved = cast.paula.patch(f"/schedules/{made['id']}", {"runAt": ahead(30)}).body
    assert [one["code"] for one in moved["problems"]] == ["edit_conflict", "review_required"]
    assert cast.paula.delete(f"/schedules/{made['id']}").body["problems"] == []


def test_an_approval_and_force_resolve_the_problems(cast: Cast, kind: Kind, draft: str) -> None:
    require_approvals(1)
    made = scheduled(cast.paula, kind, draft, force=True)
    approve(cast, kind, draft, by=cast.alice)
    cast.alice.post(kind.url("writer", "unpublish"))
    assert codes(cast.edgar, made) == []


def test_a_second_schedule_of_a_version_reports_what_keeps_the_first_from_running(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require_approvals(1)
    scheduled(cast.paula, kind, draft)
    second = scheduled(cast.paula, kind, draft, runAt=ahead(48))
    assert "review_required" in codes(cast.edgar, second)
    approve(cast, kind, draft, by=cast.alice)
    assert codes(cast.edgar, second) == ["edit_conflict"]


def test_the_end_of_a_pair_is_checked_in_the_state_after_its_beginning(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    require_approvals(1)
    begin = scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": first})
    end = {"id": begin["pairedWith"]}
    assert (codes(cast.edgar, begin), codes(cast.edgar, end)) == (["review_required"], [])
    # For the second half of a pair, only the changes since the first half are under review.
    third = str(kind.save(cast.alice, text="three")["latestVersionId"])
    onwards = scheduled(cast.paula, kind, third, runAt=ahead(30), expects=draft)
    Schedule.objects.filter(pk=end["id"]).delete()
    approve(cast, kind, third, by=cast.paula)
    assert codes(cast.edgar, onwards) == []


def test_the_gate_applies_to_going_back_to_the_live_version_too(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.paula, "tone", autoPublish=True)
    refers = [{"type": "prompt_block_ref", "id": "tone"}]
    first = AGENTS.make(cast.paula, "writer", refers, autoPublish=True)["activeVersionId"]
    draft = AGENTS.save(cast.paula, text="nothing else")["latestVersionId"]
    begin = scheduled(cast.paula, AGENTS, draft, until=ahead(48), then={"versionId": first})
    cast.paula.post(PROMPT_BLOCKS.url("tone", "unpublish"))
    end = {"id": begin["pairedWith"]}
    assert (codes(cast.edgar, begin), codes(cast.edgar, end)) == ([], ["unpublished_blocks"])
    assert run(begin, cast.paula)["state"] == "done"
    pass_time(end)
    assert run(end, cast.paula)["code"] == "unpublished_blocks"


def test_scheduled_unpublishing_needs_no_approvals_but_the_expected_live_version(
    cast: Cast, kind: Kind, first: str
) -> None:
    made = scheduled(cast.paula, kind, None, action="unpublish")
    require_approvals(5)
    assert codes(cast.edgar, made) == []
    kind.publish(cast.root, "writer", first)
    cast.root.post(kind.url("writer", "unpublish"))
    assert codes(cast.edgar, made) == ["edit_conflict"]


def test_a_scheduled_release_reports_the_problems_of_its_check(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.paula, "tone")
    drafts = [AGENTS.make(cast.paula, "writer", [{"type": "prompt_block_ref", "id": "tone"}])]
    items = [{"resource": reference(AGENTS), "versionId": one["latestVersionId"]} for one in drafts]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    made = cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": ahead()}).body
    [problem] = made["problems"]
    assert problem == {
        "code": "unpublished_blocks",
        "message": "Agent 'writer': The prompt block 'tone' is not published.",
    }
    block = {"resource": {"kind": "promptBlock", "id": "tone"}}
    changed = cast.paula.patch(f"/releases/{release['id']}", {"items": [*items, block]})
    assert changed.status == 200
    assert codes(cast.edgar, made) == []
    give_role("paula", "acme", "editor")
    assert codes(cast.edgar, made) == ["not_allowed"]


def test_problems_do_not_reveal_blocks_that_the_reader_cannot_read(cast: Cast) -> None:
    """Charlie's block is readable for the author, and not for the reader: its absence looks the same."""
    PROMPT_BLOCKS.make(cast.charlie, "secret", workspaceId="elsewhere", autoPublish=False)
    person("both", acme="publisher", elsewhere="editor")
    both = key_of("both")
    messages = []
    for number, block in enumerate(("secret", "nothing")):
        refers = [{"type": "prompt_block_ref", "id": block}]
        version = AGENTS.make(both, f"writer-{number}", refers, workspaceId="acme")["latestVersionId"]
        made = scheduled(both, AGENTS, version, resource_id=f"writer-{number}")
        [problem] = cast.edgar.get(f"/schedules/{made['id']}").body["problems"]
        failed = run(made, cast.edgar)
        messages += [one.replace(block, "…") for one in (problem["message"], failed["error"])]
    assert messages == ["The prompt block '…' is not published."] * 4


def test_a_page_of_many_schedules_takes_as_many_statements_as_of_two(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require_approvals(1)
    PROMPT_BLOCKS.make(cast.paula, "tone")
    counts = []
    for number in range(3):
        refers = [{"type": "prompt_block_ref", "id": "tone"}]
        version = AGENTS.make(cast.paula, f"writer-{number}", refers, autoPublish=False)["latestVersionId"]
        items = [{"resource": {"kind": "agent", "id": f"writer-{number}"}}]
        release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "A", "items": items}).body
        cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": ahead()})
        scheduled(cast.paula, AGENTS, version, resource_id=f"writer-{number}")
        scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": draft})
        cast.edgar.get("/schedules")
        with CaptureQueriesContext(connection) as asked:
            found = cast.edgar.get("/schedules").body["schedules"]
        assert len(found) == 4 * (number + 1)
        counts.append(len(asked.captured_queries))
    assert counts[1:] == counts[1:2] * 2, counts


def test_the_author_is_notified_of_new_problems_and_failures(cast: Cast, kind: Kind, draft: str) -> None:
    require_approvals(1)
    made = scheduled(cast.paula, kind, draft)  # which says so at once

    def told(name: str) -> list[tuple[str, Any]]:
        caller = caller_for(User.objects.get(username=name))
        news = notifications.news(caller, get_editor().code).filter(type__startswith="schedule.")
        assert notifications.unread(caller, get_editor().code, after=0, limit=50) >= news.count()
        return [(one.type, one.detail.get("problems", one.detail.get("code"))) for one in news]

    look()
    assert told("paula") == []
    require_approvals(0)
    look()
    look()
    require_approvals(2)
    look()
    heard = [("schedule.changed", ["review_required"]), ("schedule.changed", [])]
    assert (told("paula"), told("edgar"), told("vera")) == (heard, [], [])
    event = cast.edgar.get("/events", type="schedule.changed", before=10**9).body["events"][0]
    assert (event["actor"]["id"], event["actor"]["via"]) == (None, "schedule")
    run(made, cast.paula)
    assert told("paula") == [("schedule.failed", "review_required"), *heard]
    shown = Visitor("paula").get("/studio/notifications/").text
    for words in (
        "as things stand it will not: approvals are missing",
        "nothing stands in the way any more",
        "did not go live, although you had scheduled it",
    ):
        assert words in shown, shown
