"""Remove keys from the error messages of providers."""

from __future__ import annotations

import os
import re

_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6
_LONGEST_REASON = 500
_PATTERNS = (
    re.compile(r"(?<![A-Za-z0-9])(?:sk|ek|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{3,}"),
    re.compile(r"(?i)(?<=bearer )\s*[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api key provided: )[^\s'\",}]+"),
    re.compile(r"(?i)(?<=api[_-]key=)[^\s'\",}&]+"),
)


def redacted(text: str) -> str:
    """Return the text without this process's secrets and anything that looks like a key."""
    secrets = {
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_HIDDEN, text)
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
