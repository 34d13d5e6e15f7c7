"""Schedules by the methods of the client."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from editor_client import Conflict

pytestmark = pytest.mark.processes

NEXT_YEAR = datetime.datetime.now(datetime.UTC).year + 1


def january(day: int) -> datetime.datetime:
    """Return the time at which it is 9 o'clock in Berlin on a day of the next January."""
    return datetime.datetime(NEXT_YEAR, 1, day, 8, tzinfo=datetime.UTC)


def test_a_version_is_scheduled_moved_and_cancelled(client: Any, new_id: str) -> None:
    made = client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    draft = client.get_stored_agent(new_id).update(instructions="two").latest_version_id
    times = {"run_at": january(10).isoformat(), "until": january(20).isoformat()}
    pair = {"version_id": draft, "then": made.active_version_id, "expects": made.active_version_id}
    begun = client.create_schedule("agent", new_id, **times, **pair)
    assert (begun.resource.id, begun.version_id, begun.created_by) == (new_id, draft, "tester")
    assert (begun.state, begun.run_at) == ("scheduled", january(10))
    schedule = client.get_schedule(begun.id)
    moved = schedule.update(local_time=f"{NEXT_YEAR}-01-11T09:00", time_zone="Europe/Berlin")
    assert schedule.details().run_at == moved.run_at == january(11)
    listed = client.list_schedules(kind="agent", id=new_id, state="scheduled", per_page=10).schedules
    assert {one.id for one in listed} == {begun.id, begun.paired_with}
    assert schedule.cancel().state == "cancelled"
    assert [one.state for one in client.iter_schedules(id=new_id, per_page=1)] == ["cancelled"] * 2
    with pytest.raises(Conflict) as refused:
        schedule.update(run_at=january(12).isoformat())
    assert refused.value.code == "schedule_ended"


def test_a_release_is_scheduled(client: Any, new_id: str) -> None:
    client.create_stored_agent(id=new_id, name="Writer", instructions="one", auto_publish=False)
    release = client.create_release("default", "Autumn", items=[{"kind": "agent", "id": new_id}])
    made = client.schedule_release(release.id, run_at=january(10).isoformat())
    assert [one.id for one in client.list_schedules(release_id=release.id).schedules] == [made.id]
    assert client.get_schedule(made.id).cancel().state == "cancelled"
