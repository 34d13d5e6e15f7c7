"""A gate that is made while a version goes live is asked, too: the one waits for the other."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from tests.conftest import Cast
from tests.schedules.conftest import pass_time, run_due, scheduled
from tests.support.api import AGENTS
from tests.support.doors import make_draft
from tests.support.gates import GATES, make_gate, make_scored_dataset
from tests.support.rollouts import arm
from tests.support.rollouts import start as start_rollout
from versioning.editor import gate as editor_gate
from versioning.models import Event

pytestmark = [pytest.mark.postgresql, pytest.mark.usefixtures("committed_db")]

RATE = [{"rule": "passRate", "min": 0.5}]
Door = Callable[[Cast, str], Any]


def _by_schedule(cast: Cast, draft: str) -> None:
    pass_time(scheduled(cast.paula, AGENTS, draft))
    run_due()


DOORS: dict[str, Door] = {
    "activate": lambda cast, draft: cast.paula.post(AGENTS.url("writer", "versions", draft, "activate")),
    "patch": lambda cast, _: cast.paula.patch(AGENTS.url("writer"), {"autoPublish": True}),
    "release a label": lambda cast, draft: cast.paula.put(
        AGENTS.url("writer", "labels", "beta"), {"versionId": draft, "released": True}
    ),
    "arm": lambda cast, draft: start_rollout(cast.paula, AGENTS, arm(draft)),
    "schedule": _by_schedule,
}
WENT_LIVE = ["agent.published", "agent.labelMoved", "rollout.started"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("others", ["no other gate", "another gate", "a gate that is off"])
def test_a_gate_that_is_made_meanwhile_is_asked(
    cast: Cast, door: str, others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = make_draft(cast, AGENTS)
    dataset = make_scored_dataset(cast.alice)
    if others == "another gate":
        AGENTS.make(cast.edgar, "lead")
        make_gate(cast.alice, dataset, agent="lead", rules=RATE)
    made = make_gate(cast.alice, dataset, rules=RATE, enabled=False) if "off" in others else None
    threads: list[Thread] = []

    def make() -> None:
        try:
            if made is None:
                make_gate(cast.alice, dataset, rules=RATE)
            else:
                assert cast.alice.patch(f"{GATES}/{made['id']}", {"enabled": True}).status == 200
        finally:
            connection.close()

    store_grants = editor_gate.store_grants

    def store_then_make(*arguments: Any) -> None:
        if not threads:
            threads.append(Thread(target=make))
            threads[0].start()
            threads[0].join(timeout=10)
        store_grants(*arguments)

    live = Event.objects.filter(type__in=WENT_LIVE, version_id=draft)
    with monkeypatch.context() as patched:
        patched.setattr(editor_gate, "store_grants", store_then_make)
        DOORS[door](cast, draft)
    threads[0].join()
    gate = Event.objects.filter(type__in=["gate.created", "gate.changed"]).latest("position")
    assert not live.filter(position__gt=gate.position).exists()
