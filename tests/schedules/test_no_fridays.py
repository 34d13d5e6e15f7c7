"""A rule of a project about when something may go live: *no Fridays*, said when it is scheduled."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.schedules.conftest import ask, pass_time, run_due
from tests.support.api import Answer, Api, Kind
from tests.support.reviews import reference
from tests.support.studio import Visitor, page_of
from versioning.domain.errors import Forbidden
from versioning.editor import gate
from versioning.editor.gate import PublishRequest, TakeDownRequest

FRIDAY = 4
DAYS = {day: timezone.now() + datetime.timedelta(days=day) for day in range(1, 8)}
ON_FRIDAY = next(moment for moment in DAYS.values() if moment.weekday() == FRIDAY)
ON_MONDAY = next(moment for moment in DAYS.values() if moment.weekday() == 0)


def no_fridays(request: PublishRequest | TakeDownRequest) -> None:
    if request.at.weekday() == FRIDAY:
        raise Forbidden("Nothing changes on Fridays.", code="friday")


@pytest.fixture(autouse=True)
def rule(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = gate.each(no_fridays)
    monkeypatch.setattr(gate, "_registered", [gate.Check(decide=decide, decide_take_down=decide)])


def on(api: Api, kind: Kind, moment: datetime.datetime, version: str | None, **more: Any) -> Answer:
    when = moment.replace(second=0, microsecond=0).isoformat()
    answer = ask(api, kind, version, runAt=when, **more)
    assert answer.status == 201, answer.body
    return answer


def codes(answer: Answer) -> list[str]:
    return [one["code"] for one in answer.body["problems"]]


def test_the_rule_judges_the_time_of_a_schedule(cast: Cast, kind: Kind, draft: str) -> None:
    for moment, found in ((ON_FRIDAY, ["friday"]), (ON_MONDAY, [])):
        made = on(cast.paula, kind, moment, draft)
        assert codes(made) == found
        assert cast.paula.delete(f"/schedules/{made.body['id']}").status == 200
    for item in ({"action": "publish", "versionId": draft}, {"action": "unpublish"}):
        items = [{"resource": reference(kind), **item}]
        release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Both", "items": items})
        for moment, found in ((ON_FRIDAY, ["friday"]), (ON_MONDAY, [])):
            when = moment.replace(second=0, microsecond=0).isoformat()
            made = cast.paula.post("/schedules", {"releaseId": release.body["id"], "runAt": when})
            assert codes(made) == found
            assert cast.paula.delete(f"/schedules/{made.body['id']}").status == 200


def test_the_rule_judges_the_time_of_unpublishing(cast: Cast, kind: Kind, first: str) -> None:
    for moment, found in ((ON_FRIDAY, ["friday"]), (ON_MONDAY, [])):
        assert codes(on(cast.paula, kind, moment, None, action="unpublish", force=True)) == found


def test_the_form_judges_the_time_that_is_typed(cast: Cast, kind: Kind, draft: str) -> None:
    paula = Visitor("paula")
    page = page_of(kind, "schedule")
    times = {"time_zone": "UTC", "live": "another", "version": draft}  # another one was published meanwhile
    for moment, is_refused in ((ON_FRIDAY, True), (ON_MONDAY, False)):
        shown = paula.post(page, local_time=moment.strftime("%Y-%m-%dT%H:%M"), **times)
        assert shown.status == 409
        assert ("Nothing changes on Fridays." in shown.text) is is_refused


@pytest.mark.parametrize("late", [datetime.timedelta(), datetime.timedelta(hours=1)])
def test_what_runs_within_its_minute_is_judged_by_its_time(
    cast: Cast, kind: Kind, draft: str, late: datetime.timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[datetime.datetime] = []

    def note(request: PublishRequest | TakeDownRequest) -> None:
        judged.append(request.at)

    decide = gate.each(note)
    monkeypatch.setattr(gate, "_registered", [gate.Check(decide=decide, decide_take_down=decide)])
    for version, more in ((draft, {}), (None, {"action": "unpublish"})):
        made = on(cast.paula, kind, ON_MONDAY, version, **more)
        pass_time(made.body, late)
        judged.clear()
        began = timezone.now()
        run_due()
        assert cast.paula.get(kind.url("writer"), status="draft").body["activeVersionId"] == version
        assert [began <= at for at in judged] == [bool(late)]
