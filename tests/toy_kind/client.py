"""The typed client of snippets: a kind costs such a module, and its line in `editor_client.manage.stored`."""

from __future__ import annotations

from typing import Self

from editor_client import Client
from editor_client.manage.records import Diff, Record, SharedFields, Version
from editor_client.manage.stored import Kind, Stored
from editor_client.methods import D_co, Page
from editor_client.result import Result


class SnippetFields(SharedFields):
    """The fields of a snippet's snapshot."""

    source: str | None = None
    language: str | None = None


class SnippetRecord(Record, SnippetFields):
    """A snippet."""


class SnippetVersion(Version, SnippetFields):
    """A version of a snippet."""

    snippet_id: str


class SnippetPage(Page[SnippetRecord]):
    """A page of snippets."""

    snippets: tuple[SnippetRecord, ...]


class SnippetVersionPage(Page[SnippetVersion]):
    """A page of the versions of one of them, newest first."""

    versions: tuple[SnippetVersion, ...]


class SnippetComparison(Result):
    """Two versions of one of them."""

    diffs: tuple[Diff, ...]
    from_version: SnippetVersion
    to_version: SnippetVersion


SNIPPETS = Kind(
    "snippet",
    "snippets",
    "source",
    SnippetRecord,
    SnippetPage,
    SnippetVersion,
    SnippetVersionPage,
    SnippetComparison,
)


class StoredSnippet(Stored[D_co, SnippetRecord, SnippetVersion, SnippetVersionPage, SnippetComparison]):
    """A snippet, by id."""

    def __init__(self, client: D_co, snippet_id: str) -> None:
        super().__init__(client, SNIPPETS, snippet_id)


class SnippetClient(Client):
    """The client with the methods for snippets."""

    def get_stored_snippet(self, snippet_id: str) -> StoredSnippet[Self]:
        """Return a snippet; no request is sent yet."""
        return StoredSnippet(self, snippet_id)
