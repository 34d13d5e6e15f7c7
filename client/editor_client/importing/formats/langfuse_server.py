"""Prompts of a Langfuse server, by its REST interface: all versions, with their references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from editor_client.importing.collection import Collection, Unreadable, an_object, objects, shown
from editor_client.importing.fetching import Server, from_environment, segment
from editor_client.importing.formats import langfuse

PAGE: Final = 100
PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"


def read(address: str) -> Collection:
    """Return the prompts of a server; the keys come from the environment."""
    public, secret = from_environment(PUBLIC_KEY, SECRET_KEY)
    server = Server(address, auth=(public, secret))
    try:
        return langfuse.from_values(list(_prompts(server)))
    finally:
        server.close()


def _prompts(server: Server) -> Iterator[dict[str, Any]]:
    for entry in _entries(server):
        name, versions = entry.get("name"), entry.get("versions")
        if not isinstance(name, str) or not isinstance(versions, list):
            raise Unreadable("The list of prompts has an entry without a name, or without versions.")
        for version in versions:
            path = f"api/public/v2/prompts/{segment(name)}"
            # Resolved, the references would be lost.
            found = server.get(path, version=version, resolve="false")
            if not isinstance(found, dict) or found.get("name") != name:
                raise Unreadable(f"The answer about {shown(name)} is about another prompt.")
            yield found


def _entries(server: Server) -> Iterator[dict[str, Any]]:
    page, pages = 1, 1
    while page <= pages:
        found = an_object(server.get("api/public/v2/prompts", page=page, limit=PAGE))
        yield from objects(found.get("data"))
        total = an_object(found.get("meta")).get("totalPages")
        pages = total if isinstance(total, int) else page
        page += 1
