"""One request to a receiver: its deadline, its answer, certificates, proxies and redirects."""

from __future__ import annotations

import datetime
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from django.utils import timezone

from capabilities.delivery import running, sending
from capabilities.delivery.models import DeliveryAttempt
from tests.support.ports import free_port
from tests.support.receiver import Receiver

pytestmark = pytest.mark.processes

SHORT = 1.0
"""The deadline where it has to pass, in seconds."""


@pytest.fixture(autouse=True)
def patient_service(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set timeouts that a busy machine does not exceed."""
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.0/8", "receiver.example"]
    monkeypatch.setattr(sending, "SECONDS", 60.0)


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SECONDS", SHORT)


def send(url: str) -> DeliveryAttempt:
    return sending.send(url, {"webhook-id": "msg_1"}, b"{}")


@contextmanager
def raw_receiver(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Listen, hand each connection to a function, and yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    try:
                        serve(connection)
                    except OSError:
                        continue

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)


def dripping(beginning: bytes, drop: bytes) -> Callable[[socket.socket], None]:
    """Answer with a beginning and then a little every 50 ms, forever."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(beginning)
        while True:
            time.sleep(0.05)
            connection.sendall(drop)

    return serve


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize(
    "serve",
    [
        lambda connection: time.sleep(2 * SHORT),
        dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        dripping(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
    ],
    ids=["silent", "one header", "headers"],
)
def test_no_answer_within_the_deadline_is_a_failure(serve: Callable[[socket.socket], None]) -> None:
    began = time.monotonic()
    with raw_receiver(serve) as url:
        outcome = send(url)
    assert time.monotonic() - began < SHORT + 10
    assert outcome.status_code is None and "did not answer within" in outcome.error


@pytest.mark.parametrize(
    ("serve", "error"),
    [
        (lambda connection: connection.recv(9), "without an answer"),
        (lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n\r\n"), "is not HTTP"),
    ],
    ids=["closed", "no HTTP"],
)
def test_a_malformed_answer_is_a_failure(serve: Callable[[socket.socket], None], error: str) -> None:
    with raw_receiver(serve) as url:
        outcome = send(url)
    assert outcome.status_code is None and error in outcome.error


def test_an_endless_answer_counts_by_its_status_and_is_read_only_partly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            connection.send(b"\0\xff" * 4096)

    with raw_receiver(serve) as url:
        outcome = send(url)
    assert outcome.is_success and outcome.status_code == 200
    assert outcome.response == "\N{REPLACEMENT CHARACTER}" * sending.KEPT_BYTES

    def say(connection: socket.socket) -> None:
        text = "x" * (sending.KEPT_BYTES - 9) + "\N{FAMILY}\u200d\N{GIRL}\u200d\N{BOY}"
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text.encode())

    with raw_receiver(say) as url:
        assert send(url).response == "x" * (sending.KEPT_BYTES - 9)
    monkeypatch.setattr(sending, "SECONDS", 3 * SHORT)
    with raw_receiver(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x")) as url:
        outcome = send(url)
    assert outcome.is_success and outcome.response.startswith("x")


@pytest.mark.parametrize(
    ("status", "is_success"),
    [
        (200, True),
        (204, True),
        (299, True),
        (301, False),
        (307, False),
        (400, False),
        (410, False),
        (500, False),
    ],
)
def test_the_status_decides_over_success(receiver: Receiver, status: int, is_success: bool) -> None:
    there = receiver.url
    receiver.answer = lambda _message: (status, {"Location": there, "Retry-After": "9"}, b"")
    outcome = send(there)
    assert (outcome.status_code, outcome.is_success, outcome.retry_after) == (status, is_success, 0)
    assert len(receiver.messages) == 1
    assert is_success or f"answered {status}" in outcome.error


def test_no_proxy_of_the_environment_is_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{free_port()}")
    assert send(receiver.url).is_success
    assert "cookie" not in receiver.messages[0].headers


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_of_429_and_503_is_heeded(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _message: (status, {"Retry-After": "120"}, b"later")
    outcome = send(receiver.url)
    assert (outcome.retry_after, outcome.response) == (120, "later")


@pytest.mark.usefixtures("short_deadline")
def test_a_host_that_does_not_resolve_in_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hang(*_more: Any, **_named: Any) -> Any:
        over.wait(60)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()
    outcome = send("http://receiver.example/")
    assert "did not resolve in time" in outcome.error
    assert time.monotonic() - began < SHORT + 10
    over.set()


@pytest.mark.parametrize("host", ["nowhere.invalid", f"{'a' * 64}.example", "a..b"])
def test_a_host_that_does_not_resolve_is_a_failure(host: str) -> None:
    error = send(f"http://{host}/").error
    assert ("no host that can be looked up" if ".." in host else "does not resolve") in error


def test_the_next_address_is_tried_when_one_does_not_answer(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["receiver.example"]
    real = socket.getaddrinfo

    def resolve(host: str, port: Any, *more: Any, **named: Any) -> Any:
        if host != "receiver.example":
            return real(host, port, *more, **named)
        return [(2, 1, 6, "", (one, port)) for one in ("::1", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert send(f"http://receiver.example:{receiver.port}/").is_success


# Certificates


def certificate(folder: Path, host: str) -> Path:
    """Write a self-signed certificate for a host, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = timezone.now()
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    file = folder / f"{host}.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file.write_bytes(
        made.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
    return file


@contextmanager
def https_receiver(file: Path, names: list[str | None]) -> Iterator[int]:
    """Answer by https with a certificate; `names` gets the host names that clients ask for (SNI)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            received = b""
            while not received.endswith(b"{}"):
                received += secure.recv(65536)
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with raw_receiver(serve) as url:
        yield int(url.rpartition(":")[2].strip("/"))


def test_the_certificate_has_to_be_that_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, port, *more, **named: real(
            "127.0.0.1" if host == "receiver.example" else host, port, *more, **named
        ),
    )
    ours, other = (certificate(tmp_path, host) for host in ("receiver.example", "other.example"))
    (tmp_path / "all.pem").write_bytes(ours.read_bytes() + other.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "all.pem"))
    names: list[str | None] = []
    with https_receiver(ours, names) as port:
        assert send(f"https://receiver.example:{port}/").is_success
    assert names == ["receiver.example"]
    with https_receiver(other, names) as port:
        outcome = send(f"https://receiver.example:{port}/")
    assert "certificate" in outcome.error.lower() and outcome.status_code is None


# When to try again


def test_the_waits_between_attempts_are_as_documented() -> None:
    hours = [2, 5, 10, 14, 20, 24]
    assert list(running.WAITS) == [0, 5, 5 * 60, 30 * 60, *(hour * 3600 for hour in hours)]
    random.seed(1)
    for step, wait in enumerate(running.WAITS):
        some = [running.wait_before(step) for _ in range(200)]
        assert all(one is not None and 0.8 * wait <= one <= 1.2 * wait for one in some)
        assert wait == 0 or len(set(some)) > 100
    assert running.wait_before(len(running.WAITS)) is None
    assert running.wait_before(len(running.WAITS), retry_after=60) is None


def test_retry_after_can_only_lengthen_a_wait() -> None:
    assert running.wait_before(1, retry_after=3600) == 3600
    wait = running.wait_before(4, retry_after=1)
    assert wait is not None and wait > 3600


NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("0", 0),
        ("9" * 500, sending.LONGEST_RETRY_AFTER),
        (format_datetime(NOW + datetime.timedelta(minutes=2), usegmt=True), 120),
        (format_datetime(NOW - datetime.timedelta(minutes=2), usegmt=True), 0),
        (format_datetime(NOW + datetime.timedelta(days=9), usegmt=True), sending.LONGEST_RETRY_AFTER),
        ("Tue, 01 Jan 2030 00:01:00", 60),
        ("-1", 0),
        ("1.5", 0),
        ("²", 0),
        ("soon", 0),
        ("", 0),
        ("Tue, 99 Jan 2030 99:99:99 GMT", 0),
        ("Tue, 01 Jan 2030 00:00:00 +99999999999999999999", 0),
        ("Tue, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float) -> None:
    assert sending.retry_after(header, NOW) == seconds
