"""The events in the stream of each role, and changes of rights: in a real server, over HTTP.

The rule of the feed decides who may see which event; its whole table is in test_event_visibility.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from capabilities.delivery.streams import KeyListener, PersonListener
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.event_streams import GENEROUS, EventStream, open_stream, until
from tests.support.listeners import LET_IN_NO_MORE, MEMBERS, prepared, session_of
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from versioning.models import ApiKey
from versioning.models.events import position
from versioning.models.keys import hash_secret

pytestmark = pytest.mark.processes

PUBLIC = {"workspaceId": "team", "visibility": "public"}


@pytest.fixture(scope="module")
def listening_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, str]]]:
    """A server, and the keys of its listeners."""
    with running_service(tmp_path_factory.mktemp("rights")) as service:
        yield service, prepared(service)


@pytest.fixture
def service(listening_service: tuple[Service, dict[str, str]]) -> Service:
    """The server."""
    return listening_service[0]


@pytest.fixture
def keys(listening_service: tuple[Service, dict[str, str]]) -> dict[str, str]:
    return listening_service[1]


def feed(service: Service, key: str, start: int) -> list[dict[str, Any]]:
    with connected(service, key) as api:
        return list(api.get("/events", after=start, limit=1000).body["events"])


def is_caught_up(service: Service, key: str, start: int, stream: EventStream) -> bool:
    return stream.events == feed(service, key, start)


def work(api: RemoteApi) -> None:
    """Perform actions of every kind in the workspace `team`."""
    PROMPT_BLOCKS.make(api, "inner", workspaceId="team", autoPublish=True)
    AGENTS.make(api, "open", [{"type": "prompt_block_ref", "id": "inner"}], autoPublish=True, **PUBLIC)
    AGENTS.make(api, "closed", workspaceId="team", autoPublish=True)
    AGENTS.make(api, "drafted", **PUBLIC)
    AGENTS.save(api, "closed", "draft")
    PROMPT_BLOCKS.save(api, "inner", autoPublish=True)
    AGENTS.save(api, "open", "live", autoPublish=True)


def test_the_stream_of_each_role_has_the_events_of_its_feed(service: Service, keys: dict[str, str]) -> None:
    names = [*MEMBERS, "limited", "root"]
    with connected(service, keys["admin"]) as api, ExitStack() as stack:
        start = api.get("/events", after="now").body["next"]
        streams = {name: stack.enter_context(open_stream(service, keys[name])) for name in names}
        work(api)
        for name, stream in streams.items():
            until(lambda name=name, stream=stream: is_caught_up(service, keys[name], start, stream), stream)
        for name in ("viewer", "limited"):
            # It goes on past the events of drafts, of which it holds none.
            assert {"agent.created", "agent.versionCreated"}.isdisjoint(streams[name].types)
            assert streams[name].types.count("agent.published") == 3
        assert "agent.versionCreated" in streams["editor"].types
        for name in ("open", "closed", "drafted"):
            api.delete(AGENTS.url(name))
        api.delete(PROMPT_BLOCKS.url("inner"))


def test_a_non_member_gets_events_of_a_public_agent_until_it_turns_private(
    service: Service, keys: dict[str, str]
) -> None:
    with connected(service, keys["admin"]) as api, open_stream(service, keys["stranger"]) as stream:
        AGENTS.make(api, "closing", autoPublish=True, **PUBLIC)
        assert [event["type"] for event in stream.wait_for(1)] == ["agent.published"]
        api.patch(AGENTS.url("closing"), {"visibility": "private"})
        assert stream.wait_for(2)[-1]["detail"]["to"] == "private"
        AGENTS.save(api, "closing", "nothing for strangers", autoPublish=True)
        api.delete(AGENTS.url("closing"))
        AGENTS.make(api, "open", autoPublish=True, **PUBLIC)
        assert stream.wait_for(3)[-1]["resource"]["id"] == "open"
        api.delete(AGENTS.url("open"))


def test_a_stream_ends_or_has_fewer_events_when_rights_are_lost(
    service: Service, keys: dict[str, str]
) -> None:
    with connected(service, keys["admin"]) as api, ExitStack() as stack:
        AGENTS.make(api, "private", workspaceId="team", autoPublish=True)
        streams: dict[str, EventStream] = {}
        for name in (*LET_IN_NO_MORE, "lowered", "moved", "viewer"):
            who = {"cookie": f"sessionid={keys[name]}"} if name == "in_the_studio" else {"key": keys[name]}
            streams[name] = stack.enter_context(open_stream(service, **who))
        AGENTS.save(api, "private", "first", autoPublish=True)
        for stream in streams.values():
            stream.wait(lambda stream: stream.types[-1:] == ["agent.published"])
        assert (
            streams["lowered"].types == streams["moved"].types == ["agent.versionCreated", "agent.published"]
        )

        program = "from tests.support.listeners import change_rights; change_rights()"
        service.manage("shell", "--no-imports", "-c", program)
        for name in LET_IN_NO_MORE:
            assert streams[name].ended.wait(GENEROUS), name

        AGENTS.save(api, "private", "second", autoPublish=True)
        AGENTS.make(api, "sign", workspaceId="team", visibility="public", autoPublish=True)
        for name in ("lowered", "moved", "viewer"):
            streams[name].wait(lambda stream: stream.events[-1]["resource"]["id"] == "sign")
            assert not streams[name].ended.is_set()
        assert streams["lowered"].types[2:] == ["agent.published"] * 2
        assert streams["moved"].types[2:] == ["agent.published"]
        assert all("second" not in str(streams[name].frames) for name in LET_IN_NO_MORE)


# When rights are lost


def lost(user: User, what: str) -> None:
    match what:
        case "deactivated":
            User.objects.filter(pk=user.pk).update(is_active=False)
        case "another password":
            user.set_password("another long password")
            user.save()
        case "signed out":
            Session.objects.all().delete()
        case "session expired":
            Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("what", ["deactivated", "another password", "signed out", "session expired"])
def test_the_rights_of_a_session_are_checked_again(cast: Cast, what: str) -> None:
    user = User.objects.get(username="vera")
    listener = PersonListener(user.pk, session_of(user))
    rights = listener.rights()
    assert rights is not None and rights.caller.username == "vera"
    lost(user, what)
    assert listener.rights() is None


def test_signing_out_makes_streams_check_rights_immediately(cast: Cast) -> None:
    vera = User.objects.get(username="vera")
    expired, session = session_of(vera), session_of(vera)
    Session.objects.filter(pk=expired).update(expire_date=timezone.now() - timedelta(seconds=1))
    before = position()
    SessionStore(expired).flush()  # as the worker does with thousands
    assert position() == before
    SessionStore(session).flush()
    assert position() > before  # there is no entry, so that followers take everything for changed


def test_a_session_survives_a_rotation_of_the_secret_key(cast: Cast, settings: Any) -> None:
    user = User.objects.get(username="vera")
    listener = PersonListener(user.pk, session_of(user))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    assert listener.rights() is not None
    settings.SECRET_KEY_FALLBACKS = []
    assert listener.rights() is None


def test_a_listener_knows_when_its_key_expires(cast: Cast) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    ApiKey.objects.filter(owner__username="vera").update(expires_at=soon)
    listener = KeyListener(hash_secret(cast.vera.key))
    rights = listener.rights()
    assert rights is not None and rights.expire_at == soon
    ApiKey.objects.update(expires_at=timezone.now())
    assert listener.rights() is None
