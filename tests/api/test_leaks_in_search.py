"""The search matches, counts and shows nothing that the caller may not read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.test_text_search import Follow, follow, hits, ids, search, shown
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.override_files import Folder
from tests.support.people import give_role
from versioning.domain.access import Role

__all__ = ["follow"]

NOBODY_ELSES = ("vera", "charlie")


@pytest.mark.database
def test_drafts_are_found_only_by_callers_who_may_read_drafts(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.alice, text="live parrots", name="Birds", autoPublish=True)
    kind.save(cast.edgar, text="secret pelicans", name="Pelicans", description="of pelicans")
    kind.make(cast.edgar, "pelican/draft", "pelicans only")
    follow()
    for name in ("edgar", "paula", "alice", "root"):
        assert sorted(ids("pelicans", name)) == ["pelican/draft", "writer"], name
    for name in NOBODY_ELSES:
        found = search("pelicans", name)
        assert set(found.counts.values()) == {0} and found.hits(0, 9) == [], name
        assert search("secret", name).hits(0, 9) == search("elican", name).hits(0, 9) == []
    [hit] = hits("birds", "vera")
    assert (hit.entry.name, shown(hit)) == ("Birds", "live parrots")
    give_role("edgar", "acme", Role.VIEWER)
    assert search("pelicans", "edgar").hits(0, 9) == []


def test_live_texts_are_found_by_members_and_those_of_public_agents_by_every_caller(
    cast: Cast, kind: Kind, follow: Follow
) -> None:
    kind.make(cast.alice, text="live parrots", autoPublish=True)
    follow()
    assert ids("parrots", "vera") == ["writer"] and ids("parrots", "charlie") == []
    if kind is AGENTS:
        assert cast.alice.patch(kind.url("writer"), {"visibility": "public"}).status == 200
        kind.save(cast.edgar, text="secret pelicans")
        for _ in range(2):
            [hit] = hits("parrots", "charlie")
            assert shown(hit) == "live [parrots]"
            assert ids("pelicans", "charlie") == []
            follow()


def test_other_workspaces_find_nothing(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.charlie, "theirs", "parrots of elsewhere", workspaceId="elsewhere", autoPublish=True)
    kind.make(cast.alice, "ours", "parrots of acme", autoPublish=True)
    follow()
    assert ids("parrots", "charlie") == ["theirs"]
    for name in ("alice", "paula", "edgar", "vera"):
        assert ids("parrots", name) == ["ours"], name
        assert search("elsewhere", name).hits(0, 9) == []
    assert sorted(ids("parrots", "root")) == ["ours", "theirs"]


@pytest.mark.database
def test_the_order_of_results_does_not_reveal_a_hidden_name(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.alice, "renamed", "about parrots", name="Birds", autoPublish=True)
    kind.make(cast.alice, "second", "about parrots", name="Birds, too", autoPublish=True)
    kind.save(cast.alice, "renamed", text="about parrots", name="Parrots")
    follow()
    assert ids("parrots", "edgar") == ["renamed", "second"]
    kind.save(cast.alice, "second", text="about parrots", description="touched", autoPublish=True)
    assert ids("parrots", "vera")[0] == "second"
    assert [hit.entry.name for hit in hits("parrots", "vera")] == ["Birds, too", "Birds"]


def test_viewers_do_not_find_unpublished_resources(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.alice, text="live parrots", autoPublish=True)
    follow()
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    for _ in range(2):
        assert ids("parrots", "vera") == [] and ids("parrots", "edgar") == ["writer"]
        follow()


def test_overrides_in_files_are_found_as_far_as_they_may_be_read(
    cast: Cast, folder: Folder, follow: Follow
) -> None:
    for name, role in (("edgar", Role.EDITOR), ("vera", Role.VIEWER)):
        give_role(name, "default", role)
    folder.put({"instructions": "live parrots"})
    answer = cast.root.post(AGENTS.path, {"id": "other", "name": "x", "instructions": "x"})
    assert answer.status in {201, 400}
    assert AGENTS.save(cast.edgar, "answers", text="secret pelicans")
    follow()
    assert ids("pelicans", "edgar") == ["answers"]
    assert ids("pelicans", "vera") == [] and ids("parrots", "vera") == ["answers"]


def test_private_agents_of_the_code_are_for_members_of_its_workspace(
    cast: Cast, settings: Any, follow: Follow
) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.private_code.framework"
    give_role("edgar", "default", Role.EDITOR)
    assert ids("hidden", "edgar") == ids('"in code"', "edgar") == ["hidden"]
    override = {"id": "hidden", "instructions": "override of pelicans"}
    assert cast.edgar.post(AGENTS.path, override).status == 201
    follow()
    assert ids("pelicans", "edgar") == ["hidden"]
    for text in ("hidden", "in code", "pelicans", "override"):
        assert search(text, "charlie").hits(0, 9) == [], text
