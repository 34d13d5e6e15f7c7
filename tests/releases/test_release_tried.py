"""A release before it is published: as a whole on Preview and Try, and scheduled from its page."""

from __future__ import annotations

from tests.conftest import Cast
from tests.releases.conftest import Pair, item, make, publish
from tests.studio.test_as_if_published import ECHO, run, streams_on
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.served import reference
from tests.support.studio import Visitor, page_of, workspace_page


def test_a_release_is_previewed_and_tried_as_a_whole(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    edgar, with_it = Visitor("edgar"), {"release": release["id"]}
    looks = [f"{page_of(AGENTS, page)}?release={release['id']}" for page in ("preview", "try")]
    assert set(looks) <= set(edgar.get(workspace_page(f"releases/{release['id']}")).links)
    preview = edgar.get(page_of(AGENTS, "preview"), **with_it)
    # The agent and its block both say “new”, where publishing the agent alone would say “new” and “old”.
    assert "As if the whole release were published now." in preview.text
    assert "new new" in preview.text and "new old" not in preview.text
    followed = edgar.post(page_of(AGENTS, "context"), do="show", fragment="", **with_it)
    assert "new new" in followed.text
    assert "new new" not in edgar.get(page_of(AGENTS, "preview")).text
    assert "new" in edgar.get(page_of(PROMPT_BLOCKS, "preview", "tone"), **with_it).text
    for kind, resource_id in ((AGENTS, "writer"), (PROMPT_BLOCKS, "tone")):
        tried = edgar.get(page_of(kind, "try", resource_id), **with_it)
        assert f"/agent/writer/try/run/?release={release['id']}" in tried.markup
        assert f'data-version="{pair.new["writer"]}"' in tried.markup
        assert "With the release" in tried.text and "Live" in tried.text
    for name in ("vera", "charlie"):
        for page in ("preview", "try"):
            assert Visitor(name).get(page_of(AGENTS, page), **with_it).status in {403, 404}
    publish(cast.paula, release)
    assert edgar.get(page_of(AGENTS, "preview"), **with_it).status == 404


def test_try_shows_the_release_next_to_the_live_version(committed_db: None, cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", "old tone", autoPublish=True)
    AGENTS.make(cast.alice, "writer", [reference("tone")], autoPublish=True, model=ECHO)
    PROMPT_BLOCKS.save(cast.edgar, "tone", "new tone")
    release = make(cast.edgar, item(PROMPT_BLOCKS, "tone"))["id"]
    for kind, resource_id in ((AGENTS, "writer"), (PROMPT_BLOCKS, "tone")):
        both = streams_on(Visitor("edgar").get(page_of(kind, "try", resource_id), release=release))
        assert run("edgar", both["With the release"]) == "new tone\n\nHello?"
        assert run("edgar", both["Live"]) == "old tone\n\nHello?"


def test_a_release_is_scheduled_from_its_page_and_linked_in_the_calendar(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    address, paula = workspace_page(f"releases/{release['id']}"), Visitor("paula")
    form = workspace_page(f"releases/{release['id']}/schedule")
    assert form in paula.get(address).links and form not in Visitor("edgar").get(address).links
    paula.post(form, local_time="2027-12-24T09:00", time_zone="Europe/Berlin")
    assert "Fri 24 December 2027 at 08:00 UTC (09:00 Europe/Berlin)" in paula.get(address).text
    assert address in paula.get(workspace_page("calendar"), month="2027-12").links
