"""The bell: actions of others that concern the person, as far as they may see it."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import undone
from tests.support.override_files import Folder
from tests.support.people import give_role
from tests.support.studio import KINDS, Visitor, page_of
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.editor import notifications
from versioning.models import Invitation, caller_for, events

NEWS = "/studio/notifications/"
LIVE = "/studio/activity/live/"


def unread(window: Visitor) -> str:
    """Return the number of unread notifications; empty for none."""
    markup = window.get("/studio/name/").markup  # every page shows it
    found = re.search(r'class="bell-number" aria-hidden="true"( hidden)?>([^<]*)<', markup)
    assert found is not None
    return "" if found[1] else found[2]


def sentences_for(window: Visitor) -> list[str]:
    """Return the sentences on the page of notifications."""
    markup = window.get(NEWS).markup
    found = re.findall(r'<div class="activity-text">(.*?)</div>', markup, re.DOTALL)
    return [re.sub(r" by key.*", "", " ".join(re.sub(r"<[^>]+>", "", one).split())) for one in found]


def test_authors_are_notified_of_changes_by_others_and_not_of_their_own(cast: Cast, kind: Kind) -> None:
    word = KINDS[kind].singular
    made = kind.make(cast.edgar)
    kind.save(cast.edgar, text="two")
    edgar, vera = Visitor("edgar"), Visitor("vera")
    assert (unread(edgar), sentences_for(edgar)) == ("", [])
    kind.publish(cast.paula, "writer", made["latestVersionId"])
    kind.save(cast.alice, text="three")
    cast.paula.post(kind.url("writer", "unpublish"))
    assert unread(edgar) == "3"
    assert sentences_for(edgar) == [
        f"paula unpublished version 1 of {word} Writer",
        f"alice saved draft 3 of {word} Writer: {'Instructions' if kind is AGENTS else 'Text'}",
        f"paula published version 1 of {word} Writer",
    ]
    assert unread(edgar) == ""
    assert (unread(vera), sentences_for(vera)) == ("", [])


def test_starring_creating_and_saving_are_reasons_for_notifications(cast: Cast, kind: Kind) -> None:
    for why in ["starred", "made", "saved last"]:
        with undone():
            kind.make(cast.edgar if why == "made" else cast.alice, autoPublish=False)
            edgar = Visitor("edgar")
            if why == "starred":
                edgar.post(page_of(kind, "star"), starred="yes")
            if why == "saved last":
                kind.save(cast.edgar, text="of edgar")
            assert unread(edgar) == ""
            kind.save(cast.alice, text="of alice")
            assert unread(edgar) == "1"
            kind.save(cast.paula, text="of paula")
            # The previous author is notified of the first change by another person, not of later ones.
            assert unread(edgar) == ("1" if why == "saved last" else "2")


def test_the_publication_of_an_older_own_version_is_a_notification(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    mine = kind.save(cast.edgar, text="of edgar")["latestVersionId"]
    kind.save(cast.alice, text="of alice")
    edgar = Visitor("edgar")
    edgar.get(NEWS)
    kind.publish(cast.paula, "writer", mine)
    assert unread(edgar) == "1"


def test_events_from_before_the_first_involvement_are_no_notifications(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    kind.save(cast.alice, text="two", autoPublish=True)
    edgar, paula = Visitor("edgar"), Visitor("paula")
    paula.post(page_of(kind, "star"), starred="yes")
    kind.save(cast.edgar, text="of edgar")
    assert sentences_for(edgar) == []
    assert len(sentences_for(paula)) == 1


def test_authors_are_notified_of_a_deletion(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    kind.save(cast.edgar, text="of edgar")
    kind.save(cast.alice, text="of alice")
    cast.alice.delete(kind.url("writer"))
    kind.make(cast.alice)  # the same id again
    kind.save(cast.alice, text="x")
    sentences = sentences_for(Visitor("edgar"))
    assert sentences == [f"alice deleted {KINDS[kind].singular} writer"]
    assert sentences_for(Visitor("paula")) == []


def test_notifications_follow_the_rights_of_the_reader(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, autoPublish=False)
    edgar = Visitor("edgar")
    edgar.post(page_of(kind, "star"), starred="yes")
    kind.publish(cast.paula, "writer", kind.save(cast.alice, text="secret")["latestVersionId"])
    assert len(sentences_for(edgar)) == 2
    give_role("edgar", "acme", "viewer")
    assert [one for one in sentences_for(edgar) if "role" not in one] == [
        f"paula published version 2 of {KINDS[kind].singular} Writer"
    ]
    get_editor().workspace.remove("acme", "edgar", by=User.objects.get(username="alice"))
    give_role("edgar", "elsewhere", "admin")
    assert sentences_for(edgar) == ["The application added you as admin"]


def test_non_members_are_notified_of_public_events_of_an_agent_that_they_starred(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    charlie = Visitor("charlie")
    charlie.post(page_of(AGENTS, "star"), starred="yes")
    draft = AGENTS.save(cast.edgar, text="secret draft")["latestVersionId"]
    assert unread(charlie) == ""
    AGENTS.publish(cast.alice, "writer", draft)
    assert (unread(charlie), len(sentences_for(charlie))) == ("1", 1)
    cast.alice.patch(AGENTS.url("writer"), {"visibility": "private"})
    AGENTS.publish(cast.alice, "writer", AGENTS.save(cast.edgar, text="x")["latestVersionId"])
    assert "published version 3" not in " ".join(sentences_for(charlie))


def test_members_are_notified_of_changes_of_their_own_role_only(cast: Cast) -> None:
    alice = User.objects.get(username="alice")
    for name in ("edgar", "vera"):
        get_editor().workspace.change_role("acme", name, Role.PUBLISHER, by=alice)
    assert sentences_for(Visitor("edgar")) == ["alice changed the role of edgar from editor to publisher"]
    assert sentences_for(Visitor("paula")) == []
    assert cast.edgar.get("/events", type="member.*").body["events"] == []


def test_the_inviter_is_notified_of_an_accepted_invitation(cast: Cast) -> None:
    editor, alice = get_editor(), User.objects.get(username="alice")
    editor.invitation.invite("acme", "charlie", Role.EDITOR, by=alice)
    digest = Invitation.objects.get(username="charlie").digest
    editor.invitation.accept(digest, by=User.objects.get(username="charlie"))
    assert any("charlie" in one and "invited by you" in one for one in sentences_for(Visitor("alice")))


def test_the_number_of_unread_notifications_is_shown_up_to_nine(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    for number in range(11):
        kind.save(cast.alice, text=f"text {number}")
    assert unread(Visitor("edgar")) == "9+"


def test_an_open_page_gets_the_number_of_notifications_after_an_event(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    client, start = Visitor("edgar"), events.position()
    asked = {"after": start, "resource_kind": "agent", "resource_id": "another"}
    assert client.get(LIVE, asked).json() == {"changed": False, "next": start}
    kind.save(cast.alice, text="two")
    assert client.get(LIVE, asked).json() == {"changed": False, "next": events.position(), "unread": 1}


def test_background_requests_do_not_mark_notifications_as_seen(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    kind.save(cast.alice, text="two")
    edgar = Visitor("edgar")
    edgar.get(NEWS, headers={"X-Live": "1"})
    assert unread(edgar) == "1"


def test_people_who_starred_an_agent_are_notified_of_its_overrides(cast: Cast, folder: Folder) -> None:
    folder.put({"instructions": "by hand"})
    give_role("alice", "default", "admin")
    vera = Visitor("vera")
    vera.post(page_of(AGENTS, "star", "answers"), starred="yes")
    draft = AGENTS.save(cast.alice, "answers", "two")["latestVersionId"]
    AGENTS.publish(cast.alice, "answers", draft)
    assert sentences_for(vera) == ["alice published version 1 of agent Answers in place of the override file"]


def test_the_number_of_notifications_takes_one_query_for_any_length_of_the_log(cast: Cast) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        kind.make(cast.edgar)
        kind.save(cast.alice, text="two")
    caller_of = {name: User.objects.get(username=name) for name in ("edgar", "alice")}
    for caller in map(caller_for, caller_of.values()):
        code = get_editor().code
        with CaptureQueriesContext(connection) as queries:
            notifications.unread(caller, code, after=0, limit=10)
        assert len(queries) == 1


def test_an_application_registers_a_notification_rule(cast: Cast, kind: Kind, monkeypatch: Any) -> None:
    monkeypatch.setattr(notifications, "_rules", [*notifications._rules])
    notifications._queries._held.clear()
    kind.make(cast.alice)
    edgar = Visitor("edgar")
    assert unread(edgar) == ""
    notifications.register(
        notifications.NotificationRule(condition=lambda _caller: Q(type__endswith=".created"))
    )
    notifications._queries._held.clear()
    assert unread(edgar) == "1"
    notifications._queries._held.clear()
