"""Agents and prompt blocks are called by their names, with their ids where several share a name."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Kind
from tests.support.scorers import make_scorer
from tests.support.studio import KINDS, Visitor, page_of, workspace_page

ALL = "/studio/activity/"
NEWS = "/studio/notifications/"
BELL_AND_ACTIVITY = (ALL, workspace_page("activity"), "/studio/", NEWS)


@pytest.mark.both_kinds
def test_the_activity_and_the_bell_say_names_and_link_them(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "support/desk", name="Front desk")
    kind.save(cast.alice, "support/desk", changeMessage="x")
    noun = KINDS[kind].singular
    edgar = Visitor("edgar")
    for address in BELL_AND_ACTIVITY:
        seen = edgar.get(address)
        address_of_it = page_of(kind, "history", "support/desk")
        assert f'href="{address_of_it}">{noun} <bdi>Front desk</bdi></a>' in seen.markup, address
        assert f"{noun} support/desk" not in seen.text


def test_the_id_stands_beside_a_name_that_several_share(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "one", name="Desk")
    edgar = Visitor("edgar")
    assert "Desk one" not in edgar.get(ALL).text
    kind.make(cast.edgar, "two", name="Desk")
    for address in (ALL, "/studio/waiting/"):
        seen = edgar.get(address).text
        assert "Desk one" in seen and "Desk two" in seen, address
    other = PROMPT_BLOCKS if kind is AGENTS else AGENTS
    other.make(cast.edgar, "three", name="Desk")
    assert "Desk three" not in edgar.get(ALL).text  # the word for the kind tells it apart


def test_a_name_is_that_of_the_version_that_the_reader_may_read(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "desk", name="Public name", autoPublish=True)
    kind.save(cast.alice, "desk", name="Secret plan")
    vera, paula = Visitor("vera"), Visitor("paula")
    for address in (ALL, workspace_page("activity"), "/studio/"):
        assert "Secret plan" in paula.get(address).text
        assert "Public name" in vera.get(address).text
        assert "Secret plan" not in vera.get(address).markup


def test_what_is_deleted_is_called_by_its_id_and_not_by_the_name_of_its_successor(
    cast: Cast, kind: Kind
) -> None:
    noun = KINDS[kind].singular
    kind.make(cast.alice, "desk", name="First")
    cast.alice.delete(kind.url("desk"))
    paula = Visitor("paula")
    assert f"alice deleted {noun} desk" in paula.get(ALL).text
    kind.make(cast.alice, "desk", name="Second")
    seen = paula.get(ALL).text
    assert f"alice deleted {noun} desk" in seen and f"alice created {noun} Second" in seen


def test_the_names_take_no_query_for_each_line(cast: Cast, kind: Kind) -> None:
    edgar = Visitor("edgar")

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert edgar.get(ALL).status == 200
        return len(captured)

    kind.make(cast.edgar, "first", name="Desk")
    edgar.get(ALL)
    among_few = queries()
    for number in range(3):
        kind.make(cast.edgar, f"more-{number}", name=f"Desk {number % 2}")
    assert queries() == among_few


def test_the_activity_is_narrowed_to_what_has_a_name(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "desk", name="Public name", autoPublish=True)
    kind.make(cast.alice, "other", name="Another", autoPublish=True)
    kind.save(cast.alice, "desk", name="Secret plan")

    def lines(name: str, target: str) -> int:
        return Visitor(name).get(ALL, target=target).markup.count('<li class="activity-line')

    assert lines("paula", "secret PLAN") == lines("paula", "desk") == 3
    assert (lines("vera", "secret plan"), lines("vera", "public")) == (0, 1)
    assert lines("paula", "nothing") == 0


# Messages about resources


def test_a_refusal_names_the_blocks_that_are_not_published(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", name="Tone of voice")
    AGENTS.make(cast.alice, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    seen = Visitor("alice").get(page_of(AGENTS, "publish"))
    assert "The prompt block “ Tone of voice ” is not published." in seen.text
    german = Visitor("alice").get(page_of(AGENTS, "publish"), headers={"Accept-Language": "de"})
    assert "„<bdi>Tone of voice</bdi>“" in german.markup
    answer = cast.alice.post(AGENTS.url("writer", "versions", "latest", "activate"))
    assert "Tone of voice" not in str(answer.body)


def test_the_name_of_a_block_that_the_reader_may_not_read_is_not_told(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.charlie, "tone", name="Secret name", workspaceId="elsewhere")
    AGENTS.make(cast.alice, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    seen = Visitor("alice").get(page_of(AGENTS, "publish"))
    assert "tone" in seen.text and "Secret name" not in seen.markup


def test_the_lists_of_drafts_name_the_admin_to_ask(cast: Cast) -> None:
    for page in ("/studio/reviews/", "/studio/releases/", "/studio/waiting/"):
        refused = Visitor("vera").get(page)
        assert refused.status == 403 and "Ask an admin: alice" in refused.text


def test_german_sentences_decline_the_word_for_the_kind(cast: Cast) -> None:
    made = make_scorer(cast.alice, "exact")
    SCORERS.publish(cast.alice, "exact", made["latestVersionId"])
    alice = Visitor("alice")
    alice.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    AGENTS.make(cast.alice)
    shown = alice.get(workspace_page("activity")).text
    assert "hat Version 1 des Scorers" in shown
    assert "hat den Scorer" in shown and "hat den Agenten" in shown
