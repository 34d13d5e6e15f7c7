"""The catalog of one kind for one caller: every readable resource once, wherever it is defined."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final

from django.db.models import Case, Count, F, Q, QuerySet, Value, When
from editor_client.shared import ids
from editor_client.shared import ids as valid_ids
from editor_client.shared.text_keys import caseless, collation_key

from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import NotFound
from versioning.domain.overrides import CodeAgent, merged_config
from versioning.domain.uuids import is_uuid
from versioning.editor.catalog.criteria import Unstored, Viewer, name_condition
from versioning.editor.catalog.entries import Entry, ResourceState, entry_of_code, make_entry, reads_drafts
from versioning.editor.catalog.filters import ListFilter
from versioning.editor.collection import Collection
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource
from versioning.models.accounts import username_lookup
from versioning.models.querysets import VersionedQuerySet, within
from versioning.models.search import MAX_LENGTH
from versioning.models.statements import QueriesForCallers, RowsByKeys
from versioning.models.text_keys import ByName, Caseless, begins, contains, equals
from versioning.serving.answer_cache import AnswerCache
from versioning.serving.followed_log import all_but_drafts

NAME: Final = "name"
"""The order by the names that the caller sees."""
_TEXTS = ("config_json", "search_text")
_DEAR: Final = ("q", "author", "state", "waiting")
"""The expensive filters: they read the versions of every row."""
_QUERIES: Final[QueriesForCallers[RowsByKeys[Any]]] = QueriesForCallers()


class Catalog:
    """The agents, or the prompt blocks, that a caller may read."""

    def __init__(self, collection: Collection[Any], *, by: Who = APPLICATION) -> None:
        self.collection = collection
        self.caller = caller_of(by)
        self.home = collection.code.workspace_id
        """The workspace of code-defined agents."""

    @property
    def viewer(self) -> Viewer:
        """The caller and the code-defined agents, for the criteria of a filter."""
        return Viewer(self.caller, self.collection.code)

    @property
    def in_code(self) -> Mapping[str, CodeAgent]:
        """The code-defined agents that the caller may read, by id; always empty for prompt blocks."""
        return self.collection.ownership.readable_by(self.caller)

    @property
    def rows(self) -> VersionedQuerySet[Any]:
        """The readable rows, overrides included, with the authors of their versions.

        The texts are deferred, because a list shows only names.
        """
        rows = self.collection.list(by=self.caller)
        return rows.select_related("active_version__author", "latest_version__author").defer(
            *(f"{pointer}_version__{text}" for pointer in ("active", "latest") for text in _TEXTS)
        )

    def search(
        self, list_filter: ListFilter, *, order: str, cache: AnswerCache | None = None
    ) -> MatchingEntries:
        """Return the entries that match the filter; `order` is a column of the rows, or `NAME`.

        Code-defined agents come first: there are few, and they have no row to sort by. With a `cache`, rows
        are searched, counted and sorted again only after a resource of the kind has changed, if the filter
        depends on nothing else.
        """
        return MatchingEntries(self, list_filter, order, cache)

    @property
    def cache_key(self) -> tuple[Hashable, ...]:
        """Return the inputs, besides stored data, that determine the readable resources and their entries."""
        return self.collection.kind.slug, self.caller.rights, tuple(self.collection.code.agents), self.home

    def entry(self, resource_id: str, resource: VersionedResource | None) -> Entry:
        """Return the entry of a resource or of a code-defined agent.

        Raises `NotFound` if the agent is neither.
        """
        if resource is not None:
            return self._entry(resource)
        code = self.in_code.get(resource_id)
        if code is None:
            raise NotFound
        return entry_of_code(code, self.home)

    def entries(self, resources: Iterable[VersionedResource]) -> list[Entry]:
        """Return the entries of the resources, with the labels that the caller may read, in one query."""
        by_id = {resource.pk: resource for resource in resources}
        labels: dict[str, list[str]] = defaultdict(list)
        rows = self.collection.model.label_model.objects.filter(resource_id__in=by_id)
        drafts = [resource.pk for resource in by_id.values() if reads_drafts(self.caller, resource)]
        if len(drafts) < len(by_id):
            active = [pk for resource in by_id.values() if is_uuid(pk := resource.active_id or "")]
            rows = rows.filter(Q(resource_id__in=drafts) | Q(released=True) | Q(version_id__in=active))
        # A resource may have thousands of labels: creates no objects, and an index covers the columns.
        for resource_id, name in rows.values_list("resource_id", "name"):
            labels[resource_id].append(name)
        return [self._entry(resource, labels[resource.pk]) for resource in by_id.values()]

    def some(self, ids: AnyCollection[str]) -> list[tuple[VersionedResource, Entry]]:
        """Return the readable ones among the resources, each with its entry, without labels.

        Agents that only code defines are left out. Takes one query.
        """
        if not ids:
            return []
        possible = [resource_id for resource_id in ids if valid_ids.problem(resource_id) is None]
        resources = self.rows_by_keys(possible)
        resources += [agent for agent in self.collection.list_unstored(by=self.caller) if agent.pk in ids]
        return [(resource, self._entry(resource)) for resource in resources]

    def rows_by_keys(self, ids: AnyCollection[str]) -> list[Any]:
        """Return the `rows` with these ids, unordered, by a compiled query."""
        query_key = ("catalog", self.collection.kind.slug)
        compiled = _QUERIES.get(self.caller, self.collection.code, query_key, lambda: RowsByKeys(self.rows))
        return compiled.get(ids)

    def _entry(self, resource: VersionedResource, labels: Sequence[str] = ()) -> Entry:
        code = self.in_code.get(resource.pk) if resource.workspace_id == self.home else None
        return make_entry(resource, code, self.caller, labels)

    def stored_rows(self) -> VersionedQuerySet[Any]:
        """Return the rows that do not override a code-defined agent."""
        if not self.collection.kind.in_code:
            return self.rows
        return self.rows.filter(~Q(pk__in=self.collection.code.agents, workspace_id=self.home))

    def defined_in_code(self, list_filter: ListFilter) -> list[Entry]:
        """Return the code-defined agents that match the filter, each with its override, by id."""
        return [hit.entry for hit in self.unstored_agents if list_filter.matches(hit, self.viewer)]

    @cached_property
    def unstored_agents(self) -> list[Unstored]:
        """The code-defined agents that the caller may read, each with its override, by id."""
        agents = self.in_code
        if not agents:
            return []
        rows = self.collection.list(by=self.caller).filter(pk__in=agents, workspace_id=self.home)
        rows = rows.select_related("active_version__author", "latest_version__author")
        overrides = [*rows, *self.collection.list_unstored(by=self.caller)]
        entries = {entry.id: entry for entry in self.entries(overrides)}
        by_id = {override.pk: override for override in overrides}
        for agent_id, agent in agents.items():
            entries.setdefault(agent_id, entry_of_code(agent, self.home))
        return [
            Unstored(
                entry=entry,
                override=by_id.get(agent_id),
                configs=[merged_config(agents[agent_id], entry.version.config if entry.version else {})],
            )
            for agent_id, entry in sorted(entries.items())
        ]


class MatchingEntries(Sequence[Entry]):
    """The entries that match a filter; can be sliced like a list."""

    def __init__(
        self, catalog: Catalog, list_filter: ListFilter, order: str, cache: AnswerCache | None = None
    ) -> None:
        self._catalog = catalog
        self._in_code = catalog.defined_in_code(list_filter)
        self._cache = cache if list_filter.follows_log else None
        self._cache_key = "list", *catalog.cache_key, order, list_filter.cache_key
        self._rows = list_filter.narrow(catalog.stored_rows(), catalog.viewer)
        """The rows to count, without the versions that only the order by name needs."""
        is_by_name = order.removeprefix("-") == NAME
        ordered = self._rows
        if is_by_name:  # callers with access to drafts see the draft's name
            latest, active = ByName("latest_version__name"), ByName("active_version__name")
            ordered = ordered.alias(name=catalog.rows.seen_by(catalog.caller, draft=latest, published=active))
        self._keys: Any = ordered.order_by(order, "id").values_list("pk", flat=True)
        self._is_dear = any(list_filter.get(name) for name in _DEAR)

    def __len__(self) -> int:
        return len(self._in_code) + self._count

    def __getitem__(self, part: Any) -> Any:
        """Return the entries of a slice."""
        start, stop = part.start or 0, part.stop
        skipped = len(self._in_code)
        first, last = max(start - skipped, 0), max(stop - skipped, 0)
        read = partial(keys_between, self._keys, first, last, self._count)
        ids = list(
            self._get_or_make((first, last), lambda: self._all[first:last] if self._is_dear else read())
        )
        # Query again without the filter: the content must be readable for the caller now.
        by_id = {row.pk: row for row in self._catalog.rows_by_keys(ids)}
        rows = [by_id[pk] for pk in ids if pk in by_id]
        return [*self._in_code[part], *self._catalog.entries(rows)]

    @cached_property
    def _count(self) -> int:
        """The number of matching rows."""
        return int(self._get_or_make((), lambda: len(self._all) if self._is_dear else self._rows.count()))

    @cached_property
    def _all(self) -> list[str]:
        """All ids, read once, so that neither the count nor a slice searches the versions again."""
        return list(self._keys)

    def _get_or_make(self, part: tuple[int, ...], make: Callable[[], Any]) -> Any:
        if self._cache is None:
            return make()
        anything = self._catalog.collection.kind.slug, None
        return self._cache.get_or_make((*self._cache_key, part), anything, make)


def slice_rows(rows: QuerySet[Any], start: int, stop: int) -> list[Any]:
    """Return a slice of the rows, in their order.

    Two queries are faster than one: the database sorts the ids alone, then reads only the few rows that are
    shown.
    """
    return in_order(rows, list(rows.values_list("pk", flat=True)[start:stop]))


def keys_between(keys: QuerySet[Any, Any], first: int, last: int, count: int) -> list[Any]:
    """Return a range of ordered keys, read from the nearer end so that fewer rows are sorted."""
    if 2 * first < count:
        return list(keys[first:last])
    return list(keys.reverse()[max(count - last, 0) : max(count - first, 0)])[::-1]


class LongList(Sequence[Any]):
    """Rows in an order, of which pages show slices; `count` is their number, if that is known."""

    def __init__(self, rows: QuerySet[Any], count: int | None = None) -> None:
        self._rows = rows
        self._known_count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, part: Any) -> Any:
        """Return the rows of a slice, as `sliced` does."""
        keys = self._rows.values_list("pk", flat=True)
        return in_order(self._rows, keys_between(keys, part.start or 0, part.stop, self._count))

    @cached_property
    def _count(self) -> int:
        return self._rows.order_by().count() if self._known_count is None else self._known_count


def in_order(rows: QuerySet[Any], ids: Sequence[str]) -> list[Any]:
    """Return the rows with these ids, in the order of the ids."""
    by_id = {row.pk: row for row in rows.filter(pk__in=ids).order_by()}
    return [by_id[pk] for pk in ids if pk in by_id]


MAX_NAMES: Final = 500
"""How many authors, labels and tags are offered."""
MAX_FOLDERS: Final = 1_000
"""How many folders are included; those with the most resources, if there are more."""

Plain = tuple[dict[str, int], list[str], list[str], dict[str, int], dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The names and numbers of all resources of one kind that a caller may read."""

    workspaces: Mapping[str, int]
    """The number of resources in each workspace."""
    visibilities: Sequence[str]
    """The visibilities that occur; empty for a kind that has none."""
    authors: Sequence[str]
    """The authors of the newest versions that the caller may read."""
    labels: Sequence[str]
    """The names of the labels that the caller may read."""
    tags: Mapping[str, int]
    """The number of resources with each tag."""
    folders: Mapping[str, int]
    """The number of resources below each folder; folders end with `/`."""


def overview(catalog: Catalog, cache: AnswerCache) -> Overview:
    """Return the overview of a catalog; seven queries at most.

    The part about rows is cached until a resource of the kind changes: for 20 000 resources it takes longer
    than the rest of a page. Saving a draft changes only the authors.
    """
    kind = catalog.collection.kind
    summary: Plain = cache.get_or_make(
        ("overview", *catalog.cache_key), all_but_drafts(kind.slug), lambda: _summarize_rows(catalog)
    )
    workspaces, visibilities, labels, tags, folders = summary
    authors: list[str] = cache.get_or_make(
        ("authors", *catalog.cache_key), (kind.slug, None), lambda: _authors(catalog)
    )
    unstored = catalog.defined_in_code(ListFilter())
    names = (entry.version.author_name for entry in unstored if entry.version is not None)
    return Overview(
        workspaces=Counter(workspaces) + Counter(entry.workspace_id for entry in unstored),
        visibilities=sorted({*visibilities, *filter(None, (entry.visibility for entry in unstored))}),
        authors=sorted({*authors, *filter(None, names)}),
        labels=sorted({*labels, *(label for entry in unstored for label in entry.labels)}),
        tags=dict(sorted((Counter(tags) + Counter(tag for entry in unstored for tag in entry.tags)).items())),
        folders=dict(sorted((Counter(folders) + _count_folders(entry.id for entry in unstored)).items())),
    )


def _rows(catalog: Catalog) -> QuerySet[Any, Any]:
    return catalog.stored_rows().select_related(None).defer(None).order_by()


def _drafts(catalog: Catalog) -> Q:
    return within("workspace_id", catalog.caller.scope(Right.READ_DRAFTS))


def _summarize_rows(catalog: Catalog) -> Plain:
    rows = _rows(catalog)
    visibilities: list[str] = []
    if catalog.collection.kind.has_visibility:
        visibilities = list(rows.values_list("visibility", flat=True).distinct())
    is_live = Q(labels__released=True) | Q(labels__version=F("active_version"))
    labels = rows.filter(_drafts(catalog) | is_live, labels__name__isnull=False)
    tags = rows.filter(tags__name__isnull=False).values_list("tags__name").annotate(found=Count("tags"))
    in_folders = rows.filter(contains(F("pk"), Value("/"))).values_list("pk", flat=True)
    return (
        dict(rows.values_list("workspace_id").annotate(found=Count("pk"))),
        visibilities,
        list(labels.values_list("labels__name", flat=True).distinct()[:MAX_NAMES]),
        dict(tags.order_by("-found", "tags__name")[:MAX_NAMES]),
        dict(_count_folders(in_folders).most_common(MAX_FOLDERS)),
    )


def _authors(catalog: Catalog) -> list[str]:
    rows, drafts = _rows(catalog), _drafts(catalog)
    authors: set[str] = set()
    for readable, version in ((drafts, "latest_version"), (~drafts, "active_version")):
        names = rows.filter(readable).values_list(username_lookup(f"{version}__author"), flat=True).distinct()
        authors.update(name for name in names[:MAX_NAMES] if name)
    return sorted(authors, key=collation_key)


def _count_folders(ids: Iterable[str]) -> Counter[str]:
    """Count the resources below each folder, at any depth."""
    counts: Counter[str] = Counter()
    direct = Counter(resource_id[: resource_id.rindex("/") + 1] for resource_id in ids if "/" in resource_id)
    for folder, count in direct.items():
        for path in accumulate(f"{part}/" for part in folder.split("/")[:-1]):
            counts[path] += count
    return counts


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A resource that can be referred to."""

    id: str
    name: str
    state: ResourceState
    excerpt: str = ""
    """The beginning of its prompt, in one line."""


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

    def make_condition(matches: Callable[[Any, Any], Q]) -> Q:
        return matches(Caseless("pk"), Value(sought)) | name_condition(text, catalog.viewer, matches)

    rank = Case(When(make_condition(equals), then=0), When(make_condition(begins), then=1), default=2)
    there = Q() if workspace_id is None else Q(workspace_id=workspace_id)
    stored = _suggest_stored(catalog, make_condition(contains) & there, limit, *([rank] if text else []))
    is_home = workspace_id in {None, catalog.home}
    in_code = _in_code(catalog, lambda agent: is_home and sought in caseless(f"{agent.id}\n{agent.name}"))
    return sorted([*in_code, *stored], key=lambda suggestion: _rank(suggestion, sought))[:limit]


def _rank(suggestion: Suggestion, sought: str) -> int:
    texts = [caseless(suggestion.id), caseless(suggestion.name)]
    return 0 if sought in texts else 1 if any(text.startswith(sought) for text in texts) else 2


def suggestions_by_id(catalog: Catalog, resource_ids: Iterable[str]) -> dict[str, Suggestion]:
    """Return the resources with these ids that the caller may read."""
    possible = {name for name in resource_ids if not ids.problem(name)}
    if not possible:
        return {}
    in_code = _in_code(catalog, lambda agent: agent.id in possible)
    stored = _suggest_stored(catalog, Q(pk__in=possible), len(possible))
    return {agent.id: agent for agent in [*in_code, *stored]}


def _suggest_stored(catalog: Catalog, condition: Q, limit: int, *rank: Case) -> list[Suggestion]:
    rows: Any = catalog.stored_rows().filter(condition).order_by(*rank, "pk")
    entries = [make_entry(row, None, catalog.caller) for row in rows[:limit]]
    return [_of(entry) for entry in entries]


def _in_code(catalog: Catalog, is_wanted: Callable[[CodeAgent], bool]) -> list[Suggestion]:
    agents = [agent for agent in catalog.in_code.values() if is_wanted(agent)]
    return [_of(entry_of_code(agent, catalog.home)) for agent in agents]


def _of(entry: Entry) -> Suggestion:
    return Suggestion(id=entry.id, name=entry.name, state=entry.state, excerpt=entry.excerpt)
