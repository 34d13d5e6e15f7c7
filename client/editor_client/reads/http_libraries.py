"""httpx2, and httpx for applications that bring a client of it, which is taken until 0.3.

Both have the same names. This package loads httpx2 only.
"""

from __future__ import annotations

import sys
from typing import Any

import httpx2


def http_libraries() -> tuple[Any, ...]:
    """Return httpx2, and httpx if the application has loaded it."""
    earlier = sys.modules.get("httpx")
    return (httpx2,) if earlier in {None, httpx2} else (httpx2, earlier)


def classes(*names: str) -> tuple[type[Any], ...]:
    """Return the classes with these names, of both libraries."""
    return tuple(getattr(library, name) for library in http_libraries() for name in names)
