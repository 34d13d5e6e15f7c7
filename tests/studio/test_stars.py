"""Stars: personal, on every page of a resource, and the favorites of the API."""

from __future__ import annotations

import re

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.override_files import Folder
from tests.support.studio import Visitor, page_of
from versioning.models import Favorite


def pressed(window: Visitor, kind: Kind, page: str = "change") -> str | None:
    """Return whether the star at the head of a page is set; None where there is none."""
    found = re.search(r'class="star"[^>]* aria-pressed="(\w+)"', window.get(page_of(kind, page)).markup)
    return found and found[1]


def star_from(address: str, window: Visitor, kind: Kind) -> str:
    """Set a star on the page with this URL, without a script; return the redirect."""
    headers = {"Referer": address}
    done = window.post(page_of(kind, "star"), {"starred": "yes"}, headers=headers)
    return str(done.headers["Location"])


def test_a_star_is_set_and_removed_for_the_person_only(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    vera, edgar = Visitor("vera"), Visitor("edgar")
    assert pressed(vera, kind) == "false"
    assert star_from("http://testserver/studio/?page=2", vera, kind) == "/studio/?page=2"
    assert [pressed(vera, kind, page) for page in ("change", "usage", "activity")] == ["true"] * 3
    assert pressed(edgar, kind) == "false"
    assert cast.vera.get(kind.url("writer")).body["isFavorited"] is True
    vera.post(page_of(kind, "star"), starred="no")
    assert (pressed(vera, kind), Favorite.objects.count()) == ("false", 0)


def test_a_script_gets_a_json_answer(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    window = Visitor("vera")
    for word, is_set in (("yes", True), ("yes", True), ("no", False)):
        answer = window.post(page_of(kind, "star"), {"starred": word}, headers={"Accept": "application/json"})
        assert answer.json() == {"starred": is_set}


def test_a_star_does_not_reveal_that_a_resource_exists(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "draft")
    kind.make(cast.alice, "live", autoPublish=True)
    for name, hidden in (("charlie", ("draft", "live")), ("vera", ("draft",))):
        window = Visitor(name)
        missing = window.post(page_of(kind, "star", "none"), starred="yes")
        for resource_id in hidden:
            refused = window.post(page_of(kind, "star", resource_id), starred="yes")
            assert (refused.status, refused.text) == (404, missing.text)
    assert not Favorite.objects.exists()


def test_a_star_redirects_to_no_other_place(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    alice = Visitor("alice")
    for address in ["https://example.org/studio/", "http://testserver/api/", "javascript:", ""]:
        assert star_from(address, alice, kind) == page_of(kind, "change")


def test_an_agent_without_a_record_has_no_star(cast: Cast, folder: Folder) -> None:
    assert pressed(Visitor("alice"), AGENTS) is None
    assert 'class="star"' not in Visitor("alice").get(page_of(AGENTS, "change", "answers")).markup
    assert Visitor("alice").post(page_of(AGENTS, "star", "answers"), starred="yes").status == 404
    folder.put({"instructions": "by hand"})
    assert Visitor("alice").post(page_of(AGENTS, "star", "answers"), starred="yes").status == 302
    PROMPT_BLOCKS.make(cast.alice)
    assert pressed(Visitor("alice"), PROMPT_BLOCKS) == "false"
