"""A cached answer equals the uncached one, byte for byte, for every caller and after every change."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from tests.conftest import Cast
from tests.support import changes
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import History, make_history
from tests.support.changes import Change
from tests.support.door import FrontDoor
from tests.support.meanwhile import interrupted
from tests.support.people import command, give_role, key_of
from tests.support.served import encoded, reference
from versioning.conf import get_framework
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import NotFound
from versioning.editor import Editor
from versioning.models import (
    ApiKey,
    Favorite,
    Membership,
    caller_for,
    events,
)
from versioning.runtime.agent import SelectedAgent
from versioning.serving.followed_keys import keys
from versioning.serving.followed_log import HOLD_SECONDS, log

WATCHERS = ("alice", "vera", "charlie")


# Within a transaction, which may be taken back, nothing is cached.
pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture
def history(cast: Cast) -> History:
    """A public agent of acme, which uses a block of acme and is a sub-agent; and a block with a history."""
    PROMPT_BLOCKS.make(cast.alice, "tone", "Be brief.", autoPublish=True)
    AGENTS.make(cast.alice, "user", [reference("tone")], agents={"writer": {}}, autoPublish=True)
    AGENTS.make(cast.alice, "draft only", [reference("tone")], agents={"writer": {}})
    make_history(PROMPT_BLOCKS, cast.alice)
    # Even in a slow test, no key's use has to be recorded again.
    ApiKey.objects.update(last_used_at=timezone.now() + timedelta(days=1))
    return make_history(AGENTS, cast.alice, visibility="public")


def reads(history: History, about: Kind | None = None) -> list[tuple[str, dict[str, Any]]]:
    """Return every sort of read that is cached, once; of records of one kind in all forms."""
    found: list[tuple[str, dict[str, Any]]] = [("/agents/writer", {}), ("/agents/user", {})]
    found += [("/agents/user", query) for query in ({"form": "parts"}, {"form": "parts", "status": "draft"})]
    found += [("/agents/user", {"status": "draft"}), (PROMPT_BLOCKS.url("tone", "dependents"), {})]
    if about is None:
        found += [("/agents/draft%20only", {}), (AGENTS.url("writer"), {"versionId": history.historical})]
        found += [(AGENTS.url("writer"), {"label": "stable"}), (AGENTS.url("writer", "versions"), {})]
        found += [(PROMPT_BLOCKS.url("writer"), {})]
        found += [(AGENTS.path, {"perPage": 1, "search": "words"}), (PROMPT_BLOCKS.path, {})]
        return found
    address = about.url("writer")
    found += [(address, query) for query in ({}, {"status": "draft"}, {"label": "stable"})]
    found += [(f"{address}/versions", {"perPage": 2, "page": 1}), (f"{address}/dependents", {})]
    found += [(about.path, {"perPage": 1, "search": "words"}), (about.path, {"hasDraft": "true"})]
    return found


def seen(answer: Answer) -> tuple[int, Any, dict[str, str]]:
    """Return everything that distinguishes an answer."""
    headers = {name: value for name, value in answer.headers.items() if name != "X-Request-ID"}
    assert "X-Request-ID" in answer.headers
    return answer.status, answer.body, headers


@pytest.fixture
def uncached(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Send a request with no cache of answers or keys."""

    def ask(api: Api, path: str, query: dict[str, Any], **headers: str) -> Answer:
        with override_settings(EDITOR_CACHE_BYTES=0), monkeypatch.context() as patched:
            patched.setattr(keys, "_keys", BoundedCache(0))
            return api.request("GET", path, query=query, **headers)

    return ask


def is_cached(api: Api, path: str, **query: Any) -> bool:
    """Return whether a read takes no statement except the one for the position of the log."""
    with CaptureQueriesContext(connection) as queries:
        api.get(path, **query)
    return len(queries) == 0


# Cached


def test_every_read_is_cached_after_its_first_answer(cast: Cast, history: History) -> None:
    path: str
    query: dict[str, Any]
    for path, query in (
        ("/agents/writer", {}),
        ("/agents/user", {"status": "published"}),
        ("/stored/agents/writer", {"status": "draft"}),
        ("/stored/agents/writer", {"label": "stable"}),
        ("/stored/prompt-blocks/writer", {}),
        ("/stored/agents", {}),
        ("/stored/prompt-blocks", {"perPage": 1, "search": "words"}),
        ("/stored/prompt-blocks/writer/versions", {"perPage": 2, "page": 1}),
        ("/stored/agents/writer/dependents", {}),
        ("/stored/prompt-blocks/tone/dependents", {"status": "draft"}),
    ):
        cast.edgar.get(path, **query)
        assert is_cached(cast.edgar, path, **query), path
    assert not is_cached(key_of("edgar"), path, **query)  # the first use of a key is noted


def test_a_cached_answer_is_shared_by_callers_with_the_same_rights(cast: Cast, history: History) -> None:
    other = key_of("edgar", workspace="acme")
    assert other.get("/stored/agents").status == 200
    tag = cast.edgar.get("/agents/writer").etag
    assert is_cached(other, "/agents/writer")
    assert not is_cached(cast.vera, "/agents/writer")
    door = FrontDoor(cast.edgar.key)
    for path in ("/agents/writer", "/stored/agents", "/stored/agents/writer/versions"):
        first = door.get(path)
        assert is_cached(door, path)
        assert seen(door.get(path)) == seen(first)
    for _ in range(2):
        answer = cast.edgar.request("GET", "/agents/writer", if_none_match=tag)
        assert (answer.status, answer.etag) == (304, tag)


def test_a_cached_answer_equals_the_uncached_one_for_every_caller(
    cast: Cast, history: History, uncached: Callable[..., Answer]
) -> None:
    """The callers: four roles, a non-member, a superuser, an anonymous caller, and limited keys."""
    keys = [getattr(cast, member.name).key for member in fields(Cast)]
    keys += [key_of("root", workspace="acme", role="viewer").key, key_of("alice", workspace="acme").key]
    keys += [key_of("charlie", workspace="elsewhere", role="editor").key, key_of("alice", role="viewer").key]
    for number, (path, query) in enumerate(reads(history)):
        door = FrontDoor if number % 4 == 0 else Api
        callers = [door(key) for key in keys]
        expected = [seen(uncached(api, path, query)) for api in callers]
        for _ in range(2):
            for api, answer in zip(callers, expected, strict=True):
                assert seen(api.get(path, **query)) == answer, (path, query)


def test_headers_have_the_same_effect_on_cached_answers(
    cast: Cast, history: History, uncached: Callable[..., Answer]
) -> None:
    headers: list[dict[str, str]] = [
        {"accept": "text/html"},
        {"accept": "application/json"},
        {"if_none_match": "*"},
        {"if_none_match": '"other"'},
        {"host": "elsewhere.example"},
        {"cookie": "sessionid=none"},
        {"authorization": "Basic abc"},
        {"authorization": "bearer  "},
    ]
    cast.alice.get("/agents/writer")
    for given in headers:
        expected = seen(uncached(cast.alice, "/agents/writer", {}, **given))
        for _ in range(2):
            assert seen(cast.alice.request("GET", "/agents/writer", **given)) == expected, given


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/agents/writer", {}),
        ("/agents/writer", {"form": "parts"}),
        ("/agents/writer/parts", {}),
        ("/stored/agents/writer", {}),
        ("/stored/prompt-blocks/tone", {}),
    ],
)
@pytest.mark.parametrize("context", [{}, {"a": "b"}, None])
def test_only_callers_with_the_current_entity_tag_get_304(
    cast: Cast, history: History, path: str, query: dict[str, Any], context: dict[str, Any] | None
) -> None:
    asked = {**query, **({} if context is None else {"requestContext": encoded(context)})}
    for api in (cast.edgar, FrontDoor(cast.alice.key)):
        tag = api.get(path, **query).etag
        for _ in range(2):
            assert api.request("GET", path, query=asked, if_none_match=tag).status == 304
            for headers in ({}, {"if_none_match": '"other"'}):
                answer = api.request("GET", path, query=asked, **headers)
                assert answer.status == 200
                assert answer.body, headers


def test_every_answer_has_its_own_request_id(cast: Cast, history: History) -> None:
    ids = {cast.alice.get("/agents/writer").headers["X-Request-ID"] for _ in range(5)}
    assert len(ids) == 5
    given = cast.alice.request("GET", "/agents/writer", x_request_id="mine")
    assert given.headers["X-Request-ID"] == "mine"


# Changed


Check = Callable[..., None]


@pytest.fixture
def check(cast: Cast, history: History, uncached: Callable[..., Answer]) -> Check:
    """Check that reads are answered as without a cache; this also fills the cache, for the next change."""

    def check(
        what: object,
        about: Kind | None = None,
        among: slice = slice(None),
        callers: Sequence[str] = WATCHERS[:1],
    ) -> None:
        for who in callers:
            api: Api = getattr(cast, who)
            for path, query in reads(history, about)[among]:
                answer = api.get(path, **query)
                assert seen(answer) == seen(uncached(api, path, query)), (what, who, path, query)

    return check


def publish_block(_: Cast) -> None:
    PROMPT_BLOCKS.save(_.alice, "tone", "Be kind.", autoPublish=True)


def unpublish_block(_: Cast) -> None:
    assert _.alice.post(PROMPT_BLOCKS.url("tone", "unpublish")).status == 200


def replaced(kind: Kind, _: Cast, name: str) -> None:
    """Delete a resource, and let another workspace reuse the id."""
    assert _.alice.delete(kind.url(name)).status == 200
    kind.make(_.charlie, name, "Say nothing.", autoPublish=True)


def test_the_next_answer_is_current_after_a_change_of_its_content(cast: Cast, check: Check) -> None:
    vera = User.objects.get(username="vera")
    like = Favorite(user=vera, kind="agent", resource_id="writer")
    changes: list[Callable[[], object]] = [
        lambda: publish_block(cast),
        lambda: unpublish_block(cast),
        lambda: Favorite.objects.bulk_create([like]),
        lambda: command("prune_versions", "--keep", "1"),
        lambda: replaced(PROMPT_BLOCKS, cast, "tone"),
        lambda: AGENTS.save(cast.alice, "user", "nothing used", agents=None, autoPublish=True),
        lambda: replaced(AGENTS, cast, "writer"),
    ]
    for number, change in enumerate([lambda: None, *changes]):
        change()
        check(number)


def test_the_next_answer_is_current_after_a_change_of_people_and_roles(cast: Cast, check: Check) -> None:
    def promote_by_conflict() -> None:
        members = Membership.objects.filter(workspace="acme")
        promoted = [Membership(user=one.user, workspace=one.workspace, role="admin") for one in members]
        Membership.objects.bulk_create(
            promoted, update_conflicts=True, update_fields=["role"], unique_fields=["user", "workspace"]
        )

    def rename() -> None:
        for user in User.objects.all():
            user.username += " the second"
            user.save()

    changes: list[Callable[[], object]] = [
        lambda: [give_role("vera", "acme", "editor"), give_role("charlie", "acme", "viewer")],
        lambda: Membership.objects.update(role="viewer"),
        promote_by_conflict,
        lambda: [give_role(name, "acme", "viewer") for name in ("alice", "edgar")],
        lambda: User.objects.filter(username="alice").update(username="alice the second"),
        rename,
        lambda: Membership.objects.filter(workspace="acme").delete(),
    ]
    for number, change in enumerate([lambda: None, *changes]):
        change()
        check(number, among=slice(None, None, 2), callers=WATCHERS)


def test_the_next_answer_is_current_after_a_change_of_keys_and_accounts(cast: Cast, check: Check) -> None:
    def save_each(model: Any, **values: Any) -> None:
        for one in model.objects.all():
            for name, value in values.items():
                setattr(one, name, value)
            one.save()

    def deactivate_in_bulk() -> None:
        users = list(User.objects.all())
        for user in users:
            user.is_active = False
        User.objects.bulk_update(users, ["is_active"])

    now = timezone.now()
    changes: list[tuple[Callable[[], object], int]] = [
        (lambda: save_each(ApiKey, role="viewer", workspace_id="acme"), 200),
        (lambda: ApiKey.objects.update(role=None, workspace=None), 200),
        (lambda: [key.revoke() for key in ApiKey.objects.all()], 401),
        (lambda: ApiKey.objects.update(revoked_at=None), 200),
        (lambda: ApiKey.objects.update(revoked_at=now), 401),
        (lambda: save_each(ApiKey, revoked_at=None), 200),
        (lambda: save_each(ApiKey, expires_at=now), 401),
        (lambda: ApiKey.objects.update(expires_at=None), 200),
        (lambda: ApiKey.objects.update(expires_at=now), 401),
        (lambda: save_each(ApiKey, expires_at=None), 200),
        (lambda: save_each(User, is_active=False), 401),
        (lambda: User.objects.update(is_active=True), 200),
        (deactivate_in_bulk, 401),
        (lambda: save_each(User, is_active=True), 200),
        (lambda: User.objects.update(is_active=False), 401),
    ]
    for number, (change, status) in enumerate([(lambda: None, 200), *changes]):
        change()
        check(number, among=slice(2), callers=WATCHERS)
        assert cast.vera.get("/agents/writer").status == status


def test_a_loaded_fixture_is_served_at_once(cast: Cast, tmp_path: Path) -> None:
    AGENTS.make(cast.alice, "writer", text="stored", autoPublish=True)
    fixture = tmp_path / "agents.json"
    with fixture.open("w") as file:
        call_command("dumpdata", "versioning.Agent", "versioning.AgentVersion", stdout=file)
    fixture.write_text(fixture.read_text().replace("stored", "loaded"))
    assert cast.alice.get("/agents/writer").body["instructions"] == "stored"
    assert is_cached(cast.alice, "/agents/writer")
    call_command("loaddata", str(fixture), verbosity=0)
    assert cast.alice.get("/agents/writer").body["instructions"] == "loaded"


IN_ORDER: list[Change] = [
    *(changes.save, changes.save_metadata, changes.set_label, changes.move_label, changes.remove_label),
    *(changes.publish, changes.restore, changes.delete_historical, changes.delete_draft),
    *(changes.add_version, changes.save_and_publish, changes.unpublish),
]
"""All changes of a resource, so that one does not prevent the next."""


def test_the_next_answer_is_current_after_a_change_of_a_resource(
    cast: Cast, history: History, check: Check, kind: Kind
) -> None:
    assert set(IN_ORDER) == set(changes.CHANGES)
    historical = kind.versions(cast.alice)[2]["id"]
    check("nothing", kind)
    for change in IN_ORDER:
        draft = kind.versions(cast.alice)[0]["id"]
        answer = change(kind, cast.alice, replace(history, draft=draft, historical=historical))
        assert answer.status < 300, (change, answer.body)
        check(change, kind)


def a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_clock", lambda: time.monotonic() + HOLD_SECONDS)


def by_hand(statement: str, value: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])


def test_a_change_made_outside_the_application_is_seen_within_a_minute(
    cast: Cast, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cast.alice.get("/stored/agents/writer").body["metadata"] == {}
    by_hand("UPDATE versioning_agent SET metadata = %s", json.dumps({"changed": "by hand"}))
    a_minute_later(monkeypatch)
    assert cast.alice.get("/stored/agents/writer").body["metadata"] == {"changed": "by hand"}
    by_hand("UPDATE auth_user SET is_active = %s", value=False)
    monkeypatch.setattr(log, "_clock", lambda: time.monotonic() + 2 * HOLD_SECONDS)
    assert cast.alice.get("/stored/agents/writer").status == 401


def test_a_restored_database_is_noticed_immediately(cast: Cast, history: History) -> None:
    assert cast.alice.get("/agents/writer").status == 200
    position = events.position()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE versioning_agent SET metadata = '{\"old\": 1}'")
        cursor.execute("UPDATE versioning_logposition SET position = %s", [position - 1])
    assert cast.alice.get("/agents/writer").body["metadata"] == {"old": 1}


def test_an_uncommitted_change_is_never_cached(cast: Cast, history: History) -> None:
    def published() -> str:
        found = get_framework().get_agent_by_id("user", status="published")
        assert isinstance(found, SelectedAgent)
        return found.instructions

    assert published() == "Be brief."
    with transaction.atomic():
        Editor().prompt.update("tone", content="Be kind.", publish=True)
        assert published() == "Be kind."
        transaction.set_rollback(True)
    assert published() == "Be brief."
    Editor().prompt.update("tone", content="Be quiet.", publish=True)  # at the position that was taken back
    assert published() == "Be quiet."


def test_a_cached_list_depends_on_readable_resources_beyond_the_page(
    cast: Cast, uncached: Callable[..., Answer]
) -> None:
    for name in ("older", "newer"):
        AGENTS.make(cast.alice, name, autoPublish=True, visibility="public")
    page = {"perPage": 1}
    for who in ("charlie", "root", "charlie"):
        for _ in range(2):
            assert getattr(cast, who).get("/stored/agents", **page).body["total"] == 2
    assert cast.alice.patch(AGENTS.url("older"), {"visibility": "private"}).status == 200
    assert [api.get("/stored/agents", **page).body["total"] for api in (cast.charlie, cast.root)] == [1, 2]
    for api in (cast.charlie, cast.root):
        assert seen(api.get("/stored/agents", **page)) == seen(uncached(api, "/stored/agents", page))


@pytest.mark.parametrize("path", ["/agents/{}", "/stored/agents"])
def test_an_answer_is_not_cached_if_its_content_changed_meanwhile(
    alice: Api, uncached: Callable[..., Answer], path: str
) -> None:
    paths: list[str] = []

    def prepare(number: int) -> tuple[Callable[[], Answer], Callable[[], object]]:
        name = f"writer-{number}"
        PROMPT_BLOCKS.make(alice, name, "Be brief.", autoPublish=True)
        AGENTS.make(alice, name, [reference(name)], autoPublish=True)
        paths.append(path.format(name))

        def change() -> None:
            Editor().prompt.update(name, content="Be kind.", publish=True)
            Editor().agent.update(name, description="changed", publish=True)

        return (lambda: alice.get(paths[-1])), change

    for _ in interrupted(prepare):
        assert seen(alice.get(paths[-1])) == seen(uncached(alice, paths[-1], {}))
    assert len(paths) > 1  # some change came before the last query


# In Python


def test_an_agent_is_read_in_python_without_a_statement_while_nothing_changes(
    cast: Cast, history: History
) -> None:
    framework = get_framework()

    def instructions() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as queries:
            found = framework.get_agent_by_id("user", status="published")
        assert isinstance(found, SelectedAgent)
        assert found.agents == {"writer": {}}
        found.agents["spoiled"] = {}  # type: ignore[index]  # the caller's own copy
        return len(queries), found.instructions

    instructions()
    assert instructions() == (0, "Be brief.")
    publish_block(cast)
    assert instructions()[1] == "Be kind."
    assert instructions() == (0, "Be kind.")
    unpublish_block(cast)
    assert instructions()[1] == ""
    stranger = caller_for(User.objects.get(username="charlie"))
    for _ in range(2):
        with pytest.raises(NotFound):
            framework.get_agent_by_id("user", status="published", by=stranger)
