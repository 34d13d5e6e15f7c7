"""Who else has an edit page open: only for those who may save there."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from studio.models import Presence
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role, person
from tests.support.studio import PageResponse, Visitor, page_of
from versioning.domain.access import Role
from versioning.models import Membership
from versioning.testing import UserFactory


@pytest.fixture
def writer(cast: Cast, kind: Kind) -> Kind:
    kind.make(cast.alice, autoPublish=True)
    return kind


def opens(name: str, kind: Kind, resource_id: str = "writer") -> PageResponse:
    """Let the script of an open page say that it is open."""
    answer: Any = Visitor(name).post(page_of(kind, "present", resource_id))
    return answer


def pass_time(**duration: float) -> None:
    passed = datetime.timedelta(**duration)
    Presence.objects.update(since=F("since") - passed, seen_at=F("seen_at") - passed)


def writes(name: str, kind: Kind) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert opens(name, kind).status == 200
    changes = ("INSERT", "UPDATE", "DELETE")
    # psycopg reports its own statements about transactions without their text.
    statements = [query["sql"] or "" for query in queries]
    return sum(one.startswith(changes) for one in statements if "presence" in one)


def test_people_who_may_save_see_who_else_has_the_page_open(writer: Kind) -> None:
    assert opens("edgar", writer).words == ""
    assert opens("paula", writer).words == "edgar is editing this too."
    for _ in range(5):
        pass_time(minutes=1)
        opens("edgar", writer)
    assert (
        "edgar is editing this too (for 5 minutes)." in Visitor("paula").get(page_of(writer, "change")).words
    )
    assert (
        "paula has" not in Visitor("edgar").get(page_of(writer, "change")).words
    )  # it was closed minutes ago


def test_who_closes_the_page_is_gone_at_once(writer: Kind) -> None:
    edgar = Visitor("edgar")
    opens("edgar", writer)
    assert edgar.post(page_of(writer, "present"), {"gone": ""}).status == 204
    assert opens("paula", writer).words == ""


@pytest.mark.parametrize("loss", ["viewer", "none", "inactive"])
def test_who_may_not_save_any_more_is_not_there(writer: Kind, loss: str) -> None:
    opens("edgar", writer)
    edgar = User.objects.filter(username="edgar")
    if loss == "viewer":
        give_role("edgar", "acme", Role.VIEWER)
    elif loss == "none":
        Membership.objects.filter(user__username="edgar").delete()
    else:
        edgar.update(is_active=False)
    assert opens("paula", writer).words == ""


def test_a_page_that_was_closed_and_opened_again_begins_anew(writer: Kind) -> None:
    opens("edgar", writer)
    pass_time(minutes=10)
    opens("edgar", writer)
    assert opens("paula", writer).words == "edgar is editing this too."
    assert Presence.objects.filter(user__username="edgar").count() == 1


@pytest.mark.database
def test_an_open_page_writes_at_most_once_a_minute(writer: Kind) -> None:
    assert writes("edgar", writer) > 0
    assert writes("edgar", writer) == 0
    pass_time(seconds=50)
    assert writes("edgar", writer) == 0
    pass_time(seconds=10)
    assert writes("edgar", writer) == 1


def test_who_may_not_save_learns_nothing_and_leaves_nothing(cast: Cast, writer: Kind) -> None:
    opens("edgar", writer)
    assert [opens(name, writer).status for name in ("vera", "charlie")] == [403, 404]
    assert opens("edgar", writer, "no-such").status == 404
    assert opens("edgar", writer, "no such\x01").status == 404
    assert Presence.objects.count() == 1
    for name in ("vera", "charlie"):
        assert "is editing this" not in Visitor(name).get(page_of(writer, "change")).words
    assert Visitor("edgar").get(page_of(writer, "present")).status == 405


def test_a_later_resource_with_the_same_id_has_other_people(cast: Cast, writer: Kind) -> None:
    opens("edgar", writer)
    cast.alice.delete(writer.url("writer"))
    writer.make(cast.charlie, workspaceId="elsewhere")
    assert opens("charlie", writer).words == ""


def test_of_many_people_the_first_are_named(cast: Cast, writer: Kind) -> None:
    opens("edgar", writer)
    row = Presence.objects.values("kind", "resource_id", "workspace_id", "since", "seen_at").get()
    people = [UserFactory(username=f"person-{number}", roles={"acme": "editor"}) for number in range(6)]
    Presence.objects.bulk_create([Presence(user=person, **row) for person in people])
    said = opens("alice", writer).words
    assert "person-3" in said and "person-4" not in said
    assert said.endswith("And 2 more people.")


def test_an_agent_that_code_defines_has_an_edit_page_too(db: None, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    for name in ("ada", "bert"):
        person(name, default=Role.ADMIN)
    opens("ada", AGENTS, "answers")
    assert opens("bert", AGENTS, "answers").words == "ada is editing this too."


def test_people_are_called_by_their_names(writer: Kind) -> None:
    User.objects.filter(username="edgar").update(first_name="Edgar", last_name="<b>Poe</b>")
    opens("edgar", writer)
    shown = opens("paula", writer)
    assert shown.words == "Edgar <b>Poe</b> is editing this too." and b"<b>Poe" not in shown.content
