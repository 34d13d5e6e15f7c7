"""Rollouts that are widened in steps, at times, with the rights and gates of those times."""

from __future__ import annotations

import datetime
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone

from capabilities.rollouts import stepping
from capabilities.rollouts.models import RolloutStep
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.rollouts import with_draft
from tests.support.studio import Visitor, page_of
from versioning.conf import get_editor
from versioning.editor import notifications
from versioning.models import Event, caller_for

pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.database]


def moment(days: int) -> str:
    """Return a local time some days from now."""
    return (timezone.now() + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M")


def planned(cast: Cast, **more: str) -> Visitor:
    """Start a rollout of 5 % with steps to 25 and 100 %; return the window of its author."""
    _, draft = with_draft(cast.alice, AGENTS)
    paula = Visitor("paula")
    times = {"step_1_share": "25", "step_1_at": moment(1), "step_2_share": "100", "step_2_at": moment(2)}
    form = {"version": draft, "share": "5", "key": "userId", "name": "new", **times, **more}
    answer = paula.post(page_of(AGENTS, "share"), **form)
    assert answer.status == 302, answer.text
    return paula


def weight(cast: Cast) -> int:
    [running] = cast.paula.get("/rollouts").body["rollouts"]
    return int(running["arms"][0]["weight"])


def make_due(count: int = 1) -> None:
    """Let the time of the next steps come, and a worker look for them."""
    for step in RolloutStep.objects.waiting()[:count]:
        RolloutStep.objects.filter(pk=step.pk).update(due_at=timezone.now())
    stepping.take_due()


def test_a_rollout_is_widened_at_its_times(cast: Cast) -> None:
    paula = planned(cast)
    stepping.take_due()
    assert weight(cast) == 500
    shown = paula.get(page_of(AGENTS, "rollouts")).text
    assert "“new” to 25%" in shown and "“new” to 100%" in shown and shown.count(": waiting") == 2
    make_due()
    assert weight(cast) == 2500
    make_due()
    stepping.take_due()
    assert weight(cast) == 10_000
    changed = Event.objects.filter(type="rollout.changed")
    assert [(one.actor, one.via) for one in changed] == [("paula", "schedule")] * 2
    assert paula.get(page_of(AGENTS, "rollouts")).text.count(": done") == 2


def test_a_step_passes_the_gates_and_the_later_ones_are_cancelled(cast: Cast) -> None:
    paula = planned(cast)
    get_editor().review_policy.set("acme", required=1)
    make_due()
    assert weight(cast) == 500
    assert [one.state for one in RolloutStep.objects.all()] == ["failed", "cancelled"]
    shown = paula.get(page_of(AGENTS, "rollouts")).text
    assert ": failed." in shown and ": cancelled" in shown
    failed = Event.objects.filter(detail__failedStep="new").values_list("type", "actor", "via")
    assert list(failed) == [("rollout.changed", "paula", "schedule")]
    for name, types in (("paula", ["rollout.changed"]), ("edgar", [])):
        news = notifications.news(caller_for(User.objects.get(username=name)), get_editor().code)
        assert [event.type for event in news if "failedStep" in event.detail] == types
    activity = paula.get(page_of(AGENTS, "activity")).text
    assert "was not widened, although you had planned it. It stays at new 5%" in activity


def test_mail_about_failed_steps_can_be_turned_off(cast: Cast) -> None:
    planned(cast)
    get_editor().review_policy.set("acme", required=1)
    make_due()
    paula = caller_for(User.objects.get(username="paula"))
    for topics, types in (({"stepFailed"}, ["rollout.changed"]), ({"scheduleFailed"}, [])):
        found = notifications.concerning(paula, get_editor().code, Event.objects.all(), topics)
        assert [event.type for event in found] == types


def test_a_step_runs_with_the_rights_of_its_author(cast: Cast) -> None:
    planned(cast)
    User.objects.filter(username="paula").update(is_active=False)
    make_due()
    step = RolloutStep.objects.get(state="failed")
    assert "is gone, or switched off" in step.problem
    assert RolloutStep.objects.waiting().count() == 0


def test_steps_are_cancelled_and_never_narrow(cast: Cast) -> None:
    paula = planned(cast)
    [running] = cast.paula.get("/rollouts").body["rollouts"]
    cast.paula.patch(f"/rollouts/{running['id']}", {"arms": [{"name": "new", "weight": 5000}]})
    make_due()
    assert weight(cast) == 5000
    address = f"{page_of(AGENTS, 'rollouts')}{running['id']}/steps/"
    assert Visitor("edgar").post(address).status == 403
    assert paula.post(address).status == 302
    make_due()
    assert weight(cast) == 5000
    assert [one.state for one in RolloutStep.objects.all()] == ["done", "cancelled"]


def test_narrowing_by_hand_cancels_the_steps(cast: Cast) -> None:
    planned(cast)
    [running] = cast.paula.get("/rollouts").body["rollouts"]
    cast.paula.patch(f"/rollouts/{running['id']}", {"arms": [{"name": "new", "weight": 0}]})
    make_due(2)
    assert weight(cast) == 0
    assert {one.state for one in RolloutStep.objects.all()} == {"cancelled"}


def test_a_step_that_no_worker_took_for_long_fails(cast: Cast) -> None:
    planned(cast)
    RolloutStep.objects.update(run_at=timezone.now() - stepping.GRACE - datetime.timedelta(minutes=1))
    make_due(2)
    assert weight(cast) == 500
    assert [one.state for one in RolloutStep.objects.all()] == ["failed", "cancelled"]


def test_a_step_that_the_database_refuses_delays_no_other(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(cast)
    with monkeypatch.context() as broken:
        broken.setattr(stepping, "reweigh", Mock(side_effect=OperationalError("locked")))
        with pytest.raises(OperationalError):
            make_due()
    assert not RolloutStep.objects.due().exists()
    make_due(2)
    assert weight(cast) == 10_000


def test_steps_of_a_rollout_that_has_ended_are_cancelled(cast: Cast) -> None:
    planned(cast)
    [running] = cast.paula.get("/rollouts").body["rollouts"]
    assert cast.paula.post(f"/rollouts/{running['id']}/stop").status == 200
    assert {one.state for one in RolloutStep.objects.all()} == {"cancelled"}


def test_wrong_steps_are_refused_next_to_their_fields(cast: Cast) -> None:
    _, draft = with_draft(cast.alice, AGENTS)
    form = {"version": draft, "share": "30", "key": "userId", "name": "new"}
    paula, address = Visitor("paula"), page_of(AGENTS, "share")
    for wrong, why in (
        ({"step_1_share": "25", "step_1_at": moment(1)}, "Enter a larger share than before."),
        ({"step_1_share": "50", "step_1_at": moment(-1)}, "Enter a later time."),
        ({"step_1_share": "", "step_1_at": moment(1)}, "Enter a share."),
    ):
        answer = paula.post(address, **form, **wrong)
        assert (answer.status, why in answer.text) == (400, True), answer.text
    assert not RolloutStep.objects.exists()
    assert cast.paula.get("/rollouts").body["rollouts"] == []
