"""The log: positions in the order of commits, no entry without its change, no change without its entry."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from versioning.domain.access import APPLICATION, Caller, Via
from versioning.domain.events import Reach, Target
from versioning.models import Event, Workspace, events

pytestmark = pytest.mark.database


class Failure(Exception):
    """A failure within a transaction."""


def note(workspace_id: str) -> None:
    """Record a change that was made, together with a row that the change made."""
    Workspace.objects.create(id=workspace_id, name=workspace_id)
    events.record("workspace.created", by=APPLICATION, workspace_id=workspace_id)


def fail_after(workspace_id: str) -> None:
    """Record a change, then fail."""
    note(workspace_id)
    raise Failure


def logged() -> list[tuple[int, str]]:
    return [(event.position, event.workspace_id) for event in events.entries(0)]


@pytest.mark.django_db
def test_entries_follow_each_other_without_a_gap() -> None:
    with events.transaction():
        note("a")
        note("b")
    with events.transaction():
        note("c")
    assert logged() == [(1, "a"), (2, "b"), (3, "c")]
    assert events.position() == 3
    assert [event.workspace_id for event in events.entries(1, limit=1)] == ["b"]


@pytest.mark.django_db
def test_entries_of_one_position_are_never_split() -> None:
    agents = [
        Target(kind="agent", id=f"a{number}", identity=uuid4(), workspace_id="acme", reach=Reach.MEMBERS)
        for number in range(3)
    ]
    with events.transaction():
        events.record("workspace.created", by=APPLICATION, workspace_id="acme", seen_in=agents)
        note("b")
    for limit in (1, 2, 4):
        found = [(event.position, event.ordinal) for event in events.entries(0, limit=limit)]
        assert found == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert len(events.entries(0, limit=5)) == 5


@pytest.mark.django_db
def test_an_entry_about_anything_but_a_target_says_how_to_make_one() -> None:
    about: Any = Workspace(pk="acme")
    with pytest.raises(TypeError, match=r"target_of\(.* not an object of Workspace"), events.transaction():
        events.record("workspace.created", by=APPLICATION, workspace_id="acme", resource=about)
    assert logged() == []


@pytest.mark.django_db
def test_nothing_is_recorded_outside_of_a_transaction() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        events.record("workspace.created", by=APPLICATION, workspace_id="a")
    with events.transaction():
        pass
    with pytest.raises(RuntimeError, match="transaction"):
        events.record("workspace.created", by=APPLICATION, workspace_id="a")


@pytest.mark.django_db
def test_an_undeclared_type_is_refused() -> None:
    with pytest.raises(KeyError), events.transaction():
        events.record("workspace.painted", by=APPLICATION, workspace_id="a")


@pytest.mark.usefixtures("committed_db")
def test_a_rolled_back_entry_takes_no_position() -> None:
    with pytest.raises(Failure), events.transaction():
        fail_after("a")
    with events.transaction():
        note("b")
    assert logged() == [(1, "b")]


@pytest.mark.usefixtures("committed_db")
def test_a_joined_transaction_that_fails_takes_its_entries_with_it() -> None:
    with events.transaction():
        note("a")
        with pytest.raises(Failure), events.transaction():
            fail_after("b")
        note("c")
    assert logged() == [(1, "a"), (2, "c")]
    assert set(Workspace.objects.filter(pk__in="abc").values_list("pk", flat=True)) == {"a", "c"}


@pytest.mark.usefixtures("committed_db")
def test_entries_are_rolled_back_with_the_transaction_of_an_application() -> None:
    def change_and_fail() -> None:
        with events.transaction():
            note("a")
        assert logged() == [(1, "a")]
        raise Failure

    with pytest.raises(Failure), transaction.atomic():
        change_and_fail()
    assert logged() == []
    assert events.position() == 0


@pytest.mark.django_db
def test_an_entry_names_its_actor_and_interface() -> None:
    ada = Caller(username="ada", key_prefix="ek_ab12", via=Via.API)
    with events.transaction():
        events.record("workspace.updated", by=ada, workspace_id="a", fields=["name"])
    [event] = events.entries(0)
    assert (event.actor, event.via, event.key_prefix) == ("ada", "api", "ek_ab12")
    assert (event.detail, event.audience) == ({"fields": ["name"]}, "admins")


@pytest.mark.django_db
def test_all_entries_of_a_transaction_cost_as_many_statements_as_one() -> None:
    spent = []
    for number in (1, 20):
        with CaptureQueriesContext(connection) as statements, events.transaction():
            for _ in range(number):
                events.record("workspace.updated", by=APPLICATION, workspace_id="a", fields=["name"])
        spent.append(len(statements))
    assert spent[0] == spent[1]
    assert Event.objects.count() == 21


@pytest.mark.django_db
def test_thousands_of_entries_fit_into_a_transaction() -> None:
    with events.transaction():
        for _ in range(1203):
            events.record("workspace.updated", by=APPLICATION, workspace_id="a", fields=["name"])
    assert [event.position for event in events.entries(0, limit=5000)] == list(range(1, 1204))
