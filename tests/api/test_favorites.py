"""Favorites: marks of one person, which change no record, entity tag or history for other people."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.door import FrontDoor
from tests.support.override_files import Folder
from tests.support.people import give_role, key_of
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.domain.errors import Forbidden
from versioning.models import Favorite

URL = AGENTS.url("writer")


def mark(api: Api, resource_id: str = "writer", kind: Kind = AGENTS) -> Answer:
    return api.put(kind.url(resource_id, "favorite"))


def unmark(api: Api, resource_id: str = "writer", kind: Kind = AGENTS) -> Answer:
    return api.delete(kind.url(resource_id, "favorite"))


def seen(api: Api, kind: Kind = AGENTS, **query: str) -> tuple[bool, int]:
    """Return what the record shows: whether it is the caller's favorite, and how many people marked it."""
    found = api.get(kind.url("writer"), **query).body
    return found["isFavorited"], found["favoriteCount"]


def favorites(api: Api, kind: Kind = AGENTS, **query: str) -> list[str]:
    """Return the ids that the list of the caller's favorites holds."""
    answer = api.get(kind.path, favoritedOnly="true", **query)
    found = answer.body[kind.list_key]
    assert answer.status == 200 and answer.body["total"] == len(found)
    assert all(one["isFavorited"] for one in found)
    return [one["id"] for one in found]


@pytest.fixture
def published(cast: Cast) -> Cast:
    """The cast, with a `writer` of each kind in acme (the agent is public) and two other resources."""
    for kind in (AGENTS, PROMPT_BLOCKS):
        more = {"visibility": "public"} if kind is AGENTS else {}
        kind.make(cast.alice, "other", autoPublish=True)
        kind.make(cast.alice, autoPublish=True, **more)
    return cast


@pytest.mark.database
def test_favorites_are_personal(published: Cast) -> None:
    answer = mark(published.vera)
    assert (answer.status, answer.body) == (200, {"favorited": True, "favoriteCount": 1})
    assert mark(published.charlie).body == {"favorited": True, "favoriteCount": 2}
    assert (seen(published.vera), seen(published.charlie)) == ((True, 2), (True, 2))
    assert seen(published.alice) == (False, 2)
    assert (favorites(published.vera), favorites(published.alice)) == (["writer"], [])
    assert published.vera.get(AGENTS.path, favoritedOnly="false").body["total"] == 2
    for _ in range(2):
        assert unmark(published.vera).body == {"favorited": False, "favoriteCount": 1}
    assert (seen(published.vera), favorites(published.vera)) == ((False, 1), [])


def test_agents_and_blocks_are_marked_independently(published: Cast, kind: Kind) -> None:
    [other] = {AGENTS, PROMPT_BLOCKS} - {kind}
    for _ in range(2):  # twice is once
        assert mark(published.vera, kind=kind).body == {"favorited": True, "favoriteCount": 1}
    assert mark(published.edgar, kind=kind).body == {"favorited": True, "favoriteCount": 2}
    assert (seen(published.vera, kind), seen(published.alice, kind)) == ((True, 2), (False, 2))
    assert (favorites(published.vera, kind), favorites(published.vera, other)) == (["writer"], [])
    assert seen(published.vera, other) == (False, 0)
    assert mark(published.vera, kind=other).body == {"favorited": True, "favoriteCount": 1}
    assert published.alice.delete(kind.url("writer")).status == 200
    assert (seen(published.vera, other), favorites(published.vera, other)) == ((True, 1), ["writer"])
    assert set(Favorite.objects.values_list("kind", "resource_id", "user__username")) == {
        ("agent" if other is AGENTS else "promptBlock", "writer", "vera")
    }


def test_a_key_marks_for_its_owner(published: Cast) -> None:
    limited = key_of("alice", workspace="acme", role="viewer")
    assert mark(limited).body["favoriteCount"] == 1
    assert mark(published.alice).body["favoriteCount"] == 1
    assert seen(limited) == seen(published.alice) == (True, 1)


def test_every_answer_with_a_record_shows_whether_it_is_a_favorite(published: Cast, kind: Kind) -> None:
    url = kind.url("writer")
    mark(published.alice, kind=kind)
    draft = published.alice.patch(url, {"description": "x"})
    answers = [
        draft.body,
        published.alice.get(url, status="draft").body,
        published.alice.get(kind.path).body[kind.list_key][0],
        published.alice.post(f"{url}/unpublish").body,
    ]
    assert [(one["isFavorited"], one["favoriteCount"]) for one in answers] == [(True, 1)] * 4
    made = kind.make(published.alice, "new")
    copy = published.alice.request("POST", f"{url}/clone", {"newId": "copy"}, query={"status": "draft"}).body
    assert [(one["isFavorited"], one["favoriteCount"]) for one in (made, copy)] == [(False, 0)] * 2


def test_an_unreadable_resource_cannot_be_a_favorite(published: Cast) -> None:
    mark(published.charlie)
    AGENTS.make(published.alice, "draft")
    assert published.alice.patch(URL, {"visibility": "private"}).status == 200
    for who, agent_id in (("charlie", "writer"), ("charlie", "other"), ("vera", "draft"), ("vera", "none")):
        api = getattr(published, who)
        for answer in (mark(api, agent_id), unmark(api, agent_id)):
            assert (answer.status, answer.code) == (404, "not_found")
    assert favorites(published.charlie) == []
    assert mark(published.edgar, "draft").status == 200
    assert (favorites(published.edgar), favorites(published.edgar, status="all")) == ([], ["draft"])


def test_marking_a_favorite_makes_no_version_and_changes_no_agent(published: Cast) -> None:
    tag = published.alice.get(URL).etag
    before = published.alice.get(URL).body
    mark(published.vera)
    assert published.alice.get(URL).body == {**before, "favoriteCount": 1}
    assert len(AGENTS.versions(published.alice)) == 1
    assert published.alice.patch(URL, {"description": "x"}, if_match=tag).status == 200


def test_an_etag_read_along_with_marks_is_valid_until_the_agent_changes(published: Cast) -> None:
    mark(published.vera)
    mark(published.alice)
    tag = published.alice.get(URL).etag
    answer = published.alice.patch(URL, {"description": "x"}, if_match=tag)
    assert (answer.status, answer.etag) == (200, published.alice.get(URL).etag)
    assert published.alice.patch(URL, {"description": "y"}, if_match=tag).code == "edit_conflict"


def test_a_record_cached_before_a_mark_gets_no_304(published: Cast, kind: Kind) -> None:
    url = kind.url("writer")
    for change in (mark, unmark):
        for who in ("vera", "paula"):
            tag = published.vera.get(url).etag
            change(getattr(published, who), kind=kind)
            answer = published.vera.request("GET", url, if_none_match=tag)
            assert (answer.status, answer.body["favoriteCount"]) == (200, Favorite.objects.count())
            assert published.vera.request("GET", url, if_none_match=answer.etag).status == 304


@pytest.mark.parametrize("door", [Api, FrontDoor], ids=["middleware", "application"])
@pytest.mark.usefixtures("committed_db")
def test_cached_favorites_of_one_person_are_not_served_to_another(published: Cast, door: type[Api]) -> None:
    vera, other = door(published.vera.key), door(key_of("vera", workspace="acme").key)
    give_role("charlie", "acme", "viewer")
    victor = User.objects.create_user("victor")
    give_role("victor", "acme", "viewer")
    people = [vera, other, door(key_of("victor").key), door(key_of("paula", role="viewer").key)]
    block = (PROMPT_BLOCKS.url("writer"), {})
    for path, query in ((URL, {}), (AGENTS.path, {}), (AGENTS.path, {"favoritedOnly": "true"}), block):
        kind = AGENTS if path.startswith(AGENTS.path) else PROMPT_BLOCKS
        Favorite.objects.all().delete()

        def said(api: Api, path: str = path, query: Any = query) -> list[Any]:
            body = api.get(path, **query).body
            return [
                (one["id"], one["isFavorited"], one["favoriteCount"]) for one in body.get("agents", [body])
            ]

        for owner, changed in ((None, None), ("vera", mark), ("victor", mark), ("vera", unmark)):
            if changed is not None:
                changed(published.vera if owner == "vera" else people[2], kind=kind)
            count = Favorite.objects.count()
            own = {"vera", "victor"} & set(Favorite.objects.values_list("user__username", flat=True))
            for _ in range(2):
                for name, api in zip(("vera", "vera", "victor", "paula"), people, strict=True):
                    expected = [("writer", name in own, count), ("other", False, 0)]
                    shown = expected[:1] if path == kind.url("writer") else expected
                    if query:
                        shown = [one for one in expected if one[1]]
                    assert said(api) == shown, (path, query, owner, name)
    assert victor.username == "victor"


def test_a_resource_recreated_under_the_same_id_is_not_a_favorite(published: Cast, kind: Kind) -> None:
    mark(published.vera, kind=kind)
    assert published.alice.delete(kind.url("writer")).status == 200
    kind.make(published.alice, autoPublish=True)
    assert (seen(published.vera, kind), favorites(published.vera, kind)) == ((False, 0), [])


def test_marks_of_deleted_users_are_not_counted(published: Cast) -> None:
    mark(published.vera)
    mark(published.charlie)
    User.objects.get(username="vera").delete()
    assert seen(published.alice) == (False, 1)


def test_prompt_blocks_have_no_change_requests(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, autoPublish=True)
    answer = cast.alice.post(PROMPT_BLOCKS.url("writer", "change-request"))
    assert (answer.status, answer.code) == (404, "not_found")


def test_the_application_cannot_have_favorites(published: Cast) -> None:
    editor = get_editor()
    with pytest.raises(Forbidden):
        editor.agent.favorite("writer", by=APPLICATION)
    agent, found = editor.agent.favorite("writer", by=User.objects.get(username="vera"))
    assert (agent.pk, found.by_caller, found.count) == ("writer", True, 1)


# Overrides stored as files


def test_an_override_without_a_row_can_be_a_favorite(cast: Cast, folder: Folder) -> None:
    assert mark(cast.charlie, "answers").status == 404  # it is as its code says: there is no record
    folder.put({"instructions": "by hand"})
    AGENTS.make(cast.alice, autoPublish=True)
    assert mark(cast.charlie, "answers").body == {"favorited": True, "favoriteCount": 1}
    assert (favorites(cast.charlie), favorites(cast.alice)) == (["answers"], [])
    record = cast.charlie.get(AGENTS.url("answers")).body
    assert (record["isFavorited"], record["favoriteCount"]) == (True, 1)
    give_role("alice", "default", "admin")
    draft = AGENTS.save(cast.alice, "answers", "draft")["latestVersionId"]
    assert cast.alice.delete(AGENTS.url("answers", "versions", draft)).status == 200
    assert favorites(cast.charlie) == ["answers"]
    assert cast.alice.delete(AGENTS.url("answers")).status == 200
    assert not Favorite.objects.exists()


# At once


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
def test_concurrent_marks_are_all_counted_and_all_removed(cast: Cast) -> None:
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    people = [cast.alice, cast.paula, cast.edgar, cast.vera, cast.charlie] * 4

    def marked(api: Api) -> int:
        try:
            return mark(Api(api.key)).status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(marked, people)) == {200}
        assert seen(cast.vera) == (True, 5)
        marking = threads.map(marked, people)
        assert cast.alice.delete(URL).status == 200
        assert set(marking) <= {200, 404}
    assert not Favorite.objects.exists()
