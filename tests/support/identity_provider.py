"""A provider of identities that speaks OpenID Connect, on a port of this machine.

It signs in every browser as the person that a test names, and makes the faults that a test asks for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "the-editor", "s3cret/with+signs"


@lru_cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """Return a key of this name; making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class IdentityProvider:
    """What it publishes, whom it signs in, and what it does wrong."""

    url: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "ada-1", "preferred_username": "ada"})
    published: tuple[str, ...] = ("first",)
    """The names of the keys that it publishes."""
    signs_with: str = "first"
    header: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    """Replaces claims of the next tokens; None leaves one out."""
    userinfo: dict[str, Any] | None = None
    is_down: bool = False
    issuer: str = ""
    """What it says that it is, if that is not its address."""
    _asked: dict[str, dict[str, str]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the entry for `EDITOR_OIDC`."""
        return {
            "id": "corp",
            "name": "Corp",
            "issuer": self.url,
            "clientId": CLIENT,
            "clientSecret": SECRET,
            **more,
        }

    def authorize(self, address: str) -> str:
        """Sign the person in, as a browser that opens the address does; return where it is sent back to."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert query["response_type"] == "code" and query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self._asked[code] = query
        return (
            f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'iss': self.url})}"
        )

    def exchange(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the tokens for a code; None if the client, the code or its verifier is wrong."""
        user, _, password = base64.b64decode(authorization.partition(" ")[2]).decode().partition(":")
        if (unquote(user), unquote(password)) != (CLIENT, SECRET):
            return None
        asked = self._asked.pop(form.get("code", ""), None)
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if challenge.rstrip(b"=").decode() != asked["code_challenge"]:
            return None
        return {"access_token": "at", "token_type": "Bearer", "id_token": self.token(asked)}

    def token(self, asked: dict[str, str]) -> str:
        """Return a signed identity token."""
        now = int(time.time())
        again = {"auth_time": now} if asked.get("prompt") == "login" else {}
        usual = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims = {**usual, **again, **self.person, **self.claims}
        header = {"alg": "RS256", "kid": self.signs_with, **self.header}
        key: Any = rsa_key(self.signs_with)
        if header["alg"] == "none":
            key = None
        elif header["alg"] == "HS256":
            key = SECRET.encode().ljust(32, b"=")
        given = {name: value for name, value in claims.items() if value is not None}
        kept = {name: value for name, value in header.items() if value is not None}
        return jwt.encode(given, key, algorithm=header["alg"], headers=kept)

    def answer(self, path: str) -> dict[str, Any] | None:
        """Return what it publishes at a path."""
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer or self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                **({"userinfo_endpoint": f"{self.url}/userinfo"} if self.userinfo else {}),
            }
        if path == "/keys":
            return {"keys": [_jwk(name) for name in self.published]}
        return self.userinfo if path == "/userinfo" else None


def _jwk(name: str) -> dict[str, Any]:
    public: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key(name).public_key()))
    return {**public, "kid": name, "use": "sig", "alg": "RS256"}


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Run a provider until the end of the block."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.seen.append(self.path)
            if urlsplit(self.path).path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(self.path))
                self.end_headers()
            else:
                self._send(provider.answer(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            found = provider.exchange(form, self.headers.get("Authorization", ""))
            self._send(found, refused={"error": "invalid_grant"})

        def _send(self, found: dict[str, Any] | None, refused: Any = None) -> None:
            status = 503 if provider.is_down else 200 if found is not None else 400
            body = json.dumps(found if found is not None else refused).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
