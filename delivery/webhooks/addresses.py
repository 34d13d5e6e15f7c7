"""Which URLs and addresses a webhook may be sent to. Pure: nothing is resolved or connected here.

Whoever may make a webhook makes this service send requests, and it stands where it reaches machines that
they do not. So an address has to be one that IANA's registries of special-purpose addresses call globally
reachable. Python's `is_global` is not enough: it accepts NAT64 and 6to4, which carry an address of IPv4, and
more that has become special since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx

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
        "192.0.0.0/24",  # protocol assignments; two addresses in it are reachable, and nobody's receiver
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
        "2002::/16",  # 6to4, which carries an address of IPv4
        "3fff::/20",  # documentation
    )
)
_GLOBAL_UNICAST: Final = ip_network("2000::/3")
"""All that is assigned of IPv6. Outside of it are loopback, mapped and compatible addresses, NAT64,
discard-only, unique local, link-local, site-local, multicast, and what nobody has been given yet."""

_AUTHORITY: Final = re.compile(r"^https?://([^/?#]*)", re.IGNORECASE)
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


class Refused(Exception):
    """A webhook may not be sent there; the message says why, to whoever administers it."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a URL means: where to connect, and what to ask for."""

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


def target_of(url: str) -> Target:
    """Return what a URL means; raises `Refused`.

    It has to be an absolute URL of http or https, without user information and without a fragment. An
    address of IPv4 has to be written as four decimal numbers: what else looks like a number means one
    address to one program and another to the next.
    """
    if not url.isprintable() or " " in url or "\\" in url:
        raise Refused("must not hold spaces, backslashes or invisible characters")
    authority = _AUTHORITY.match(url)
    if authority is None:
        raise Refused("must begin with http:// or https://")
    if "@" in authority[1]:
        raise Refused("must not hold a user name or a password")
    if "#" in url:
        raise Refused("must not have a fragment (#…)")
    import httpx  # noqa: PLC0415  6 MiB, and few processes have to do with webhooks

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise Refused("is no URL") from None
    return Target(
        scheme=parsed.scheme,
        host=_checked_host(parsed.raw_host.decode("ascii")),
        port=_checked_port(parsed),
        path=parsed.raw_path.decode("ascii"),
    )


def _checked_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if not host or "%" in host or host.startswith("."):
        raise Refused("has no host that can be looked up")
    if ":" in host or _NUMERIC.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ip_address(host))
        except ValueError:
            raise Refused("has a number for a host: write four decimal numbers, or a name") from None
    return host


def _checked_port(parsed: httpx.URL) -> int:
    port = parsed.port if parsed.port is not None else {"http": 80, "https": 443}[parsed.scheme]
    if not 1 <= port <= 65535:  # noqa: PLR2004  what there is
        raise Refused("has an impossible port")
    return port


def is_globally_reachable(address: Address) -> bool:
    """Say whether anybody on the internet may have this address."""
    if address.version == 6 and (address.scope_id or address not in _GLOBAL_UNICAST):  # noqa: PLR2004  IPv6
        return False
    return not any(address in network for network in _SPECIAL if network.version == address.version)


@dataclass(frozen=True)
class Allowed:
    """The internal receivers that `EDITOR_WEBHOOK_ALLOW` opens."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = field(default=())

    @classmethod
    def read(cls, entries: Iterable[str]) -> Allowed:
        """Return what the entries open: addresses and CIDRs, or names of hosts.

        Raises `ValueError` for an entry with a slash that is no CIDR.
        """
        hosts, networks = set(), []
        for entry in (text for entry in entries if (text := entry.strip())):
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if "/" in entry:
                    raise ValueError(f"{entry!r} is no CIDR, such as 10.1.0.0/16") from None
                hosts.add(entry.lower().removesuffix("."))
        return cls(frozenset(hosts), tuple(networks))

    def opens(self, host: str, address: Address) -> bool:
        """Say whether a host is named, or an address of it is in one of the networks."""
        return host in self.hosts or any(
            address in network for network in self.networks if network.version == address.version
        )


def checked_addresses(target: Target, found: Iterable[str], allowed: Allowed) -> list[Address]:
    """Return the addresses of a host, in their order; raises `Refused` unless every one may be sent to.

    The addresses are not named in the error: it would tell what only the service can look up.
    """
    addresses = list(dict.fromkeys(ip_address(text) for text in found))
    if not addresses:
        raise Refused("has a host that does not resolve")
    for address in addresses:
        if not is_globally_reachable(address) and not allowed.opens(target.host, address):
            raise Refused("has a host with an address that is not reachable from the whole internet")
    return addresses
