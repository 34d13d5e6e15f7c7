"""The certificate authorities that are trusted, read once in a process."""

from __future__ import annotations

import os
import ssl
from functools import cache


def ssl_context() -> ssl.SSLContext:
    """Return the TLS settings that httpx2 would otherwise make for each client and connection.

    They are made once for each value of `SSL_CERT_FILE` and `SSL_CERT_DIR`, which name other authorities.
    """
    return _make_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _make_context(*paths: str | None) -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415  a process may connect to nothing

    return httpx2.create_ssl_context()
