"""A live version and a draft; helpers to schedule versions, and to let time pass by changing rows."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from capabilities.schedules import running
from capabilities.schedules.models import Schedule
from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.reviews import reference

HOUR = datetime.timedelta(hours=1)
_START = timezone.now().replace(second=0, microsecond=0)


@pytest.fixture
def first(cast: Cast, kind: Kind) -> str:
    """The version that is live."""
    return str(kind.make(cast.paula, autoPublish=True)["activeVersionId"])


@pytest.fixture
def draft(cast: Cast, kind: Kind, first: str) -> str:
    """A newer version."""
    return str(kind.save(cast.edgar)["latestVersionId"])


def ahead(hours: float = 24) -> str:
    """Return a whole minute this many hours ahead; all calls with the same hours return the same minute."""
    return (_START + datetime.timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def ask(api: Api, kind: Kind, version_id: str | None, resource_id: str = "writer", **more: Any) -> Answer:
    """Send a request to schedule a version, by default for tomorrow."""
    when = {} if "localTime" in more else {"runAt": ahead()}
    body = {"resource": reference(kind, resource_id), "versionId": version_id, **when, **more}
    return api.post("/schedules", {name: value for name, value in body.items() if value is not None})


def scheduled(api: Api, kind: Kind, version_id: str | None, **more: Any) -> dict[str, Any]:
    answer = ask(api, kind, version_id, **more)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def pass_time(schedule: dict[str, Any], late: datetime.timedelta = datetime.timedelta()) -> None:
    """Let the time of a schedule come, and pass by this much."""
    now = timezone.now() - late
    Schedule.objects.filter(pk=schedule["id"], state="scheduled").update(run_at=now, due_at=now)


def run_due() -> None:
    """Let a worker check for due schedules once."""
    runner = running.Runner()
    runner.run_versions()
    runner.run_releases()


def run(
    schedule: dict[str, Any], api: Api, late: datetime.timedelta = datetime.timedelta()
) -> dict[str, Any]:
    """Let the time of a schedule come, let a worker run it, and return the schedule."""
    pass_time(schedule, late)
    run_due()
    return dict(api.get(f"/schedules/{schedule['id']}").body)


def live(api: Api, kind: Kind, resource_id: str = "writer") -> str | None:
    found: str | None = api.get(kind.url(resource_id)).body["activeVersionId"]
    return found
