"""Where webhooks may be sent: a table of addresses and URLs, at creation and at every attempt."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest

from capabilities.delivery.models import Webhook
from capabilities.delivery.targets import (
    Receivers,
    Refused,
    check_addresses,
    is_globally_reachable,
    parse_target,
)
from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.receiver import Receiver
from tests.support.webhooks import WEBHOOKS, WebhookFactory, deliveries, make_webhook, path, work
from versioning.conf import check_values

PUBLIC = "93.184.215.14"

NOT_REACHABLE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",  # carrier-grade NAT
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",  # the metadata of clouds
    "168.63.129.16",  # the platform of Azure
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",  # compatible
    "::ffff:127.0.0.1",  # mapped
    "::ffff:93.184.215.14",
    "64:ff9b::7f00:1",  # NAT64
    "64:ff9b::5db8:d70e",
    "64:ff9b:1::a00:1",
    "100::1",  # discard-only
    "100:0:0:1::1",  # a dummy prefix
    "2001::1",  # Teredo
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",  # benchmarks
    "2001:10::1",  # ORCHID
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",  # 6to4
    "2002:5db8:d70e::1",
    "3fff::1",  # documentation
    "3fff:fff:ffff::1",
    "4000::1",  # unassigned
    "5f00::1",  # segment routing
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",  # site-local
    "ff02::1",
    "2606:4700::1%eth0",
    "2606:4700::5efe:a00:1",  # ISATAP
    "2606:4700::200:5efe:a83f:8110",
]
REACHABLE = [
    PUBLIC,
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2620:4f:8000::1",
    "3ffe:ffff::1",
    "168.63.129.15",
    "168.63.129.17",
    "2606:4700::5efe:5db8:d70e",  # ISATAP of a reachable address
    "2606:4700::100:5efe:a00:1",
]


def test_an_address_that_is_not_globally_reachable_is_refused() -> None:
    for address in NOT_REACHABLE:
        assert not is_globally_reachable(ip_address(address)), address
        with pytest.raises(Refused):
            check_addresses(
                parse_target("http://receiver.example/"), [PUBLIC, address], Receivers(), Receivers()
            )


def test_the_addresses_next_to_refused_ranges_are_allowed() -> None:
    for address in REACHABLE:
        assert is_globally_reachable(ip_address(address)), address


NO_URL = {
    "http://2130706433/": "number",
    "http://0x7f000001/": "number",
    "http://0x7f.0.0.1/": "number|not a URL",
    "http://0177.0.0.1/": "not a URL",
    "http://017700000001/": "number",
    "http://127.1/": "number",
    "http://127.0.1/": "number",
    "http://0/": "number",
    "http://0x/": "number",
    "http://256.0.0.1/": "not a URL",
    "http://1.2.3.4.5/": "not a URL|number",
    "http://①②⑦.⓪.⓪.①/": "not a URL",
    "http://%31%32%37.0.0.1/": "no host",
    "http://[::1/": "not a URL",
    "http://[v1.fe80::1]/": "not a URL",
    "http://[fe80::1%25eth0]/": "no host",
    "http://user@receiver.example/": "user name",
    "http://user:password@receiver.example/": "user name",
    "http://@receiver.example/": "user name",
    "http://receiver.example@127.0.0.1/": "user name",
    "http://receiver.example/#part": "fragment",
    "http://receiver.example/#": "fragment",
    "http://receiver.example\\@127.0.0.1/": "backslashes",
    "http://receiver.example/a b": "spaces",
    " http://receiver.example/": "spaces",
    "http://receiver.example/\n": "invisible",
    "http://receiver.example/\u200b": "invisible",
    "http://receiver.example:0/": "port",
    "http://receiver.example:65536/": "port",
    "http://receiver.example:80:80/": "not a URL",
    "http://receiver.example:http/": "not a URL",
    "http://": "no host",
    "http:///hook": "no host",
    "http://./": "no host",
    "http://.receiver.example/": "no host|not a URL",
    "ftp://receiver.example/": "http",
    "file:///etc/passwd": "http",
    "gopher://receiver.example/": "http",
    "javascript:alert(1)": "http",
    "//receiver.example/": "http",
    "http:/receiver.example/": "http",
    "receiver.example": "http",
    "": "http",
}


def test_an_unusual_url_is_refused_with_the_reason() -> None:
    for url, reason in NO_URL.items():
        with pytest.raises(Refused, match=reason):
            parse_target(url)


def test_a_url_is_parsed_to_one_host() -> None:
    for url, *expected in [
        ("HTTP://Receiver.Example./hook", "receiver.example", "receiver.example", "/hook"),
        ("https://receiver.example", "receiver.example", "receiver.example", "/"),
        ("https://receiver.example:443/", "receiver.example", "receiver.example", "/"),
        ("https://receiver.example:80?a=b", "receiver.example", "receiver.example:80", "/?a=b"),
        ("https://bücher.example/ü", "xn--bcher-kva.example", "xn--bcher-kva.example", "/%C3%BC"),
        ("http://127。0。0。1/", "127.0.0.1", "127.0.0.1", "/"),
        ("http://127.0.0.1./", "127.0.0.1", "127.0.0.1", "/"),
        ("http://[0:0:0:0:0:0:0:1]:8080/", "::1", "[::1]:8080", "/"),
        ("http://[::FFFF:127.0.0.1]/", "::ffff:7f00:1", "[::ffff:7f00:1]", "/"),
    ]:
        target = parse_target(url)
        assert [target.host, target.authority, target.path] == expected


# Targets that an administrator allows


def test_allowed_entries_permit_hosts_and_networks() -> None:
    for entry, address, is_open in [
        ("10.1.0.0/16", "10.1.2.3", True),
        ("10.1.0.0/16", "10.2.0.1", False),
        ("10.1.2.3/16", "10.1.9.9", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("[fd00::1]", "fd00::1", True),
        ("fd00::/8", "fd12::1", True),
        ("Receiver.Example.", "10.0.0.1", True),
        ("other.example", "10.0.0.1", False),
        ("example", "10.0.0.1", False),
    ]:
        allowed = Receivers.read([entry, " "])
        assert allowed.include("receiver.example", ip_address(address)) is is_open


def test_one_address_that_is_not_allowed_is_enough_to_refuse() -> None:
    target, allowed = parse_target("http://receiver.example/"), Receivers.read(["10.0.0.0/8"])
    found = check_addresses(target, ["10.0.0.1", PUBLIC, "10.0.0.1"], allowed, Receivers())
    assert [str(address) for address in found] == ["10.0.0.1", PUBLIC]
    with pytest.raises(Refused):
        check_addresses(target, ["10.0.0.1", "127.0.0.1"], allowed, Receivers())


@pytest.mark.parametrize(
    ("denied", "address"),
    [
        (PUBLIC, PUBLIC),
        ("93.184.0.0/16", PUBLIC),
        ("93.184.0.0/16", "2606:4700::5efe:5db8:d70e"),
        ("93.184.0.0/16", "64:ff9b::5db8:d70e"),
        ("93.184.0.0/16", "::ffff:93.184.215.14"),
        ("93.184.0.0/16", "2002:5db8:d70e::1"),
        ("2606:4700::/32", "2606:4700:4700::1111"),
        ("Receiver.example.", PUBLIC),
        ("example", PUBLIC),
        ("::ffff:93.184.215.14", PUBLIC),
        ("::ffff:93.184.0.0/112", PUBLIC),
    ],
)
def test_what_an_operator_denies_is_refused_although_it_is_allowed(denied: str, address: str) -> None:
    allowed = Receivers.read(["0.0.0.0/0", "::/0", "receiver.example"])
    target = parse_target("http://receiver.example/")
    assert check_addresses(target, [address], allowed, Receivers.read(["ceiver.example", "10.0.0.0/8"]))
    with pytest.raises(Refused):
        check_addresses(target, [address], allowed, Receivers.read([denied]))


@pytest.mark.parametrize(
    "entry", ["bücher.example", "BÜCHER.example.", "xn--bcher-kva.EXAMPLE", "bücher。example"]
)
def test_names_in_other_alphabets_are_the_hosts_of_their_urls(entry: str) -> None:
    listed = Receivers.read([entry])
    for url in ("http://bücher.example/", "http://xn--bcher-kva.example/"):
        host = parse_target(url).host
        assert listed.include(host, ip_address(PUBLIC)) and listed.include_part_of(
            f"a.{host}", ip_address(PUBLIC)
        )


@pytest.mark.parametrize("host", ["corp.example..", "corp..example", ".corp.example"])
def test_a_name_with_an_empty_part_is_refused(host: str) -> None:
    with pytest.raises(Refused, match="has no host that can be looked up"):
        parse_target(f"http://{host}/")


@pytest.mark.parametrize("setting", ["EDITOR_WEBHOOK_ALLOW", "EDITOR_WEBHOOK_DENY"])
@pytest.mark.parametrize(
    "entry",
    [
        *("*.corp.example", "*", ".corp.example", "corp.example..", "corp..example", "corp.example:8443"),
        *("10.0.0.1:80", "[fd00::1]:80", "10.1", "0x7f.1", "10.1.2.x:1", "corp example"),
        *(
            "user@corp.example",
            "corp.example?",
            "corp.example#",
            "bücher.example:80",
            "a" * 64,
            "ab--é.example",
        ),
    ],
)
def test_a_receiver_that_is_not_understood_is_reported_when_the_service_starts(
    settings: Any, setting: str, entry: str
) -> None:
    setattr(settings, setting, [entry])
    [problem] = check_values()
    assert problem.msg.startswith(f"{setting}: {entry!r} is not an IP address, CIDR or host name")


def test_an_invalid_network_is_reported_when_the_service_starts(settings: Any) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["receiver.example", "10.0.0.0/8"]
    assert check_values() == []
    settings.EDITOR_WEBHOOK_ALLOW = ["10.0.0.0/33"]
    [problem] = check_values()
    assert "'10.0.0.0/33' is not a CIDR" in problem.msg
    settings.EDITOR_WEBHOOK_ALLOW, settings.EDITOR_WEBHOOK_DENY = [], ["10.0.0.0/33"]
    [problem] = check_values()
    assert "EDITOR_WEBHOOK_DENY: '10.0.0.0/33' is not a CIDR" in problem.msg


# At creation and at every attempt


class Resolver:
    """Answers for `receiver.example` with the next of its answers each time; the last one stays."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self.real = real
        self.answers: list[list[str]] = [[PUBLIC]]
        self.asked = 0

    def __call__(self, host: str, port: Any, *more: Any, **named: Any) -> Any:
        if host != "receiver.example":
            return self.real(host, port, *more, **named)
        self.asked += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(family[":" in one], socket.SOCK_STREAM, 6, "", (one, port)) for one in found]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """The resolver of this machine, replaced for one host."""
    made = Resolver(socket.getaddrinfo)
    monkeypatch.setattr(socket, "getaddrinfo", made)
    return made


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where connections were opened to; those that leave this machine fail."""
    opened: list[tuple[str, int]] = []
    real = socket.create_connection

    def connect(address: tuple[str, int], *more: Any, **named: Any) -> socket.socket:
        opened.append(address)
        if not address[0].startswith("127."):
            raise ConnectionRefusedError("there is no internet here")
        return real(address, *more, **named)

    monkeypatch.setattr(socket, "create_connection", connect)
    return opened


@pytest.mark.django_db
@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["::1"], ["169.254.169.254"], [PUBLIC, "10.0.0.1"], ["64:ff9b::7f00:1"], []]
)
def test_a_host_with_an_internal_address_is_refused_when_made_and_when_changed(
    alice: Api, resolver: Resolver, answer: list[str]
) -> None:
    made = make_webhook(alice, "http://receiver.example/")
    resolver.answers = [answer]
    body = {"workspaceId": "acme", "url": "http://receiver.example/", "eventTypes": ["agent.*"]}
    for refused in (
        alice.post(WEBHOOKS, body),
        alice.patch(f"{WEBHOOKS}/{made['id']}", {"url": "http://receiver.example/other"}),
    ):
        assert (refused.status, refused.fields) == (400, ["url"])
        assert "10.0.0.1" not in refused.body["error"]  # only the service can resolve it
    assert Webhook.objects.get().url == "http://receiver.example/"


@pytest.mark.django_db
def test_no_host_is_resolved_for_callers_without_the_right_to_create_webhooks(
    cast: Cast, resolver: Resolver
) -> None:
    made = make_webhook(cast.alice, "http://receiver.example/")
    resolver.asked = 0
    body = {"workspaceId": "acme", "url": "http://receiver.example/", "eventTypes": ["agent.*"]}
    for api in (cast.paula, cast.charlie, cast.nobody):
        assert api.post(WEBHOOKS, body).status in {401, 403, 404}
        assert api.patch(path(made), {"url": "http://receiver.example/"}).status in {401, 403, 404}
    assert cast.alice.post(WEBHOOKS, {**body, "eventTypes": []}).fields == ["eventTypes"]
    assert resolver.asked == 0


@pytest.mark.django_db
def test_a_host_that_later_resolves_to_an_internal_address_is_not_contacted(
    alice: Api, resolver: Resolver, connections: list[tuple[str, int]]
) -> None:
    webhook = make_webhook(alice, "http://receiver.example/")
    resolver.answers = [["127.0.0.1"]]
    AGENTS.make(alice)
    work()
    [attempt] = deliveries(alice, webhook)[0]["attempts"]
    assert "not reachable from the whole internet" in attempt["error"]
    assert connections == []


@pytest.mark.django_db
def test_a_host_is_resolved_once_per_attempt(
    alice: Api, resolver: Resolver, connections: list[tuple[str, int]]
) -> None:
    webhook = make_webhook(alice, "http://receiver.example:81/")
    resolver.asked, resolver.answers = 0, [[PUBLIC, "1.1.1.1"], ["127.0.0.1"]]
    AGENTS.make(alice)
    work()
    assert resolver.asked == 1
    assert connections == [(PUBLIC, 81), ("1.1.1.1", 81)]
    [attempt] = deliveries(alice, webhook)[0]["attempts"]
    assert attempt["statusCode"] is None and "there is no internet here" in attempt["error"]


@pytest.mark.django_db
def test_the_connection_goes_to_the_checked_address_with_the_name_of_the_host(
    alice: Api, resolver: Resolver, receiver: Receiver
) -> None:
    resolver.answers = [["127.0.0.1"]]
    make_webhook(alice, f"http://receiver.example:{receiver.port}/hook?a=b")
    AGENTS.make(alice)
    work()
    [message] = receiver.messages
    assert message.headers["host"] == f"receiver.example:{receiver.port}"
    assert message.path == "/hook?a=b"


@pytest.mark.django_db
def test_every_stored_url_is_checked_again_before_sending(
    alice: Api, connections: list[tuple[str, int]]
) -> None:
    for url in ("http://127.0.0.1:1/", "http://user@127.0.0.1/", "file:///etc/passwd", "http://127.1/"):
        WebhookFactory(workspace_id="acme", url=url)
    AGENTS.make(alice)
    work()
    assert connections == []
    assert {webhook.failing_since is not None for webhook in Webhook.objects.all()} == {True}
