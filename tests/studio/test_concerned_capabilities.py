"""Panels are asked only of the capabilities that have something about the resource, in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils.safestring import SafeString

from studio.extensions import REGISTERED, Extension, VersionButton
from studio.panels import Panel, Slot, VersionOnPage
from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.comments import say
from tests.support.served import published_agent
from tests.support.studio import Visitor, page_of
from versioning.domain.access import Right


class Notes:
    """A capability about resources with comments."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def concerns(self, about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
        from capabilities.review.models import Comment  # noqa: PLC0415  the models are ready by now

        return [Comment.objects.filter(**about)]

    def panels(self, shown: VersionOnPage) -> Iterator[Panel]:
        self.asked.append(shown.page)
        yield Panel(slot=Slot.VERSION, html=SafeString("<p>It has notes.</p>"))

    def extension(self, **more: Any) -> Extension:
        button = VersionButton(
            page="schedule", template="schedules/button.html", right=Right.PUBLISH, on={"publish"}
        )
        return Extension(panels=self.panels, concerns=self.concerns, buttons=[button], **more)


@pytest.fixture
def notes() -> Iterator[Notes]:
    capability = Notes()
    extension = capability.extension()
    REGISTERED.append(extension)
    yield capability
    REGISTERED.remove(extension)


def test_a_capability_is_asked_about_resources_with_its_rows_and_has_a_button_elsewhere(
    cast: Cast, kind: Kind, notes: Notes
) -> None:
    made = kind.make(cast.alice, "writer")
    kind.publish(cast.alice, "writer", made["latestVersionId"])
    draft = kind.save(cast.alice, "writer", "more words")
    alice = Visitor("alice")
    plain = alice.get(page_of(kind, "publish")).markup
    assert (notes.asked, "It has notes." in plain, plain.count("Schedule…")) == ([], False, 2)
    say(cast.alice, draft, kind)
    noted = alice.get(page_of(kind, "publish")).markup
    assert (notes.asked, "It has notes." in noted, noted.count("Schedule…")) == (["publish"], True, 1)


def test_further_capabilities_take_no_further_statement(cast: Cast, notes: Notes) -> None:
    published_agent(cast.alice, "writer")
    alice, page = Visitor("alice"), "/studio/versioning/agent/writer/history/"

    def statements() -> int:
        alice.get(page)
        with CaptureQueriesContext(connection) as queries:
            alice.get(page)
        return len(queries)

    before, more = statements(), [Notes().extension() for _ in range(5)]
    REGISTERED.extend(more)
    try:
        assert 0 < statements() == before
    finally:
        for extension in more:
            REGISTERED.remove(extension)


def test_without_the_page_or_the_right_a_capability_is_not_asked(cast: Cast, kind: Kind) -> None:
    say(cast.alice, kind.make(cast.alice, "writer"), kind)
    elsewhere, forbidden, everywhere = Notes(), Notes(), Notes()
    more = [
        elsewhere.extension(panels_on={"compare"}),
        forbidden.extension(panels_need=Right.PUBLISH),
        everywhere.extension(),
    ]
    REGISTERED.extend(more)
    try:
        assert Visitor("edgar").get(page_of(kind, "change")).status == 200
    finally:
        for extension in more:
            REGISTERED.remove(extension)
    assert (elsewhere.asked, forbidden.asked, everywhere.asked) == ([], [], ["edit"])
