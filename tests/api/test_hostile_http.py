"""Requests that no test client sends: bodies without a length, far too large ones, invalid bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import pytest

from tests.support.api import Answer, Kind
from tests.support.remote import RemoteApi, connected, send, service_connection
from tests.support.service import Service, running_service
from tests.support.unchanged import is_refusal

pytestmark = pytest.mark.processes

LIMIT = 64 * 1024

ODD_PATHS = [
    b"%00",
    b"..",
    b"%2e%2e",
    b"..%2f..%2fetc%2fpasswd",
    b"../agents",
    b"/writer",
    b"writer//",
    b"writer%0A",
    b"x" * 50_000,
    b"x/" * 20_000,
]
NO_UTF_8 = [b"%FF", b"writer%FF", b"%ED%A0%80", b"writer%C0%AF"]
NO_HTTP = [
    b"PATCH {target}\xff HTTP/1.1",
    b"PATCH {target}?status=\xff HTTP/1.1",
    b"PATCH {target} more HTTP/1.1",
    b"PATCH {target}?" + b"x" * 200_000 + b" HTTP/1.1",
    b"PATCH {target} HTTP/7.7",
    b"PA\x00TCH {target} HTTP/1.1",
    b"PATCH {target} HTTP/1.1\r\nContent-Length: abc",
    b"PATCH {target} HTTP/1.1\r\nContent-Length: -1",
    b"PATCH {target} HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4",
    b"PATCH {target} HTTP/1.1\r\nContent-Length: 99999999999999999999999",
    b"PATCH {target} HTTP/1.1\r\nTransfer-Encoding: gzip",
    b"PATCH {target} HTTP/1.1\r\nX-\x00: 1",
    b"PATCH {target} HTTP/1.1\r\nX: a\x00b",
    b"PATCH {target} HTTP/1.1\r\nno colon",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with a small limit on bodies."""
    folder = tmp_path_factory.mktemp("hostile")
    with running_service(folder, EDITOR_MAX_BODY=str(LIMIT)) as running:
        yield running


@pytest.fixture
def api(service: Service) -> Iterator[RemoteApi]:
    """A connection for honest requests."""
    with connected(service) as connection:
        yield connection


@pytest.fixture
def before(api: RemoteApi, kind: Kind) -> Iterator[dict[str, Any]]:
    """The record of `writer` as it is now, in its second version; it is deleted in the end."""
    kind.make(api, autoPublish=True)
    kind.save(api, text="honest")
    yield now(api, kind)
    assert api.delete(kind.url("writer")).status == 200


def request(
    service: Service, line: str | bytes, *headers: str | bytes, body: bytes = b"", more_to_come: bool = True
) -> Answer:
    """Send a request of the admin with these exact lines and headers."""
    lines = [line, f"Authorization: Bearer {service.key}", "Content-Type: application/json", *headers]
    if not any(_bytes(header).lower().startswith(b"host:") for header in headers):
        lines.append("Host: 127.0.0.1")
    head = b"\r\n".join(_bytes(each) for each in lines)
    return send(service, head + b"\r\nConnection: close\r\n\r\n" + body, more_to_come=more_to_come)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def chunked(body: bytes, size: int) -> bytes:
    """Return a body in the form of chunks, which needs no length."""
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def send_chunks(service: Service, line: str, body: bytes, coding: str = "chunked") -> Answer:
    """Send a body without a length, which is chunked already."""
    return request(service, f"{line} HTTP/1.1", f"Transfer-Encoding: {coding}", body=body)


def is_refused(answer: Answer) -> bool:
    return 400 <= answer.status < 500 and answer.body.keys() >= {"error", "code"}


def target(kind: Kind, *rest: str) -> str:
    return f"/api{kind.url('writer', *rest)}"


def now(api: RemoteApi, kind: Kind) -> dict[str, Any]:
    return dict(api.get(kind.url("writer"), status="draft").body)


def test_a_body_without_a_length_is_not_treated_as_empty(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for coding, size in (("chunked", 1_000), ("chunked", 1), ("Chunked", 1_000)):
        text = f"in chunks of {size}, {coding}"
        body = chunked(json.dumps({kind.text: text}).encode(), size)
        answer = send_chunks(service, f"PATCH {target(kind)}", body, coding)
        if answer.status == 200:
            assert answer.body[kind.text] == now(api, kind)[kind.text] == text
        else:
            assert is_refused(answer)
            assert now(api, kind) == before


def test_a_message_without_a_length_is_not_lost(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    body = chunked(json.dumps({"changeMessage": "in chunks"}).encode(), 1_000)
    answer = send_chunks(service, f"POST {target(kind, 'versions')}", body)
    if answer.status == 201:
        assert answer.body["changeMessage"] == "in chunks"
    else:
        assert is_refused(answer)
        assert len(kind.versions(api)) == 2


def test_a_hostile_body_without_a_length_is_refused(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for body in (b"{", b"[]", b'{"name": NaN}', b'{"surprise": 1}'):
        assert is_refused(send_chunks(service, f"PATCH {target(kind)}", chunked(body, 1_000))), body
    for framing in (b"%s", b"zz\r\n%s\r\n0\r\n\r\n", b"-5\r\n%s\r\n0\r\n\r\n"):
        body = framing % json.dumps({kind.text: "broken"}).encode()
        assert 400 <= send_chunks(service, f"PATCH {target(kind)}", body).status < 500, framing
    assert now(api, kind) == before


def large(kind: Kind, size: int) -> bytes:
    """Return a valid edit of exactly this many bytes."""
    frame = len(json.dumps({kind.text: ""}))
    return json.dumps({kind.text: "x" * (size - frame)}).encode()


def test_a_body_over_the_limit_is_refused_and_the_server_continues(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for size in (LIMIT + 1, 10 * 1024 * 1024):
        body = large(kind, size)
        for answer in (
            api.patch(kind.url("writer"), body),
            send_chunks(service, f"PATCH {target(kind)}", chunked(body, 1 << 16)),
        ):
            assert is_refusal(answer, 413, "payload_too_large"), (answer.status, answer.body)
    assert now(api, kind) == before
    answer = api.patch(kind.url("writer"), large(kind, LIMIT))
    assert (answer.status, answer.body[kind.text]) == (200, json.loads(large(kind, LIMIT))[kind.text])


def test_a_body_announced_with_expect_continue_is_read(
    service: Service, kind: Kind, before: dict[str, Any]
) -> None:
    body = json.dumps({kind.text: "expected"}).encode()
    answer = request(
        service,
        f"PATCH {target(kind)} HTTP/1.1",
        "Expect: 100-continue",
        f"Content-Length: {len(body)}",
        body=body,
    )
    assert (answer.status, answer.body[kind.text]) == (200, "expected")


def test_an_invalid_host_is_refused(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for host in (b"evil.example", b"\xff\xfe", b"a b", b"127.0.0.1:x", b"127.0.0.1\r\nHost: evil", b""):
        answer = request(service, f"DELETE {target(kind)} HTTP/1.1", b"Host: " + host)
        assert is_refusal(answer, 400, "bad_request"), (host, answer.status, answer.body)
    assert now(api, kind) == before


def test_a_header_with_an_underscore_does_not_pose_as_the_one_with_a_hyphen(
    service: Service, kind: Kind
) -> None:
    line = f"GET /api{kind.path} HTTP/1.1"
    assert request(service, line, "X-Request-ID: honest").headers["X-Request-ID"] == "honest"
    assert request(service, line, "X_Request_ID: forged").headers["X-Request-ID"] != "forged"


def test_invalid_bytes_as_a_key_are_refused(service: Service, kind: Kind) -> None:
    head = f"GET /api{kind.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n".encode()
    for key in (b"\xff\xfe", b"\xe4\xbd\xa0", b"", b"x" * 20_000, b"ek_\t"):
        answer = send(service, head + b"Authorization: Bearer " + key + b"\r\n\r\n")
        assert is_refusal(answer, 401, "unauthorized"), (key, answer.status, answer.body)


def test_an_invalid_path_is_not_found(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for path in [*ODD_PATHS, *NO_UTF_8]:
        answer = request(service, b"DELETE /api" + kind.path.encode() + b"/" + path + b" HTTP/1.1")
        is_missing = is_refusal(answer, 404, "not_found")
        assert is_missing or (path in NO_UTF_8 and is_refusal(answer, 400, "bad_request")), (path, answer)
    assert now(api, kind) == before


def test_an_invalid_byte_in_a_path_does_not_match_an_id_that_spells_it(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    if api.get(kind.url("%FF")).status == 404:
        kind.make(api, "%FF", autoPublish=True)
    answer = request(service, f"GET /api{kind.path}/%FF HTTP/1.1")
    assert answer.status in {400, 404}, answer.body


def test_requests_that_are_not_http_are_refused_and_the_server_continues(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    # The web server itself answers these, or hangs up: they never become a request.
    body = json.dumps({kind.text: "smuggled"}).encode()
    for line in NO_HTTP:
        with suppress(ConnectionError, HTTPException):
            answer = request(service, line.replace(b"{target}", target(kind).encode()), body=body)
            assert 400 <= answer.status < 500, line
        assert now(api, kind) == before, line


def test_an_incomplete_body_is_not_saved(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    body = json.dumps({kind.text: "cut off"}).encode()
    try:
        answer = request(
            service,
            f"PATCH {target(kind)} HTTP/1.1",
            f"Content-Length: {len(body)}",
            body=body[:-5],
            more_to_come=False,
        )
    except (ConnectionError, HTTPException):
        pass  # hanging up on a client that stopped talking is right too
    else:
        assert is_refusal(answer, 400, "validation_failed"), (answer.status, answer.body)
    assert now(api, kind) == before


def test_clients_that_disconnect_midway_do_not_disturb_the_server(
    service: Service, api: RemoteApi, kind: Kind, before: dict[str, Any]
) -> None:
    for attack in (b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00", b"\x00" * 100, b"PRI * HTTP/2.0\r\n"):
        for _ in range(40):
            with service_connection(service) as connection:
                connection.sendall(attack)
    assert now(api, kind) == before
