"""People mentioned in comments: who is offered, who is notified, and turning it off."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.mail.models import MailPreferences
from capabilities.mail.recipients import wanted_by
from capabilities.review.comments import possible_names
from capabilities.review.models import Mention
from capabilities.review.studio.threads import waiting_for
from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.comments import change, say
from tests.support.people import person
from tests.support.studio import Visitor, page_of
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.editor import notifications
from versioning.models import Event, caller_for


def news(name: str, *, wanted: bool | None = None) -> list[str]:
    """Return the types of the events that concern a person; with `wanted`, those they want mail about."""
    caller, code = caller_for(User.objects.get(username=name)), get_editor().code
    if wanted is None:
        return [event.type for event in notifications.news(caller, code)]
    preferences = MailPreferences.objects.of([caller.user_id])[caller.user_id]
    found = notifications.concerning(caller, code, Event.objects.all(), wanted_by(preferences))
    return [event.type for event in found]


def mentioned() -> list[str]:
    return sorted(Mention.objects.values_list("user__username", flat=True))


@pytest.fixture
def made(cast: Cast, kind: Kind) -> dict[str, Any]:
    return kind.make(cast.edgar, text="Be kind.")


def test_punctuation_can_end_a_sentence_or_belong_to_a_name() -> None:
    assert possible_names("ada.b.") == ["ada.b.", "ada.b"] and possible_names("..") == ["..", "."]
    assert possible_names("ada" + 100 * ".") == ["ada...", "ada..", "ada.", "ada"]


def test_marks_belong_to_the_names(cast: Cast, kind: Kind, made: dict[str, Any]) -> None:
    for name in ("zo\u00eb", "zoe", "\u0939"):
        person(name, acme=Role.EDITOR.value)
    # The first is written in two characters; the second is not the account of its first letter.
    body = "@zoe\u0308? @\u0939\u093f\u0928\u094d\u0926\u0940! jose\u0301@zoe"
    comment = say(cast.edgar, made, kind, body=body)
    assert mentioned() == ["zo\u00eb"]
    shown = Visitor("alice").get(page_of(kind, "comment", "writer", comment["id"])).markup
    assert '<strong class="mention">@zo\u00eb</strong>?' in shown


def test_people_who_may_read_the_comment_are_notified_by_name(
    cast: Cast, kind: Kind, made: dict[str, Any]
) -> None:
    person("paula.k", acme=Role.EDITOR.value)
    body = "@paula, (@ALICE) mail@vera.example, @vera, @nobody. And @paula.k.\n```suggestion\n@edgar\n```"
    comment = say(cast.edgar, made, kind, body=body)
    assert mentioned() == ["alice", "paula", "paula.k"]  # vera may not read it
    assert news("paula") == ["comment.added"] and news("vera") == []
    shown = Visitor("alice").get(page_of(kind, "comment", "writer", comment["id"])).markup
    assert '<strong class="mention">@paula</strong>,' in shown and "@vera," in shown
    assert '<strong class="mention">@paula.k</strong>.' in shown
    assert "comments" not in [event.split(".")[0] for event in news("charlie")]


def test_the_thread_waits_for_who_is_mentioned(cast: Cast, kind: Kind, made: dict[str, Any]) -> None:
    comment = say(cast.alice, made, kind, body="Hm.")
    say(cast.edgar, made, kind, body="@paula?", parent=comment["id"])
    paula = caller_for(User.objects.get(username="paula"))
    assert [one.body for one in waiting_for(paula)] == ["@paula?"]
    say(cast.paula, made, kind, body="Yes.", parent=comment["id"])
    assert waiting_for(paula) == []


@pytest.mark.database
def test_a_changed_comment_notifies_those_it_did_not_mention(
    cast: Cast, kind: Kind, made: dict[str, Any]
) -> None:
    comment = say(cast.edgar, made, kind, body="@paula")
    change(cast.edgar, comment, body="@paula and @alice")
    assert mentioned() == ["alice", "paula"]
    assert news("paula") == ["comment.added"] and news("alice") == ["comment.changed"]
    change(cast.edgar, comment, body="No one")
    assert mentioned() == [] and news("paula") == []


@pytest.mark.database
def test_mentions_are_turned_off_apart_from_other_comments(
    cast: Cast, kind: Kind, made: dict[str, Any]
) -> None:
    say(cast.paula, made, kind, body="@alice")  # edgar saved it
    for name, off, expected in (
        ("alice", [], ["comment.added"]),
        ("alice", ["mentioned"], []),
        ("alice", ["commentAdded"], ["comment.added"]),
        ("edgar", ["mentioned"], ["comment.added"]),
        ("edgar", ["commentAdded"], []),
    ):
        user = User.objects.get(username=name)
        MailPreferences.objects.update_or_create(user=user, defaults={"turned_off": off})
        assert news(name, wanted=True) == expected


def test_only_people_who_may_read_it_are_offered(cast: Cast, kind: Kind, made: dict[str, Any]) -> None:
    page = Visitor("edgar").get(page_of(kind, "version", "writer", made["latestVersionId"])).markup
    address = page.partition('data-people-choices="')[2].partition('"')[0].replace("&amp;", "&")
    offered = [one["id"] for one in Visitor("edgar").get(address).json()["choices"]]
    assert {"alice", "edgar", "paula"} <= set(offered) and "vera" not in offered
