"""When versions were live: what the history shows, and what it does not pretend to know."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.calls import History, make_history
from tests.support.studio import Visitor, page_of
from versioning.models import Event

YEAR = timezone.now().year
CHANGES = ("published", "unpublished")


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    return Visitor("edgar")


@pytest.fixture
def numbers(cast: Cast, kind: Kind) -> list[str]:
    """The ids of versions 1 to 4, none of which was ever live."""
    kind.make(cast.alice)
    for number in (2, 3, 4):
        kind.save(cast.alice, text=f"text {number}")
    return [row["id"] for row in reversed(kind.versions(cast.alice))]


def unpublish(kind: Kind, api: Api) -> None:
    assert api.post(kind.url("writer", "unpublish")).status == 200


def at(month: int, day: int, *, year: int = YEAR) -> datetime.datetime:
    return datetime.datetime(year, month, day, 12, tzinfo=datetime.UTC)


def date(*moments: datetime.datetime) -> None:
    """Set the times of the publications, in their order."""
    changes = [event for event in Event.objects.all() if event.type.rpartition(".")[2] in CHANGES]
    for event, moment in zip(changes, moments, strict=True):
        models.QuerySet.update(Event.objects.filter(pk=event.pk), created_at=moment)


def day(moment: datetime.datetime) -> str:
    """Return a day of this year in words."""
    return f"{moment:%a %-d %B}"


def forget(*, before: int) -> None:
    """Prune all entries of the log but the newest ones."""
    kept = Event.objects.order_by("-position")[:before].values_list("pk", flat=True)
    models.QuerySet.delete(Event.objects.exclude(pk__in=list(kept)))


def live_periods(visitor: Visitor, kind: Kind) -> dict[int, list[str]]:
    items = visitor.get(page_of(kind, "history")).context["items"]
    return {item.entry.version.number: [period.words for period in item.live] for item in items if item.live}


def test_every_version_shows_when_it_was_live(
    cast: Cast, kind: Kind, edgar: Visitor, numbers: list[str]
) -> None:
    for version_id in (numbers[0], numbers[2], numbers[0], numbers[3]):
        kind.publish(cast.alice, "writer", version_id)
    date(at(1, 28), at(2, 3), at(2, 9), at(2, 9))
    assert live_periods(edgar, kind) == {
        1: [f"live on {day(at(2, 9))}, 12:00", "live 28 January – 3 February"],  # noqa: RUF001
        3: ["live 3–9 February"],  # noqa: RUF001
        4: [f"live since {day(at(2, 9))}"],
    }
    assert "is not known" not in edgar.get(page_of(kind, "history")).words
    shown = edgar.get(page_of(kind, "version", "writer", numbers[2])).words
    assert "live 3–9 February" in shown  # noqa: RUF001


def test_an_unpublished_version_has_an_end_of_its_live_period(
    cast: Cast, kind: Kind, edgar: Visitor, numbers: list[str]
) -> None:
    kind.publish(cast.alice, "writer", numbers[0])
    unpublish(kind, cast.alice)
    date(at(5, 3, year=2021), at(5, 9, year=2021))
    assert live_periods(edgar, kind) == {1: ["live 3–9 May 2021"]}  # noqa: RUF001
    assert "Live before Version 1" in edgar.get(page_of(kind, "history")).words


def test_of_many_periods_the_newest_are_shown_and_the_others_counted(
    cast: Cast, kind: Kind, edgar: Visitor, numbers: list[str]
) -> None:
    for _ in range(4):
        kind.publish(cast.alice, "writer", numbers[0])
        kind.publish(cast.alice, "writer", numbers[1])
    date(*(at(3, day) for day in range(1, 9)))
    assert live_periods(edgar, kind)[1] == ["live 7–8 March", "live 5–6 March", "live 2 more times"]  # noqa: RUF001


def test_live_periods_before_the_log_are_not_guessed(
    cast: Cast, kind: Kind, edgar: Visitor, numbers: list[str]
) -> None:
    for version_id in numbers[:3]:
        kind.publish(cast.alice, "writer", version_id)
    date(at(4, 1), at(4, 2), at(4, 3))
    forget(before=1)
    assert live_periods(edgar, kind) == {
        2: [f"live until {day(at(4, 3))}"],
        3: [f"live since {day(at(4, 3))}"],
    }
    shown = edgar.get(page_of(kind, "history"))
    assert f"Which versions were live before {day(at(4, 3))}, 12:00 UTC is not known" in shown.words
    forget(before=0)
    [(number, [words])] = live_periods(edgar, kind).items()
    assert number == 3 and re.fullmatch(rf"live since {day(timezone.now())}, \d\d:\d\d", words)
    assert "is not known: the log has nothing older." in edgar.get(page_of(kind, "history")).words


def test_formerly_live_versions_are_offered_only_to_publishers(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    history = make_history(kind, cast.alice)
    kind.publish(cast.alice, "writer", history.draft)
    address = f"{page_of(kind, 'publish')}?version={history.published}"
    for visitor, is_offered in ((Visitor("paula"), True), (edgar, False)):
        shown = visitor.get(page_of(kind, "history"))
        assert ("Publish version 3 again…" in shown.words) is is_offered
        assert (address in shown.markup) is is_offered
    assert "Publish version 3?" in Visitor("paula").get(address).words.replace("Version", "version")


# Filters


def shown_numbers(visitor: Visitor, kind: Kind, **query: str) -> list[int]:
    found = visitor.get(page_of(kind, "history"), **query)
    assert found.status == 200
    return [item.entry.version.number for item in found.context["items"]]


@pytest.fixture
def history(cast: Cast, kind: Kind) -> History:
    made = make_history(kind, cast.alice)
    kind.save(cast.edgar, text="words of edgar")
    return made


NARROWED: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [5, 4, 3, 2, 1]),
    ({"author": "edgar"}, [5]),
    ({"author": "alice"}, [4, 3, 2, 1]),
    ({"published": "on"}, [3]),
    ({"author": "edgar", "published": "on"}, []),
    ({"author": "-"}, []),
    ({"author": "nobody\0"}, []),
]


def test_the_history_is_narrowed(kind: Kind, edgar: Visitor, history: History) -> None:
    for query, expected in NARROWED:
        assert shown_numbers(edgar, kind, **query) == expected, query


def test_authors_are_offered_and_pages_keep_the_filter(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    make_history(kind, cast.alice)
    for number in range(30):
        kind.save(cast.edgar, text=f"text {number}")
    shown = edgar.get(page_of(kind, "history"), author="edgar")
    assert [name for name, _ in shown.context["authors"]] == ["alice", "edgar"]
    assert 'href="?author=edgar&amp;page=2"' in shown.markup
    assert shown_numbers(edgar, kind, author="edgar", page="2") == [9, 8, 7, 6, 5]


# The filters of the history


@pytest.mark.both_kinds
def test_what_was_live_at_a_time_is_said(cast: Cast, kind: Kind, edgar: Visitor, numbers: list[str]) -> None:
    kind.publish(cast.alice, "writer", numbers[0])
    kind.publish(cast.alice, "writer", numbers[2])
    unpublish(kind, cast.alice)
    date(at(3, 1, year=2020), at(3, 9, year=2020), at(3, 20, year=2020))
    history = page_of(kind, "history")

    def asked(moment: str) -> str:
        return edgar.get(history, at=moment).words

    assert "Live on Sun 1 March 2020, 12:00 UTC: Version 1" in asked("2020-03-01T12:00")
    assert "Live on Mon 9 March 2020, 11:59 UTC: Version 1" in asked("2020-03-09T11:59")
    assert "Live on Mon 9 March 2020, 12:00 UTC: Version 3" in asked("2020-03-09T12:00")
    assert "nothing was live." in asked("2020-03-20T12:00")
    assert "nothing was live." in asked("2020-02-20T12:00")
    assert "This time is in the future." in asked("9990-01-01T00:00")
    for wrong in ("yesterday", "2020-13-01T00:00", "0001-01-01T00:00"):
        assert "Enter a date and a time." in asked(wrong) or "nothing was live" in asked(wrong)
    forget(before=3)
    assert "It is not known what was live on Thu 20 February 2020" in asked("2020-02-20T12:00")
