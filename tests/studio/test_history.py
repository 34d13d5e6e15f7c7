"""The history of a resource on its pages: who sees which versions, and what can be done with a version."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.calls import SECRETS, History, make_history
from tests.support.studio import Visitor, page_of
from versioning.models import Event


@pytest.fixture(scope="module")
def histories(
    stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]
) -> dict[Kind, History]:
    """Four versions of each kind: labelled, historical, published, draft."""
    with stored_once():
        return {kind: make_history(kind, Api(shared_keys["alice"])) for kind in (AGENTS, PROMPT_BLOCKS)}


@pytest.fixture
def cast(shared_cast: Cast) -> Cast:
    """The cast, which is the same in every test of this module."""
    return shared_cast


@pytest.fixture
def history(cast: Cast, histories: dict[Kind, History], kind: Kind) -> History:
    """The versions of the kind that the test is about."""
    return histories[kind]


def version_page(kind: Kind, version_id: str, page: str = "version") -> str:
    return page_of(kind, page, "writer", version_id)


def states(cast: Cast, kind: Kind) -> list[tuple[int, str]]:
    return [(row["versionNumber"], row["state"]) for row in kind.versions(cast.alice)]


# The timeline


def test_the_timeline_lists_all_versions_newest_first(kind: Kind, history: History) -> None:
    answer = Visitor("edgar").get(page_of(kind, "history"))
    items = answer.context["items"]
    assert [item.entry.title for item in items] == ["Version 4", "Version 3", "Version 2", "Version 1"]
    assert [item.entry.state.value for item in items] == ["draft", "published", "historical", "historical"]
    assert [[label.name for label in item.entry.labels] for item in items] == [[], ["stable"], [], ["first"]]
    words = answer.words
    assert "Auto-saved" not in words and "Initial version" not in words
    assert "The first version" in words and ("Instructions" if kind is AGENTS else "Text") in words


def test_a_long_timeline_has_pages(cast: Cast, kind: Kind, history: History) -> None:
    for number in range(5, 31):
        kind.save(cast.alice, text=f"text {number}")
    visitor = Visitor("edgar")
    first, second = (visitor.get(page_of(kind, "history"), page=page).context["items"] for page in "12")
    numbers = [item.entry.version.number for item in [*first, *second]]
    assert numbers == list(range(30, 0, -1))
    assert first[-1].links["with_previous"].endswith(f"to={first[-1].entry.version.version_id}")


# Rights


def test_a_viewer_sees_only_the_published_version_in_the_history(kind: Kind, history: History) -> None:
    vera = Visitor("vera")
    answer = vera.get(version_page(kind, history.published))
    assert "published words" in answer.words
    for secret in (*SECRETS, "Version 2", "Version 4", "first", history.draft, history.historical):
        assert secret not in answer.markup
    for hidden in (history.draft, history.historical, history.labelled):
        assert vera.get(version_page(kind, hidden)).status == 403


def test_a_missing_version_is_not_found(kind: Kind, history: History) -> None:
    for version_id in ["unknown", "00000000-0000-0000-0000-000000000000", "git-%00"]:
        assert Visitor("edgar").get(version_page(kind, version_id)).status == 404


def test_a_version_offers_the_actions_that_the_role_allows(kind: Kind, history: History) -> None:
    of_publishers = ("Publish this version…", "Delete this version…", "Set or move a label here")
    for name, is_publisher in (("edgar", False), ("paula", True)):
        words = Visitor(name).get(version_page(kind, history.historical)).words
        assert "Restore as a draft" in words
        assert [offer in words for offer in of_publishers] == [is_publisher] * 3
    words = Visitor("paula").get(page_of(kind, "publish"), version=history.historical).words
    assert "This is not the newest version: Version 4 was saved after it" in words


# Actions on a version


ACTIONS = [
    ("vera", "versions/{historical}/restore"),
    ("edgar", "versions/{draft}/labels"),
    ("edgar", "versions/{historical}/delete"),
    ("edgar", "publish"),
]


def test_actions_beyond_the_role_are_refused(cast: Cast, kind: Kind, history: History) -> None:
    before, entries = states(cast, kind), Event.objects.count()
    tag = Visitor("alice").get(page_of(kind, "history")).field("tag")
    typed = {"tag": tag, "name": "mine", "version": history.draft}
    for name, page in ACTIONS:
        answer = Visitor(name).post(page_of(kind, page.format(**vars(history))), **typed)
        assert answer.status == 403
        assert (states(cast, kind), Event.objects.count()) == (before, entries)


def test_an_older_version_is_restored_as_a_draft(cast: Cast, kind: Kind, history: History) -> None:
    edgar = Visitor("edgar")
    tag = edgar.get(page_of(kind, "history")).field("tag")
    answer = edgar.submit(version_page(kind, history.historical, "restore"), tag=tag)
    assert "Version 5 is a copy of Version 2 , and a draft" in answer.words
    assert "Restored from version 2" in answer.words
    assert f'<a class="link" href="{version_page(kind, history.historical)}">Version 2</a>' in answer.markup
    assert states(cast, kind)[:3] == [(5, "draft"), (4, "historical"), (3, "published")]
    assert cast.alice.get(kind.url("writer"), status="draft").body[kind.text] == "historical words"


def stale_actions(history: History) -> dict[str, dict[str, str]]:
    return {
        f"versions/{history.historical}/restore": {},
        f"versions/{history.draft}/labels": {"name": "canary"},
        f"versions/{history.historical}/delete": {},
    }


def test_a_stale_action_on_a_version_is_refused(cast: Cast, kind: Kind, history: History) -> None:
    paula = Visitor("paula")
    tag = paula.get(page_of(kind, "history")).field("tag")
    kind.save(cast.edgar, text="words of edgar")
    before = states(cast, kind)
    for page, typed in stale_actions(history).items():
        answer = paula.submit(page_of(kind, page), tag=tag, **typed)
        assert "Someone changed this in the meantime, so nothing was done." in answer.words
    assert states(cast, kind) == before


def test_a_label_is_set_moved_removed_released_and_withdrawn(
    cast: Cast, kind: Kind, history: History
) -> None:
    paula = Visitor("paula")
    shown = paula.get(page_of(kind, "history"))
    for name, action, said, status in (
        ("stable", {}, "The label stable is set. It was at version 3 before.", 403),
        ("canary", {"released": "true"}, "The label canary is set and released.", 200),
        ("canary", {}, "canary · released", 200),
        ("canary", {"action": "withdraw"}, "The label canary is no longer released.", 403),
        ("canary", {"action": "release"}, "The label canary is set and released.", 200),
        ("canary", {"action": "remove"}, "", 404),
        ("later", {}, "The label later is set.", 403),
    ):
        typed = {"tag": shown.field("tag"), "name": name, **action}
        shown = paula.submit(version_page(kind, history.draft, "labels"), **typed)
        assert said in shown.words.replace("3  before", "3 before")
        assert cast.vera.get(kind.url("writer"), label=name).status == status
    labels = {
        row["name"]: row["versionNumber"]
        for row in cast.alice.get(kind.url("writer", "labels")).body["labels"]
    }
    assert labels == {"latest": 4, "production": 3, "first": 1, "stable": 4, "later": 4}


def test_the_reason_why_a_label_cannot_be_released_is_shown_next_to_its_field(cast: Cast) -> None:
    blocks = [{"type": "prompt_block_ref", "id": name} for name in ("rules", "missing")]
    version = AGENTS.make(cast.alice, "user", instructions=blocks)["latestVersionId"]
    paula = Visitor("paula")
    tag = paula.get(page_of(AGENTS, "version", "user", version)).field("tag")
    page = page_of(AGENTS, "labels", "user", version)
    answer = paula.submit(page, tag=tag, name="canary", released="true")
    assert answer.status == 400
    assert (
        "“rules” does not exist, or you may not read it; the prompt block “missing”"
        in answer.context["label_error"]
    )
    assert 'name="released" value="true" aria-describedby="label-released-help" checked' in answer.markup


def test_an_invalid_label_is_refused_next_to_its_field(kind: Kind, history: History) -> None:
    paula = Visitor("paula")
    tag = paula.get(page_of(kind, "history")).field("tag")
    for name in ["", "Latest", "latest", "42", "a b", "x" * 65]:
        answer = paula.post(version_page(kind, history.draft, "labels"), tag=tag, name=name)
        assert answer.status == 400
        assert answer.context["label_typed"] == name and answer.context["label_error"]


def test_a_version_is_deleted_after_confirmation(cast: Cast, kind: Kind, history: History) -> None:
    paula = Visitor("paula")
    address = version_page(kind, history.historical, "version_delete")
    asked = paula.get(address)
    assert "Delete version 2?" in asked.words
    assert "Version 2 is deleted." in paula.submit(address, tag=asked.field("tag")).words
    assert [number for number, _ in states(cast, kind)] == [4, 3, 1]


# Publishing


def publish(visitor: Visitor, kind: Kind, version_id: str) -> Any:
    shown = visitor.get(page_of(kind, "publish"), version=version_id)
    return visitor.submit(page_of(kind, "publish"), version=version_id, tag=shown.field("tag"))


def test_the_publish_page_shows_the_difference_from_the_live_version(kind: Kind, history: History) -> None:
    answer = Visitor("paula").get(page_of(kind, "publish"))
    words = answer.words
    assert "Publish version 4?" in words and "Replaces version 3 (kept" in words
    assert [field.name for field in answer.context["fields"]] == [kind.text]
    assert "<del>published</del><ins>draft</ins> words" in answer.markup


def test_exactly_the_version_that_was_shown_is_published(cast: Cast, kind: Kind, history: History) -> None:
    for version_id in (history.historical, history.draft):
        assert "is live." in publish(Visitor("paula"), kind, version_id).words
        assert cast.vera.get(kind.url("writer")).body["activeVersionId"] == version_id


def test_a_stale_publication_is_refused_and_shows_the_new_state(
    cast: Cast, kind: Kind, history: History
) -> None:
    paula = Visitor("paula")
    tag = paula.get(page_of(kind, "publish")).field("tag")
    kind.save(cast.edgar, text="words of edgar")
    answer = paula.submit(page_of(kind, "publish"), version=history.draft, tag=tag)
    assert answer.status == 409
    assert "Version 5 was saved last by edgar" in answer.words
    beside = paula.get(page_of(kind, "publish") + answer.context["layouts"][1].address)
    assert beside.context["version"].number == 4 and b'<table class="diff side-by-side"' in beside.content
    assert cast.vera.get(kind.url("writer")).body["activeVersionId"] == history.published
    again = paula.submit(page_of(kind, "publish"), version=history.draft, tag=answer.field("tag"))
    assert "Version 4 is live." in again.words


def test_unpublished_blocks_prevent_publishing_and_are_named(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", name="Tone")
    references = [{"type": "prompt_block_ref", "id": name} for name in ("tone", "absent")]
    draft = AGENTS.make(cast.alice, "user", instructions=references)["latestVersionId"]
    paula = Visitor("paula")
    shown = paula.get(page_of(AGENTS, "publish", "user"))
    assert "prompt block “ Tone ” is not published" in shown.words
    assert "prompt block “absent” does not exist" in shown.words
    refused = paula.submit(page_of(AGENTS, "publish", "user"), version=draft, tag=shown.field("tag"))
    assert refused.status == 400 and "This cannot be published yet." in refused.words
    assert cast.alice.get(AGENTS.url("user")).body["status"] == "draft"
