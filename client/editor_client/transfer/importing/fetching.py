"""Reading from the servers of other systems: one host, bounded, with keys that are nowhere written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx2

from editor_client.certificates import ssl_context
from editor_client.transfer.importing.collection import Unreadable, shown
from editor_client.transfer.importing.documents import MAX_FILE, MAX_TOTAL, parse_json

MAX_REQUESTS: Final = 5_000
SECONDS: Final = 30
"""How long a silence may last."""
MAX_SECONDS: Final = 120
"""How long an answer may take."""
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


@dataclass
class Server:
    """The server at an address; `headers` and `auth` are sent to it and to no other host."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: tuple[str, str] | None = field(default=None, repr=False)
    _http: httpx2.Client = field(init=False, repr=False)
    _requests: int = field(default=0, init=False)
    _read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise Unreadable("The address must begin with https://; http:// is for this machine alone.")
        if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise Unreadable("The address must have a host, and no credentials, no query and no fragment.")
        # No redirect is followed: it could lead to another host, with the key.
        self._http = httpx2.Client(
            verify=ssl_context(),
            headers=dict(self.headers),
            auth=self.auth,
            timeout=SECONDS,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, *, missing: Any = None, **query: Any) -> Any:
        """Return the JSON at a path below the address; `missing` if there is nothing.

        Raises `Unreadable` for any other answer.
        """
        self._requests += 1
        if self._requests > MAX_REQUESTS:
            raise Unreadable(f"More than {MAX_REQUESTS} requests are needed; import a part of it.")
        url = f"{self.address.rstrip('/')}/{path}"
        asked = {name: str(value) for name, value in query.items() if value is not None}
        try:
            with self._http.stream("GET", url, params=asked) as response:
                content = self._content(response, path)
        except httpx2.HTTPError as error:
            raise Unreadable(
                f"{shown(path)} cannot be read: {shown(error) or type(error).__name__}"
            ) from None
        if response.status_code == httpx2.codes.NOT_FOUND and missing is not None:
            return missing
        if response.status_code != httpx2.codes.OK:
            where = " It leads elsewhere, which is not followed." if response.is_redirect else ""
            raise Unreadable(f"{shown(path)} answered {response.status_code}.{where}")
        try:
            return parse_json(content.decode("utf-8"), path)
        except UnicodeDecodeError:
            raise Unreadable(f"{shown(path)} is not UTF-8.") from None

    def pages(self, path: str, member: str, token: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the objects in a list of all pages; `token` is the parameter that names the next one."""
        following: Any = None
        while True:
            found = self.get(path, **query, **{token: following})
            listed = found.get(member) if isinstance(found, dict) else None
            yield from (entry for entry in listed or () if isinstance(entry, dict))
            before, following = following, found.get(f"next_{token}") if isinstance(found, dict) else None
            if not following or following == before:
                return

    def _content(self, response: httpx2.Response, path: str) -> bytes:
        content = bytearray()
        deadline = monotonic() + MAX_SECONDS
        for piece in response.iter_bytes():
            content += piece
            if monotonic() > deadline:
                raise Unreadable(f"{shown(path)} takes longer than {MAX_SECONDS} seconds.")
            if len(content) > MAX_FILE or self._read + len(content) > MAX_TOTAL:
                raise Unreadable(f"{shown(path)} is too large: {MAX_FILE >> 20} MiB are allowed.")
        self._read += len(content)
        return bytes(content)


def is_address(path: str) -> bool:
    """Return whether PATH is the address of a server."""
    return path.startswith(("https://", "http://"))


def from_environment(*names: str) -> list[str]:
    """Return the values of environment variables; raises `Unreadable` if one is not set."""
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise Unreadable(f"The environment variable {' and '.join(missing)} must hold the key.")
    return [os.environ[name] for name in names]


def segment(text: str) -> str:
    """Return a name as one segment of a path."""
    return quote(text, safe="")
