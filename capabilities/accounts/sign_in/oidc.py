"""The code flow of OpenID Connect, with PKCE, state and nonce: from an address to a verified person.

The rules are those of OpenID Connect Core, sections 3.1.2 and 3.1.3.7. PyJWT checks signatures and claims;
this module fetches the keys and metadata, and refuses everything else. It is independent of accounts and
sessions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from editor_client.certificates import ssl_context

from capabilities.accounts.sign_in.providers import Provider, is_secure

if TYPE_CHECKING:
    import jwt

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signatures that only the provider can make: neither `none`, nor those with the client's secret."""
LEEWAY: Final = 30
"""The allowed difference in seconds between the provider's clock and this machine's."""
KEPT_FOR: Final = 600.0
"""Seconds for which a provider's published metadata is cached."""
ASK_AGAIN_AFTER: Final = 10.0
"""Seconds after which an unknown key causes the keys to be fetched again."""
MAX_SUBJECT: Final = 255
MAX_ANSWER: Final = 4 * 2**20
"""The maximum size of an answer in bytes."""
_TIMEOUT: Final = 5.0


class SignInRefused(Exception):
    """A refused sign-in, with the code of the reason; it contains no part of a token."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Request:
    """A pending sign-in: the values to verify its answer."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, kw_only=True)
class _Published:
    """The published metadata of a provider, and when it was fetched."""

    configuration: Mapping[str, Any]
    keys: list[Any]
    at: float


_published: Final[dict[Provider, _Published]] = {}


def forget() -> None:
    _published.clear()


def begin(provider: Provider, callback: str, *, again: bool = False) -> tuple[str, Request]:
    """Return the address at the provider where a person signs in, and the values to verify the answer.

    With `again` the provider asks for credentials even if the person has a session there. Raises
    `SignInRefused` if the provider cannot be reached.
    """
    request = Request(
        state=secrets.token_urlsafe(24), nonce=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48)
    )
    challenge = hashlib.sha256(request.verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": callback,
        "scope": " ".join(provider.scopes),
        "state": request.state,
        "nonce": request.nonce,
        "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        **({"prompt": "login", "max_age": "0"} if again else {}),
    }
    address = _endpoint(_load_published(provider), "authorization_endpoint")
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", request


def finish(provider: Provider, request: Request, code: str, callback: str) -> dict[str, Any]:
    """Exchange the code for a token, and return its verified claims; raises `SignInRefused`.

    Claims missing in the token are completed from the provider's user info, if it is about the same subject.
    """
    tokens = _exchange(provider, request, code, callback)
    claims = verify_token(provider, tokens.get("id_token"), request.nonce)
    claim_names = {"preferred_username", "email", provider.groups_claim}
    access, metadata = tokens.get("access_token"), _load_published(provider)
    if (
        claim_names <= set(claims)
        or not isinstance(access, str)
        or "userinfo_endpoint" not in metadata.configuration
    ):
        return claims
    headers = {"Authorization": f"Bearer {access}"}
    userinfo = _ask("GET", _endpoint(metadata, "userinfo_endpoint"), headers=headers)
    return {**userinfo, **claims} if userinfo.get("sub") == claims["sub"] else claims


def proved_at(claims: Mapping[str, Any]) -> float | None:
    """Return when the person last gave credentials to the provider; None if unknown."""
    at = claims.get("auth_time")
    return float(min(at, time.time())) if isinstance(at, int | float) and at >= 0 else None


def verify_token(provider: Provider, token: object, nonce: str) -> dict[str, Any]:
    """Return the claims of an identity token; raises `SignInRefused` unless it is valid in every respect."""
    import jwt  # noqa: PLC0415  an optional part, and only who signs in through a provider needs it

    if not isinstance(token, str):
        raise SignInRefused("token_missing")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise SignInRefused("token_malformed") from None
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise SignInRefused("algorithm")
    key = _key(provider, header.get("kid"), algorithm)
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=[algorithm],
            audience=provider.client_id,
            issuer=provider.issuer,
            leeway=LEEWAY,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.PyJWTError, ArithmeticError, TypeError, ValueError) as error:
        raise SignInRefused(_hash_verifier(error)) from None
    audience = claims["aud"]
    has_others = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if has_others else provider.client_id) != provider.client_id:
        raise SignInRefused("audience")
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInRefused("nonce")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT or not subject.isprintable():
        raise SignInRefused("subject")
    return claims


def _hash_verifier(error: Exception) -> str:
    import jwt  # noqa: PLC0415  as above

    codes: dict[type[Exception], str] = {
        jwt.ExpiredSignatureError: "expired",
        jwt.ImmatureSignatureError: "not_yet_valid",
        jwt.InvalidIssuedAtError: "not_yet_valid",
        jwt.InvalidIssuerError: "issuer",
        jwt.InvalidAudienceError: "audience",
        jwt.InvalidSignatureError: "signature",
        jwt.exceptions.InvalidSubjectError: "subject",
        jwt.MissingRequiredClaimError: "claim_missing",
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), "token_malformed")


def _exchange(provider: Provider, request: Request, code: str, callback: str) -> dict[str, Any]:
    metadata = _load_published(provider)
    methods = metadata.configuration.get("token_endpoint_auth_methods_supported")
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback,
        "code_verifier": request.verifier,
    }
    auth = None
    if not isinstance(methods, list) or not methods or "client_secret_basic" in methods:
        # RFC 6749, 2.3.1: both are form-encoded first.
        auth = (quote(provider.client_id, safe=""), quote(provider.client_secret, safe=""))
    else:
        form |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
    address = _endpoint(metadata, "token_endpoint")
    return _ask("POST", address, data=form, auth=auth, refused="code_refused")


def _key(provider: Provider, key_id: object, algorithm: str) -> jwt.PyJWK:
    """Return the provider's key with this id; an unknown one makes it fetch the keys again, not too often."""
    metadata = _load_published(provider)
    key = _find(metadata, key_id, algorithm)
    if key is None and time.monotonic() > metadata.at + ASK_AGAIN_AFTER:
        _published.pop(provider, None)
        key = _find(_load_published(provider), key_id, algorithm)
    if key is None:
        raise SignInRefused("key_unknown")
    return key


def _find(metadata: _Published, key_id: object, algorithm: str) -> jwt.PyJWK | None:
    import jwt  # noqa: PLC0415  as above

    family = {"R": "RSA", "P": "RSA", "E": "OKP" if algorithm == "EdDSA" else "EC"}[algorithm[0]]
    usable = [
        key
        for key in metadata.keys
        if isinstance(key, dict)
        and key.get("kty") == family
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (key_id is None or key.get("kid") == key_id)
    ]
    if len(usable) != 1:  # without an id, only a single key is unambiguous
        return None
    try:
        return jwt.PyJWK.from_dict(usable[0], algorithm)
    except (jwt.PyJWTError, TypeError, ValueError):
        return None


def _load_published(provider: Provider) -> _Published:
    """Return the metadata of a provider, cached or fetched; raises `SignInRefused`."""
    cached = _published.get(provider)
    if cached is not None and time.monotonic() < cached.at + KEPT_FOR:
        return cached
    configuration = _ask("GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if configuration.get("issuer") != provider.issuer:
        raise SignInRefused("issuer")
    metadata = _Published(configuration=configuration, keys=[], at=time.monotonic())
    keys = _ask("GET", _endpoint(metadata, "jwks_uri")).get("keys")
    if not isinstance(keys, list):
        raise SignInRefused("provider_unavailable")
    metadata.keys.extend(keys)
    _published[provider] = metadata
    return metadata


def _endpoint(metadata: _Published, name: str) -> str:
    """Return an address that the provider publishes; raises `SignInRefused` unless it is safe."""
    address = metadata.configuration.get(name)
    if not isinstance(address, str) or not is_secure(address):
        raise SignInRefused("provider_unavailable")
    return address


def _ask(
    method: str, address: str, *, refused: str = "provider_unavailable", headers: Any = None, **options: Any
) -> dict[str, Any]:
    """Return the JSON object in a provider's answer; raises `SignInRefused` for any other answer.

    `refused` is the code for a refusal by the provider. Answers are read without decompression, because a
    compressed one could grow to any size, and within a total time.
    """
    import httpx2  # noqa: PLC0415  only sign-ins need it

    content, body, until = None, b"", time.monotonic() + _TIMEOUT
    try:
        headers = {"Accept-Encoding": "identity", **(headers or {})}
        options |= {"timeout": _TIMEOUT, "verify": ssl_context()}
        with httpx2.stream(method, address, headers=headers, **options) as answer:
            if answer.is_client_error:
                raise SignInRefused(refused)
            for part in answer.iter_raw() if answer.is_success else ():
                body += part
                if len(body) > MAX_ANSWER or time.monotonic() > until:
                    raise SignInRefused("provider_unavailable")
        content = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
        pass
    if not isinstance(content, dict):
        raise SignInRefused("provider_unavailable")
    return content
