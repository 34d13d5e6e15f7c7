"""People of a real server who have signed in, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from editor_client.certificates import ssl_context

SIGN_IN = "/studio/login/"


@contextmanager
def visiting(url: str) -> Iterator[httpx2.Client]:
    """Open the studio of a server."""
    context = ssl_context()  # one of its own takes longer than most visits
    with httpx2.Client(base_url=url, trust_env=False, verify=context, timeout=60) as visitor:
        yield visitor


def sign_in(visitor: httpx2.Client, username: str, password: str) -> bool:
    """Fill in the form, and return whether the sign-in succeeded."""
    visitor.get(SIGN_IN)
    token = visitor.cookies["csrftoken"]
    form = {"username": username, "password": password, "csrfmiddlewaretoken": token}
    return visitor.post(SIGN_IN, data=form).status_code == httpx2.codes.FOUND


def is_signed_in(visitor: httpx2.Client) -> bool:
    """Return whether the session is valid."""
    return visitor.get("/studio/").status_code == httpx2.codes.OK
