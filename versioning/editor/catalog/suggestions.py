"""Suggest resources that can be referred to, and find the resources for given ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Q, Value, When
from editor_client.shared import ids
from editor_client.shared.text_keys import caseless

from versioning.domain.overrides import CodeAgent
from versioning.editor.catalog.catalog import Catalog
from versioning.editor.catalog.criteria import named
from versioning.editor.catalog.entries import Entry, ResourceState, entry_of, entry_of_code
from versioning.models.search import MAX_LENGTH
from versioning.models.text_keys import Caseless, begins, contains, equals


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A resource that can be referred to."""

    id: str
    name: str
    state: ResourceState
    excerpt: str = ""
    """How its prompt begins, in one line."""


def suggestions(
    catalog: Catalog, text: str, limit: int, *, workspace_id: str | None = None
) -> list[Suggestion]:
    """Return the first few resources whose id or readable name contains the text.

    Exact matches come first, then those that begin with the text, each by id; within both, agents that only
    code defines come first. Returns none if the text is longer than a search allows. With a `workspace_id`,
    only resources of that workspace are returned.
    """
    if len(text) > MAX_LENGTH:
        return []

    sought = caseless(text)

    def called(matches: Callable[[Any, Any], Q]) -> Q:
        return matches(Caseless("pk"), Value(sought)) | named(text, catalog.viewer, matches)

    rank = Case(When(called(equals), then=0), When(called(begins), then=1), default=2)
    there = Q() if workspace_id is None else Q(workspace_id=workspace_id)
    stored = _stored(catalog, called(contains) & there, limit, *([rank] if text else []))
    is_home = workspace_id in {None, catalog.home}
    in_code = _in_code(catalog, lambda one: is_home and sought in caseless(f"{one.id}\n{one.name}"))
    return sorted([*in_code, *stored], key=lambda one: _rank(one, sought))[:limit]


def _rank(one: Suggestion, sought: str) -> int:
    texts = [caseless(one.id), caseless(one.name)]
    return 0 if sought in texts else 1 if any(text.startswith(sought) for text in texts) else 2


def suggestions_by_id(catalog: Catalog, wanted: Iterable[str]) -> dict[str, Suggestion]:
    """Return the resources with these ids that the caller may read."""
    possible = {name for name in wanted if not ids.problem(name)}
    if not possible:
        return {}
    in_code = _in_code(catalog, lambda one: one.id in possible)
    stored = _stored(catalog, Q(pk__in=possible), len(possible))
    return {agent.id: agent for agent in [*in_code, *stored]}


def _stored(catalog: Catalog, condition: Q, limit: int, *rank: Case) -> list[Suggestion]:
    rows: Any = catalog.stored().filter(condition).order_by(*rank, "pk")
    entries = [entry_of(row, None, catalog.caller) for row in rows[:limit]]
    return [_of(entry) for entry in entries]


def _in_code(catalog: Catalog, is_wanted: Callable[[CodeAgent], bool]) -> list[Suggestion]:
    wanted = [agent for agent in catalog.in_code.values() if is_wanted(agent)]
    return [_of(entry_of_code(agent, catalog.home)) for agent in wanted]


def _of(entry: Entry) -> Suggestion:
    return Suggestion(id=entry.id, name=entry.name, state=entry.state, excerpt=entry.excerpt)
