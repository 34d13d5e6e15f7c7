"""`Idempotency-Key`: sent again, a POST gets the first answer and does nothing."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import ECHO
from tests.support.datasets import add_item, make_dataset
from tests.support.people import give_role, key_of
from tests.support.remote import connected
from tests.support.service import Service, running_service
from versioning.api.idempotency import HEADER
from versioning.models.idempotency import (
    ABANDONED_AFTER,
    LIFETIME,
    UNWRITTEN,
    IdempotentRequest,
    StoredAnswer,
    Unwritten,
)
from versioning.runtime import providers

KEY = "5f0c1f6e"


def post(api: Api, path: str, body: Any, key: str = KEY) -> Answer:
    return api.request("POST", path, body, idempotency_key=key)


def older(age: datetime.timedelta) -> None:
    """Let the requests so far have been sent earlier."""
    for row in IdempotentRequest.objects.all():
        row.begun_at -= age
        row.save()


@pytest.mark.database
def test_a_post_that_is_sent_again_gets_the_same_answer_and_is_done_once(cast: Cast, kind: Kind) -> None:
    body = kind.body(id="writer")
    first, again = (post(cast.alice, kind.path, body) for _ in range(2))
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    for header in ("Location", "ETag", "Content-Type"):
        assert again.headers[header] == first.headers[header]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    one, two = (post(cast.alice, kind.url("writer", "versions"), {}, key="snapshot") for _ in range(2))
    assert one.body == two.body
    assert len(kind.versions(cast.alice)) == 2


def test_another_request_with_the_same_key_is_refused(cast: Cast) -> None:
    assert post(cast.alice, AGENTS.path, AGENTS.body(id="one")).status == 201
    for path, resource_id in ((AGENTS.path, "two"), ("/stored/prompt-blocks", "one")):
        refused = post(cast.alice, path, AGENTS.body(id=resource_id))
        assert (refused.status, refused.code) == (422, "idempotency_mismatch")
    assert cast.alice.get(AGENTS.url("two")).status == 404


def test_keys_are_those_of_one_api_key(cast: Cast) -> None:
    assert post(cast.alice, AGENTS.path, AGENTS.body(id="one")).status == 201
    assert post(key_of("alice"), AGENTS.path, AGENTS.body(id="two")).status == 201


@pytest.mark.database
def test_a_request_in_progress_is_not_begun_twice(cast: Cast) -> None:
    body = AGENTS.body(id="writer")
    assert post(cast.alice, AGENTS.path, body).status == 201
    IdempotentRequest.objects.update(status=0)
    refused = post(cast.alice, AGENTS.path, body)
    assert (refused.status, refused.code) == (409, "idempotency_in_progress")
    older(ABANDONED_AFTER)  # its process was killed
    assert post(cast.alice, AGENTS.path, body).code == "id_taken"


def test_after_a_refusal_the_request_is_tried_anew(cast: Cast) -> None:
    body = AGENTS.body(id="writer", workspaceId="acme")
    assert post(cast.vera, AGENTS.path, body).status == 403
    give_role("vera", "acme", "editor")
    assert post(cast.vera, AGENTS.path, body).status == 201


def test_an_answer_is_kept_for_a_day(cast: Cast) -> None:
    body = AGENTS.body(id="writer")
    assert post(cast.alice, AGENTS.path, body).status == 201
    older(LIFETIME)
    assert post(cast.alice, AGENTS.path, body).code == "id_taken"
    assert not IdempotentRequest.objects.exists()
    assert post(cast.alice, AGENTS.path, AGENTS.body(id="two")).status == 201
    older(LIFETIME)
    IdempotentRequest.objects.delete_expired()
    assert not IdempotentRequest.objects.exists()


def test_a_secret_is_not_kept(cast: Cast) -> None:
    body = {"workspaceId": "acme", "url": "https://93.184.216.34/", "eventTypes": ["agent.*"]}
    first, again = (post(cast.alice, "/webhooks", body) for _ in range(2))
    assert (first.status, again.status) == (201, 201), first.body
    assert again.body == {name: value for name, value in first.body.items() if name != "secret"}
    assert first.body["secret"] not in repr(IdempotentRequest.objects.values_list())


def test_a_key_that_cannot_be_used_is_refused(cast: Cast) -> None:
    for key in ["", "x" * 256, "two words", "\u00e9"]:
        refused = post(cast.alice, AGENTS.path, AGENTS.body(id="writer"), key=key)
        assert (refused.status, refused.body["issues"][0]["field"]) == (400, "Idempotency-Key")


def test_only_a_post_has_such_a_key(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    for name in ("One", "Two"):
        changed = cast.alice.request("PATCH", AGENTS.url("writer"), {"name": name}, idempotency_key=KEY)
        assert changed.body["name"] == name


@pytest.mark.database
def test_only_the_newest_answers_of_a_key_are_kept(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioning.models.idempotency.MAX_BYTES", 10_000)
    for number in range(8):
        body = AGENTS.body(id=f"agent-{number}", description="x" * 2_000)
        assert post(cast.alice, AGENTS.path, body, key=f"{number}").status == 201
    assert post(key_of("alice"), AGENTS.path, AGENTS.body(id="other"), key="other").status == 201
    kept = IdempotentRequest.objects.exclude(key="other").values_list("key", "body")
    assert 3 <= len(kept) < 8 and {key for key, _ in kept} >= {"5", "6", "7"}
    assert sum(len(body) for _, body in kept) <= 10_000
    assert IdempotentRequest.objects.filter(key="other").exists(), "the limit is that of each key"


def test_a_post_that_only_reads_is_not_kept(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    body = {"blocks": [{"type": "text", "content": "Hi {{ name }}"}], "context": {"name": "Ann"}}
    for _ in range(2):
        answer = post(cast.alice, "/stored/agents/preview-instructions", body)
        assert (answer.status, answer.body["result"]) == (200, "Hi Ann")
        assert "Idempotent-Replayed" not in answer.headers
    assert not IdempotentRequest.objects.exists()


@pytest.mark.database
def stream(api: Api, messages: str, key: str = KEY) -> tuple[Any, str]:
    """Stream an agent to its end; return the response and its text."""
    path, body = "/agents/writer/stream", {"messages": messages}
    method, target, data, headers = api.prepare("POST", path, body, idempotency_key=key)
    content_type = headers.pop("content-type")
    response = api.client.generic(method, target, data or b"", content_type, headers=headers)
    return response, b"".join(response).decode()


def test_a_stream_that_has_ended_is_given_again(cast: Cast) -> None:
    AGENTS.make(cast.alice, model=ECHO, autoPublish=True)
    (first, text), (again, repeated) = (stream(cast.vera, "Hello") for _ in range(2))
    assert UNWRITTEN.write()
    later, stored = stream(cast.vera, "Hello")
    assert text == repeated == stored and text.endswith("data: [DONE]\n\n")
    assert first["Content-Type"] == later["Content-Type"] == "text/event-stream"
    assert "Idempotent-Replayed" not in first
    assert (again["Idempotent-Replayed"], later["Idempotent-Replayed"]) == ("true", "true")
    other, _ = stream(cast.vera, "Good-bye")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


async def fail(*_arguments: object) -> AsyncIterator[str]:
    """Answer as a model that breaks off."""
    yield "Hel"
    raise ConnectionError


def test_a_stream_that_failed_or_was_left_is_run_again(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    AGENTS.make(cast.alice, model=ECHO, autoPublish=True)
    method, target, data, headers = cast.vera.prepare(
        "POST", "/agents/writer/stream", {"messages": "Hello"}, idempotency_key=KEY
    )
    content_type = headers.pop("content-type")
    left = cast.vera.client.generic(method, target, data or b"", content_type, headers=headers)
    next(iter(left))
    left.close()
    assert UNWRITTEN.write()
    with monkeypatch.context() as broken:
        broken.setattr(providers._ECHO, "stream_function", fail)
        _, text = stream(cast.vera, "Hello")
        assert '"type":"error"' in text
    assert UNWRITTEN.write()
    whole, text = stream(cast.vera, "Hello")
    assert "Idempotent-Replayed" not in whole and '"type":"error"' not in text


def test_an_answer_is_given_again_to_who_still_has_the_rights(cast: Cast) -> None:
    body = AGENTS.body(id="writer", workspaceId="acme")
    give_role("vera", "acme", "publisher")
    assert post(cast.vera, AGENTS.path, body).status == 201
    give_role("vera", "acme", "admin")
    assert post(cast.vera, AGENTS.path, body).status == 201
    give_role("vera", "acme", "viewer")
    refused = post(cast.vera, AGENTS.path, body)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert "writer" not in str(refused.body)


@pytest.mark.database
def test_the_limit_of_answers_is_one_of_bytes(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioning.models.idempotency.MAX_BYTES", 10_000)
    for number in range(4):
        body = AGENTS.body(id=f"agent-{number}", description="\u6f22" * 1_000)
        assert post(cast.alice, AGENTS.path, body, key=f"{number}").status == 201
    kept = IdempotentRequest.objects.values_list("key", "body")
    assert {key for key, _ in kept} == {"2", "3"}
    assert 6_000 < sum(len(body.encode()) for _, body in kept) <= 10_000
    larger = AGENTS.body(id="larger", description="\u6f22" * 3_500)
    assert post(cast.alice, AGENTS.path, larger, key="larger").status == 201
    assert not IdempotentRequest.objects.filter(key="larger").exists()


@pytest.mark.database
def test_the_rights_that_are_stored_with_an_answer_count(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioning.models.idempotency.MAX_BYTES", 10_000)
    rights = {"rights": {"roles": {f"workspace-{number}": "editor" for number in range(100)}}}
    answer = StoredAnswer(200, rights, "{}")
    for number in range(6):
        IdempotentRequest.objects.begin("key", f"{number}", "digest")
        IdempotentRequest.objects.end("key", f"{number}", "digest", answer)
    assert 2 < len(repr(rights)) * IdempotentRequest.objects.count() / 1000 <= 10


def test_dry_runs_are_not_kept(alice: Api) -> None:
    AGENTS.make(alice)
    dataset = make_dataset(alice)
    add_item(alice, dataset, input="zero")
    experiment = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
    for path, body in (
        (f"{dataset}/experiments", {**experiment, "dryRun": True}),
        (f"{dataset}/import?dryRun=true", {"input": "one"}),
    ):
        for _ in range(2):
            answer = post(alice, path, body)
            assert answer.status == 200, answer.body
            assert "Idempotent-Replayed" not in answer.headers
        assert not IdempotentRequest.objects.exists(), path
    first, again = (post(alice, f"{dataset}/import", {"input": "one"}) for _ in range(2))
    assert (first.body["created"], again.headers["Idempotent-Replayed"]) == (1, "true")


def test_a_post_that_finds_what_it_would_make_is_not_kept(alice: Api) -> None:
    dataset = make_dataset(alice)
    item = {"input": "one", "externalId": "1"}
    assert post(alice, f"{dataset}/items", item, key="first").status == 201
    assert post(alice, f"{dataset}/items", item, key="second").status == 200
    assert list(IdempotentRequest.objects.values_list("key", flat=True)) == ["first"]


def test_answers_that_wait_to_be_stored_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioning.models.idempotency.MAX_BYTES", 10_000)
    monkeypatch.setattr("versioning.models.idempotency.MAX_UNWRITTEN_BYTES", 20_000)
    monkeypatch.setattr(Unwritten, "every", None)
    unwritten = Unwritten()

    def add(caller: str, *keys: str, characters: int = 1_000) -> None:
        for key in keys:
            unwritten.add(caller, key, "digest", StoredAnswer(201, {}, "\u6f22" * characters))

    def kept(caller: str) -> str:
        return "".join(key for key in "abcdefg" if unwritten.find(caller, key) is not None)

    add("quiet", "a")
    add("busy", *"abcdef")
    assert (kept("quiet"), kept("busy")) == ("a", "ef")
    add("busy", "f", "f", "f")
    assert kept("busy") == "ef"
    add("other", *"abc")
    add("fourth", *"ab")
    assert (kept("quiet"), kept("fourth")) == ("a", "ab")
    assert (kept("busy"), kept("other")) == ("f", "c")
    add("quiet", "g", characters=4_000)
    assert unwritten.find("quiet", "g") == ("digest", None)
    for key in "abcdefg":
        for caller in ("quiet", "busy", "other", "fourth"):
            unwritten.remove(caller, key)
    assert not unwritten._ends and not unwritten._bytes


@pytest.mark.processes
def test_a_stream_is_kept_by_a_process_that_ends_at_once(tmp_path: Path) -> None:
    def repeat(service: Service) -> tuple[str | None, str]:
        headers = {"Authorization": f"Bearer {service.key}", "Content-Type": "application/json", HEADER: KEY}
        request = Request(f"{service.url}/api/agents/writer/stream", b'{"messages": "Hello"}', headers)
        with urlopen(request) as answer:
            return answer.headers["Idempotent-Replayed"], answer.read().decode()

    with running_service(tmp_path) as service:
        with connected(service) as api:
            AGENTS.make(api, model=ECHO, autoPublish=True)
        _, text = repeat(service)
        service.stop()
        service.start()
        assert repeat(service) == ("true", text)
