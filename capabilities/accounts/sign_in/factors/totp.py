"""Codes of an app, RFC 6238: six digits that change every 30 seconds. Each is accepted once."""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from typing import Any, Final
from urllib.parse import quote, urlencode

from django.db import transaction
from django.utils import timezone

from capabilities.accounts.models import Kind, SecondFactor

STEP: Final = 30
_TOLERANCE: Final = 1
_BYTES: Final = 20
ISSUER: Final = "The editor"


def new_secret() -> str:
    return base64.b32encode(secrets.token_bytes(_BYTES)).decode()


def address_for_apps(secret: str, username: str) -> str:
    label = quote(f"{ISSUER}:{username}")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': ISSUER}, quote_via=quote)}"


def qr_code(address: str) -> str:
    """Return a QR code as the source of an image; empty if `editor-server[sso]` is not installed."""
    try:
        import segno  # noqa: PLC0415  an optional part
    except ImportError:
        return ""
    data_uri: str = segno.make_qr(address, error="m").svg_data_uri(scale=5, border=3, light="#fff")
    return data_uri


def code_at(secret: str, counter: int) -> str:
    # Not at the top: cryptography takes 7 MiB, and few processes need it.
    from cryptography.hazmat.primitives.hashes import SHA1  # noqa: PLC0415
    from cryptography.hazmat.primitives.twofactor.hotp import HOTP  # noqa: PLC0415

    key = base64.b32decode(secret)
    return HOTP(key, 6, SHA1()).generate(counter).decode()  # noqa: S303  as apps compute it


def find_step(secret: str, code: str, *, after: int = 0) -> int | None:
    """Return the step of a currently valid code that is newer than the last accepted one; otherwise None."""
    digits = "".join(code.split()).encode()
    now = int(time.time()) // STEP
    steps = range(now - _TOLERANCE, now + _TOLERANCE + 1)
    return next(
        (
            step
            for step in steps
            if step > after and hmac.compare_digest(code_at(secret, step).encode(), digits)
        ),
        None,
    )


def add(user: Any, secret: str, step: int) -> SecondFactor:
    with transaction.atomic():
        SecondFactor.of(user).filter(kind=Kind.TOTP).delete()
        factor = SecondFactor(user=user, kind=Kind.TOTP)
        factor.store({"secret": secret, "step": step})
    return factor


def use(user: Any, code: str) -> bool:
    """Return whether a code of the person's app is right; it is not accepted again."""
    with transaction.atomic():
        row = SecondFactor.of(user).filter(kind=Kind.TOTP).select_for_update().first()
        if row is None:
            return False
        data = row.data
        step = find_step(data["secret"], code, after=data["step"])
        if step is None:
            return False
        row.store({**data, "step": step}, last_used_at=timezone.now())
    return True
