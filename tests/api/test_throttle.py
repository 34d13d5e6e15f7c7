"""`EDITOR_THROTTLE`: so many requests per key, and 429 with the time to wait beyond that."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db.models import F
from pytest_django import Settings

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.people import key_of
from tests.support.remote import connected
from tests.support.service import running_service
from versioning.models import ThrottleWindow

pytestmark = pytest.mark.processes

REQUESTS = 24
LIMIT = 5


def ask(api: Api) -> Answer:
    return api.get("/stored/agents")


def statuses(api: Api, times: int) -> list[int]:
    return [ask(api).status for _ in range(times)]


def test_requests_are_not_limited_by_default(cast: Cast) -> None:
    assert statuses(cast.alice, 20) == [200] * 20


def test_a_refusal_says_how_long_to_wait(cast: Cast, settings: Settings) -> None:
    for period, seconds in (("min", 60), ("hour", 3600), ("day", 86400)):
        settings.EDITOR_THROTTLE = f"1/{period}"
        ask(cast.alice)
        answer = ask(cast.alice)
        assert (answer.status, set(answer.body)) == (429, {"error", "code"})
        assert 1 <= int(answer.headers["Retry-After"]) <= seconds
        assert answer.code.isidentifier() and answer.code.islower()
        assert answer.headers["RateLimit-Policy"] == f'"key";q=1;w={seconds}'


def test_every_key_is_counted_separately(cast: Cast, settings: Settings) -> None:
    assert "RateLimit" not in ask(cast.alice).headers
    settings.EDITOR_THROTTLE = "3/day"
    left = [ask(cast.vera).headers["RateLimit"] for _ in range(4)]
    assert [re.fullmatch(r'"key";r=(\d);t=\d+', one)[1] for one in left] == ["2", "1", "0", "0"]
    ThrottleWindow.objects.all().delete()
    settings.EDITOR_THROTTLE = "2/day"
    second_key = key_of("alice")
    assert statuses(cast.alice, 3) == [200, 200, 429]
    assert statuses(second_key, 3) == [200, 200, 429]
    assert statuses(cast.vera, 1) == [200]


@pytest.mark.database
def test_the_count_restarts_with_each_window(cast: Cast, settings: Settings) -> None:
    settings.EDITOR_THROTTLE = "1/day"
    assert statuses(cast.alice, 2) == [200, 429]
    ThrottleWindow.objects.update(window=F("window") - 1)
    assert statuses(cast.alice, 2) == [200, 429]


def test_every_request_counts_and_above_the_limit_nothing_is_saved(
    cast: Cast, kind: Kind, settings: Settings
) -> None:
    settings.EDITOR_THROTTLE = "3/day"
    assert cast.alice.get(kind.url("missing")).status == 404
    assert cast.alice.post(kind.path, {}).status == 400
    assert cast.alice.post(kind.path, kind.body(id="first")).status == 201
    assert cast.alice.patch(kind.url("first"), {"name": "Renamed"}).status == 429
    settings.EDITOR_THROTTLE = ""
    assert cast.alice.get(kind.url("first")).body["name"] == "Writer"


def test_requests_without_a_valid_key_get_a_401_and_do_not_count(cast: Cast, settings: Settings) -> None:
    settings.EDITOR_THROTTLE = "1/day"
    assert statuses(cast.nobody, 3) == [401, 401, 401]
    assert statuses(Api("ek_unknown"), 3) == [401, 401, 401]
    assert statuses(cast.alice, 2) == [200, 429]


def test_health_is_never_limited(cast: Cast, settings: Settings) -> None:
    settings.EDITOR_THROTTLE = "0/day"
    assert [cast.alice.get("/healthz").status, cast.alice.get("/readyz").status] == [200, 200]


@pytest.mark.postgresql
def test_the_count_is_shared_by_all_workers_and_exact(tmp_path: Path) -> None:
    with running_service(tmp_path, "--workers", "2", EDITOR_THROTTLE=f"{LIMIT}/day") as service:

        def status(_: int) -> int:
            with connected(service) as api:
                return api.get(AGENTS.path).status

        with ThreadPoolExecutor(8) as pool:
            found = Counter(pool.map(status, range(REQUESTS)))
    assert found == {200: LIMIT, 429: REQUESTS - LIMIT}
