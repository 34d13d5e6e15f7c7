"""The sentences for requests without an API key. Pure."""

from __future__ import annotations


def why_no_key(authorization: str) -> str:
    """Return why a request with this header `Authorization`, which may be empty, has no API key."""
    if not authorization.strip():
        return "Send an API key in the header 'Authorization: Bearer ek_…'."
    if authorization.partition(" ")[0].lower() == "bearer":
        return "The header 'Authorization' has no API key after 'Bearer'."
    return (
        "The header 'Authorization' must be 'Bearer', a space and an API key: 'Authorization: Bearer ek_…'."
    )
