"""A cached answer is the ordinary one, byte for byte, whoever asks and whatever has happened."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import History, make_history
from tests.support.changes import CHANGES, Change
from tests.support.door import FrontDoor
from tests.support.meanwhile import interrupted
from tests.support.people import command, give_role, key_of
from tests.support.served import reference
from versioning.conf import get_framework
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import NotFound
from versioning.editor import Editor
from versioning.models import (
    Agent,
    AgentLabel,
    ApiKey,
    Favorite,
    Membership,
    PromptBlock,
    caller_for,
    events,
)
from versioning.runtime.agent import SelectedAgent
from versioning.serving.followed_keys import keys
from versioning.serving.followed_log import HOLD_SECONDS, log

MEMBERS = ("alice", "vera")
WATCHERS = (*MEMBERS, "charlie")


# Within a transaction, which may be taken back, nothing is cached.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def history(cast: Cast) -> History:
    """A public agent of acme, which uses a block of acme and is a sub-agent; and a block with a history."""
    PROMPT_BLOCKS.make(cast.alice, "tone", "Be brief.", autoPublish=True)
    AGENTS.make(cast.alice, "user", [reference("tone")], agents={"writer": {}}, autoPublish=True)
    AGENTS.make(cast.alice, "draft only", [reference("tone")], agents={"writer": {}})
    make_history(PROMPT_BLOCKS, cast.alice)
    # However long a test takes, no key's use has to be noted anew.
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
    """Return all that there is to an answer."""
    headers = {name: value for name, value in answer.headers.items() if name != "X-Request-ID"}
    assert "X-Request-ID" in answer.headers
    return answer.status, answer.body, headers


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Ask without any cache, of answers or of keys."""

    def ask(api: Api, path: str, query: dict[str, Any], **headers: str) -> Answer:
        with override_settings(EDITOR_CACHE_BYTES=0), monkeypatch.context() as patched:
            patched.setattr(keys, "_known", BoundedCache(0))
            return api.request("GET", path, query=query, **headers)

    return ask


def is_cached(api: Api, path: str, **query: Any) -> bool:
    """Say whether a read takes no statement but the one that asks where the log is, beside Django."""
    with CaptureQueriesContext(connection) as queries:
        api.get(path, **query)
    return len(queries) == 0


# Cached


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/agents/writer", {}),
        ("/agents/user", {"status": "published"}),
        ("/stored/agents/writer", {}),
        ("/stored/agents/writer", {"status": "draft"}),
        ("/stored/agents/writer", {"label": "stable"}),
        ("/stored/prompt-blocks/writer", {}),
        ("/stored/agents", {}),
        ("/stored/prompt-blocks", {"perPage": 1, "search": "words"}),
        ("/stored/agents/writer/versions", {}),
        ("/stored/prompt-blocks/writer/versions", {"perPage": 2, "page": 1}),
        ("/stored/agents/writer/dependents", {}),
        ("/stored/prompt-blocks/tone/dependents", {"status": "draft"}),
    ],
)
def test_a_read_is_cached_once_it_was_answered(
    cast: Cast, history: History, path: str, query: dict[str, Any]
) -> None:
    cast.edgar.get(path, **query)
    assert is_cached(cast.edgar, path, **query)
    assert is_cached(key_of("edgar"), path, **query) is False  # the first use of a key is noted
    assert is_cached(key_of("edgar", workspace="acme", role="viewer"), path, **query) is False


def test_an_answer_is_cached_for_all_who_may_do_the_same(cast: Cast, history: History) -> None:
    other = key_of("edgar", workspace="acme")
    assert other.get("/stored/agents").status == 200
    cast.edgar.get("/agents/writer")
    assert is_cached(other, "/agents/writer")
    assert not is_cached(cast.vera, "/agents/writer")


@pytest.mark.parametrize("path", ["/agents/writer", "/stored/agents", "/stored/agents/writer/versions"])
def test_the_application_gives_a_cached_answer(cast: Cast, history: History, path: str) -> None:
    door = FrontDoor(cast.edgar.key)
    first = door.get(path)
    assert is_cached(door, path)
    assert seen(door.get(path)) == seen(first)


def test_not_modified_is_cached_too(cast: Cast, history: History) -> None:
    tag = cast.vera.get("/agents/writer").etag
    for _ in range(2):
        answer = cast.vera.request("GET", "/agents/writer", if_none_match=tag)
        assert (answer.status, answer.etag) == (304, tag)


@pytest.mark.parametrize("door", [Api, FrontDoor], ids=["middleware", "application"])
def test_a_cached_answer_is_the_ordinary_one_whoever_has_asked_before(
    cast: Cast, history: History, ordinary: Callable[..., Answer], door: type[Api]
) -> None:
    """Everybody asks the same: four roles, a stranger, a superuser, nobody, and keys that may do less."""
    keys = [getattr(cast, member.name).key for member in fields(Cast)]
    keys += [key_of("root", workspace="acme", role="viewer").key, key_of("alice", workspace="acme").key]
    keys += [key_of("charlie", workspace="elsewhere", role="editor").key, key_of("alice", role="viewer").key]
    callers = [door(key) for key in keys]
    for path, query in reads(history):
        expected = [seen(ordinary(api, path, query)) for api in callers]
        for _ in range(2):
            for api, answer in zip(callers, expected, strict=True):
                assert seen(api.get(path, **query)) == answer, (path, query)


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "text/html"},
        {"accept": "application/json"},
        {"if_none_match": "*"},
        {"if_none_match": '"other"'},
        {"host": "elsewhere.example"},
        {"cookie": "sessionid=none"},
        {"authorization": "Basic abc"},
        {"authorization": "bearer  "},
    ],
)
def test_a_header_means_to_a_cached_answer_what_it_means_to_any(
    cast: Cast, history: History, ordinary: Callable[..., Answer], headers: dict[str, str]
) -> None:
    for path, query in reads(history)[:1]:
        cast.alice.get(path, **query)
        expected = seen(ordinary(cast.alice, path, query, **headers))
        for _ in range(2):
            assert seen(cast.alice.request("GET", path, query=query, **headers)) == expected


def test_every_answer_has_a_request_id_of_its_own(cast: Cast, history: History) -> None:
    ids = {cast.alice.get("/agents/writer").headers["X-Request-ID"] for _ in range(5)}
    assert len(ids) == 5
    given = cast.alice.request("GET", "/agents/writer", x_request_id="mine")
    assert given.headers["X-Request-ID"] == "mine"


# Changed


def publish_block(_: Cast) -> None:
    PROMPT_BLOCKS.save(_.alice, "tone", "Be kind.", autoPublish=True)


def unpublish_block(_: Cast) -> None:
    assert _.alice.post(PROMPT_BLOCKS.url("tone", "unpublish")).status == 200


def delete_block(_: Cast) -> None:
    assert _.alice.delete(PROMPT_BLOCKS.url("tone")).status == 200


def replace_block(_: Cast) -> None:
    delete_block(_)
    PROMPT_BLOCKS.make(_.charlie, "tone", "Say nothing.", autoPublish=True)


def replace_agent(_: Cast) -> None:
    assert _.alice.delete(AGENTS.url("writer")).status == 200
    AGENTS.make(_.charlie, "writer", "theirs", autoPublish=True)


def demote(_: Cast) -> None:
    for name in ("alice", "edgar", "paula"):
        give_role(name, "acme", "viewer")


def promote(_: Cast) -> None:
    give_role("vera", "acme", "editor")
    give_role("charlie", "acme", "viewer")


def remove_everybody(_: Cast) -> None:
    Membership.objects.filter(workspace="acme").delete()
    root = User.objects.get(username="root")
    root.is_superuser = False
    root.save()


def revoke_keys(_: Cast) -> None:
    for key in ApiKey.objects.all():
        key.revoke()


def expire_keys(_: Cast) -> None:
    for key in ApiKey.objects.all():
        key.expires_at = timezone.now()
        key.save()


def limit_keys(_: Cast) -> None:
    for key in ApiKey.objects.all():
        key.role, key.workspace_id = "viewer", "acme"
        key.save()


def deactivate(_: Cast) -> None:
    for user in User.objects.all():
        user.is_active = False
        user.save()


def deactivate_at_once(_: Cast) -> None:
    User.objects.update(is_active=False)


def deactivate_in_bulk(_: Cast) -> None:
    users = list(User.objects.all())
    for user in users:
        user.is_active = False
    User.objects.bulk_update(users, ["is_active"])


def rename_at_once(_: Cast) -> None:
    User.objects.filter(username="alice").update(username="alice the second")


def demote_at_once(_: Cast) -> None:
    Membership.objects.update(role="viewer")


def promote_by_conflict(_: Cast) -> None:
    members = Membership.objects.filter(workspace="acme")
    promoted = [Membership(user=one.user, workspace=one.workspace, role="admin") for one in members]
    Membership.objects.bulk_create(
        promoted, update_conflicts=True, update_fields=["role"], unique_fields=["user", "workspace"]
    )


def revoke_at_once(_: Cast) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())


def expire_at_once(_: Cast) -> None:
    ApiKey.objects.update(expires_at=timezone.now())


def like_at_once(_: Cast) -> None:
    Favorite.objects.bulk_create(
        [Favorite(user=User.objects.get(username="vera"), kind="agent", resource_id="writer")]
    )


def write_metadata_at_once(_: Cast) -> None:
    for model in (Agent, PromptBlock):
        model.objects.update(metadata={"changed": "at once"})


def unpublish_at_once(_: Cast) -> None:
    for model in (Agent, PromptBlock):
        model.objects.update(active_version=None)


def release_labels_at_once(_: Cast) -> None:
    AgentLabel.objects.update(released=True)


def rename_people(_: Cast) -> None:
    for user in User.objects.all():
        user.username += " the second"
        user.save()


def prune(_: Cast) -> None:
    command("prune_versions", "--keep", "1")


def stop_using(_: Cast) -> None:
    AGENTS.save(_.alice, "user", "nothing used", agents=None, autoPublish=True)


BESIDE: tuple[Callable[[Cast], None], ...] = (
    publish_block,
    unpublish_block,
    delete_block,
    replace_block,
    replace_agent,
    demote,
    promote,
    remove_everybody,
    revoke_keys,
    expire_keys,
    limit_keys,
    deactivate,
    deactivate_at_once,
    deactivate_in_bulk,
    rename_at_once,
    demote_at_once,
    promote_by_conflict,
    revoke_at_once,
    expire_at_once,
    like_at_once,
    write_metadata_at_once,
    unpublish_at_once,
    release_labels_at_once,
    rename_people,
    prune,
    stop_using,
)


def fill(cast: Cast, history: History, watchers: Sequence[str] = WATCHERS, about: Kind | None = None) -> None:
    """Have everything asked by all sorts of people, so that what can be cached is."""
    for who in watchers:
        for path, query in reads(history, about):
            getattr(cast, who).get(path, **query)


def check(
    cast: Cast,
    history: History,
    ordinary: Callable[..., Answer],
    watchers: Sequence[str] = WATCHERS,
    about: Kind | None = None,
) -> None:
    """Check that all of them are answered as they ordinarily are."""
    for who in watchers:
        api: Api = getattr(cast, who)
        for path, query in reads(history, about):
            answer = api.get(path, **query)
            assert seen(answer) == seen(ordinary(api, path, query)), (who, path, query)


@pytest.mark.parametrize("change", BESIDE, ids=lambda change: change.__name__)
def test_the_next_answer_is_right_after_a_change_of_what_is_beside_a_resource(
    cast: Cast, history: History, ordinary: Callable[..., Answer], change: Callable[[Cast], None]
) -> None:
    fill(cast, history)
    change(cast)
    check(cast, history, ordinary)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_next_answer_is_right_after_a_change_of_a_resource(
    cast: Cast, history: History, ordinary: Callable[..., Answer], change: Change, kind: Kind
) -> None:
    versions = [one["id"] for one in kind.versions(cast.alice)]
    draft, published, historical, labelled = versions
    fill(cast, history, MEMBERS, kind)
    of_kind = replace(history, draft=draft, published=published, historical=historical, labelled=labelled)
    assert change(kind, cast.alice, of_kind).status < 300
    check(cast, history, ordinary, MEMBERS, kind)


def a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_clock", lambda: time.monotonic() + HOLD_SECONDS)


def by_hand(statement: str, value: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])


def test_what_nobody_tells_of_is_seen_within_a_minute(
    cast: Cast, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = "by hand"
    assert cast.alice.get("/stored/agents/writer").body["metadata"] == {}
    by_hand("UPDATE versioning_agent SET metadata = %s", json.dumps({"changed": description}))
    a_minute_later(monkeypatch)
    assert cast.alice.get("/stored/agents/writer").body["metadata"] == {"changed": description}


def test_whom_nobody_tells_of_is_refused_within_a_minute(
    cast: Cast, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cast.alice.get("/stored/agents/writer").status == 200
    by_hand("UPDATE auth_user SET is_active = %s", value=False)
    a_minute_later(monkeypatch)
    assert cast.alice.get("/stored/agents/writer").status == 401


def test_a_database_that_is_put_back_is_noticed_at_once(cast: Cast, history: History) -> None:
    assert cast.alice.get("/agents/writer").status == 200
    position = events.position()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE versioning_agent SET active_version_id = NULL, metadata = '{\"old\": 1}'")
        cursor.execute("UPDATE versioning_logposition SET position = %s", [position - 1])
    assert cast.alice.get("/agents/writer").body["metadata"] == {"old": 1}


def test_a_change_that_may_be_taken_back_is_never_cached(cast: Cast, history: History) -> None:
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


@pytest.mark.parametrize("first", ["root", "charlie"])
def test_a_list_depends_on_what_its_reader_may_read_beyond_the_page(
    cast: Cast, ordinary: Callable[..., Answer], first: str
) -> None:
    for name in ("older", "newer"):
        AGENTS.make(cast.alice, name, autoPublish=True, visibility="public")
    page = {"perPage": 1}
    for who in (first, "root", "charlie"):
        for _ in range(2):
            assert getattr(cast, who).get("/stored/agents", **page).body["total"] == 2
    assert cast.alice.patch(AGENTS.url("older"), {"visibility": "private"}).status == 200
    assert [api.get("/stored/agents", **page).body["total"] for api in (cast.charlie, cast.root)] == [1, 2]
    for api in (cast.charlie, cast.root):
        assert seen(api.get("/stored/agents", **page)) == seen(ordinary(api, "/stored/agents", page))


@pytest.mark.parametrize(
    "path", ["/agents/{}", "/stored/agents/{}", "/stored/agents", "/stored/agents/{}/versions"]
)
def test_what_changes_while_an_answer_is_made_is_not_cached(
    alice: Api, ordinary: Callable[..., Answer], path: str
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
        assert seen(alice.get(paths[-1])) == seen(ordinary(alice, paths[-1], {}))
    assert len(paths) > 1  # some change came before the last query


# In Python


def test_an_agent_is_had_in_python_without_a_statement_while_nothing_changes(
    cast: Cast, history: History
) -> None:
    framework = get_framework()

    def instructions() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as queries:
            found = framework.get_agent_by_id("user", status="published")
        assert isinstance(found, SelectedAgent)
        return len(queries), found.instructions

    instructions()
    assert instructions() == (0, "Be brief.")
    publish_block(cast)
    assert instructions()[1] == "Be kind."
    assert instructions() == (0, "Be kind.")
    unpublish_block(cast)
    assert instructions()[1] == ""


def test_what_one_caller_does_to_an_agent_in_python_is_not_seen_by_the_next(
    cast: Cast, history: History
) -> None:
    framework = get_framework()
    for _ in range(3):
        found = framework.get_agent_by_id("user", status="published")
        assert isinstance(found, SelectedAgent)
        assert found.agents == {"writer": {}}
        found.agents["spoiled"] = {}  # type: ignore[index]


def test_rights_decide_in_python_too(cast: Cast, history: History) -> None:
    framework = get_framework()
    assert framework.get_agent_by_id("user", status="published")
    stranger = caller_for(User.objects.get(username="charlie"))
    for _ in range(2):
        with pytest.raises(NotFound):
            framework.get_agent_by_id("user", status="published", by=stranger)
