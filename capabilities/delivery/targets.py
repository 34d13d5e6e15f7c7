"""The rules for the URLs and IP addresses of webhooks, and resolving the host of a receiver.

An admin who creates a webhook makes this service send requests from inside its network. So every IP address
of the host has to be globally reachable according to IANA's registries of special-purpose addresses.
Python's `is_global` is not enough: it accepts NAT64 and 6to4, which carry an IPv4 address, and ranges that
became special later.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import Setting

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL: Final = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; two addresses in it are reachable, but no receiver has them
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4, deprecated
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
    )
)
_PUBLIC_BUT_INTERNAL: Final = ip_network("168.63.129.16/32")
"""The platform of Azure, which answers only its machines. IANA's registries have no entry for it."""
_GLOBAL_UNICAST: Final = ip_network("2000::/3")
"""The assigned part of IPv6. Loopback, mapped and compatible addresses, NAT64, discard-only, unique local,
link-local, site-local, multicast and unassigned addresses are outside of it."""

_ISATAP: Final = frozenset((0x0000_5EFE, 0x0200_5EFE))
"""The third quarter of an ISATAP address (RFC 5214), whose last quarter is an IPv4 address."""
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_ENDING_IN_IPV4: Final = (IPv6Network("::/96"), _MAPPED, IPv6Network("64:ff9b::/96"))
"""Compatible and mapped addresses, and those of NAT64."""

_AUTHORITY: Final = re.compile(r"^https?://([^/?#]*)", re.IGNORECASE)
_HOST_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_OF_URLS: Final = frozenset(":?#@[]")
"""The characters that end a host in a URL or cannot be part of its name."""
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


class Refused(Exception):
    """A webhook may not be sent there; the message for its admins gives the reason."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The host to connect to and the path to request, according to a URL."""

    scheme: str
    host: str
    """In ASCII and lower case; without brackets, and without a dot at the end."""
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """The `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.scheme == "https" else 80
        return host if self.port == usual else f"{host}:{self.port}"


def parse_target(url: str) -> Target:
    """Return the target of a URL; raises `Refused`.

    It has to be an absolute http or https URL, without user information and without a fragment. An IPv4
    address has to be written as four decimal numbers: programs disagree on the meaning of other notations.
    """
    if not url.isprintable() or " " in url or "\\" in url:
        raise Refused("must not contain spaces, backslashes or invisible characters")
    authority = _AUTHORITY.match(url)
    if authority is None:
        raise Refused("must begin with http:// or https://")
    if "@" in authority[1]:
        raise Refused("must not contain a user name or a password")
    if "#" in url:
        raise Refused("must not have a fragment (#…)")
    import httpx2  # noqa: PLC0415  it takes 6 MiB, and few processes need it

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise Refused("is not a URL") from None
    port = parsed.port if parsed.port is not None else {"http": 80, "https": 443}[parsed.scheme]
    if not 1 <= port <= 65535:
        raise Refused("has an invalid port")
    return Target(
        scheme=parsed.scheme,
        host=_check_host(parsed.raw_host.decode("ascii")),
        port=port,
        path=parsed.raw_path.decode("ascii"),
    )


def _check_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if "%" in host or "" in host.split("."):  # two dots at the end would be another name for a denied host
        raise Refused("has no host that can be looked up")
    if ":" in host or _NUMERIC.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ip_address(host))
        except ValueError:
            raise Refused("has a number for a host: write four decimal numbers, or a name") from None
    return host


def is_globally_reachable(address: Address) -> bool:
    """Return whether the address can belong to any host on the internet.

    An ISATAP address can if the IPv4 address in it can.
    """
    if isinstance(address, IPv6Address):
        if address.scope_id or address not in _GLOBAL_UNICAST:
            return False
        carried = _embedded_ipv4(address)
        if carried is not None and not is_globally_reachable(carried):
            return False
    special = (*_SPECIAL, _PUBLIC_BUT_INTERNAL)
    return not any(address in network for network in special if network.version == address.version)


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address to which routers and systems may unpack an IPv6 one."""
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    is_isatap = int(address) >> 32 & 0xFFFF_FFFF in _ISATAP
    return last if is_isatap or any(address in network for network in _ENDING_IN_IPV4) else address.sixtofour


@dataclass(frozen=True)
class Receivers:
    """Hosts and networks, as `EDITOR_WEBHOOK_ALLOW` and `EDITOR_WEBHOOK_DENY` list them."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = field(default=())

    @classmethod
    def read(cls, entries: Iterable[str]) -> Receivers:
        """Read entries: IP addresses, CIDRs or host names, which are normalized like those of targets.

        Raises `ValueError` for any other entry, which would allow or deny nothing.
        """
        hosts, networks = set(), []
        for entry in (text for entry in entries if (text := entry.strip())):
            try:
                network = ip_network(entry.strip("[]"), strict=False)
            except ValueError:
                hosts.add(_read_host(entry))
                continue
            networks.append(network)
            if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
                bits = network.prefixlen - _MAPPED.prefixlen
                networks.append(IPv4Network((int(network.network_address) & 0xFFFF_FFFF, bits)))
        return cls(frozenset(hosts), tuple(networks))

    def include(self, host: str, address: Address) -> bool:
        """Return whether the host is listed, or its address is in one of the networks."""
        return host in self.hosts or self._hold(address)

    def include_part_of(self, host: str, address: Address) -> bool:
        """Return whether `include` holds, also for a domain of the host or an IPv4 address in an IPv6 one."""
        labels = host.split(".")
        domains = {".".join(labels[start:]) for start in range(len(labels))}
        carried = _embedded_ipv4(address) if isinstance(address, IPv6Address) else None
        return (
            bool(domains & self.hosts) or self._hold(address) or (carried is not None and self._hold(carried))
        )

    def _hold(self, address: Address) -> bool:
        return any(address in network for network in self.networks if network.version == address.version)


def _read_host(entry: str) -> str:
    """Return the name of a host in the form of `Target.host`; raises `ValueError` for anything else."""
    if "/" in entry:
        raise ValueError(f"{entry!r} is not a CIDR, such as 10.1.0.0/16")
    try:
        if entry.isascii():
            host = _check_host(entry)
        else:
            host = parse_target(f"http://{entry}/").host if _OF_URLS.isdisjoint(entry) else ""
    except Refused:
        host = ""
    if not _HOST_NAME.fullmatch(host):
        raise ValueError(
            f"{entry!r} is not an IP address, CIDR or host name without a port, such as chat.internal"
        )
    return host


def check_addresses(
    target: Target, resolved: Iterable[str], allowed: Receivers, denied: Receivers
) -> list[Address]:
    """Return the IP addresses of a host in their order; raises `Refused` unless all of them are allowed.

    `denied` comes before `allowed`. The error does not name the addresses, because only the service may be
    able to resolve them.
    """
    addresses = list(dict.fromkeys(ip_address(text) for text in resolved))
    if not addresses:
        raise Refused("has a host that does not resolve")
    for address in addresses:
        if denied.include_part_of(target.host, address):
            raise Refused("has a host that this installation does not send to")
        if not is_globally_reachable(address) and not allowed.include(target.host, address):
            raise Refused("has a host with an address that is not reachable from the whole internet")
    return addresses


class NotResolved(Refused):
    """The host has no address, or did not resolve in time."""


def resolve(url: str, seconds: float) -> tuple[Target, list[Address]]:
    """Return the target of a URL and the IP addresses of its host, all of which are allowed.

    Raises `Refused` if they are not, and `NotResolved` if the host does not resolve within `seconds`.
    """
    target = parse_target(url)
    allowed, denied = map(Receivers.read, (settings.EDITOR_WEBHOOK_ALLOW, settings.EDITOR_WEBHOOK_DENY))
    return target, check_addresses(target, _look_up_host(target, seconds), allowed, denied)


def _look_up_host(target: Target, seconds: float) -> Sequence[str]:
    """Return the IP addresses of a host, in the order in which they should be tried.

    The system's resolver cannot be stopped, so it runs in a thread, which is abandoned after the time limit.
    """
    addresses: list[str] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # the latter for an impossible host name
            return
        addresses.extend(str(answer[4][0]) for answer in answers)

    thread = threading.Thread(target=look_up, name="webhook resolver", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if thread.is_alive():
        raise NotResolved("has a host that did not resolve in time")
    if not addresses:
        raise NotResolved("has a host that does not resolve")
    return addresses


def _check_receivers(name: str, value: Any) -> None:
    try:
        Receivers.read(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


SETTINGS: Final = (
    Setting(
        "EDITOR_WEBHOOK_ALLOW",
        (),
        "internal receivers that [webhooks](webhooks.md#which-receivers-are-allowed) may be sent to",
        "none",
        kind=list,
        check=_check_receivers,
        error_id="delivery.E001",
    ),
    Setting(
        "EDITOR_WEBHOOK_DENY",
        (),
        "receivers that [webhooks](webhooks.md#which-receivers-are-allowed) are never sent to, even if "
        "`EDITOR_WEBHOOK_ALLOW` lists them",
        "none",
        kind=list,
        check=_check_receivers,
        error_id="delivery.E002",
    ),
    Setting("EDITOR_WEBHOOK_KEY", "", "a long random text", "as `SECRET_KEY`"),
)
