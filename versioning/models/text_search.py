"""The index for searching texts by their words: docs/decisions/0034.

A document of the index is a version that a pointer refers to. Versions never change, so neither do documents;
each search checks the resources for which of them a caller may read, and whether they are live. So the index
can be behind, or have superfluous documents, but never returns a wrong match.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Self
from uuid import UUID

from django.db import connection, migrations, models, transaction
from django.db.models import Exists, F, Func, IntegerField, Model, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Length
from editor_client.shared.configurations import Searchable, searchable

from versioning.domain.text_search import Term, TextQuery, word_line
from versioning.models import events
from versioning.models.agents import Agent, PromptBlock
from versioning.models.search import ByteLength
from versioning.models.text_keys import Caseless
from versioning.models.versioned import MODELS, MODELS_BY_SLUG, VersionedResource

_COLUMNS: Final = ("name", "id", "description", "text")
"""The columns, those of `NARROW` first."""


class Place(IntEnum):
    """The place of a match in a resource; the order of the places is that of the results."""

    EXACT = 0
    """Its name or id equals the text, ignoring case, accents and punctuation."""
    BEGINS = 1
    """Its name or id begins with the text."""
    NAME = 2
    ID = 3
    DESCRIPTION = 4
    ANYWHERE = 5
    """In the text, or distributed over several fields."""


class TextIndex(ABC):
    """The words of the documents, in one database.

    `search` and `Lines.place_of` have the same matches. All documents of a call are of one kind.
    """

    @abstractmethod
    def add(self, documents: Sequence[NewDocument]) -> None:
        """Store documents with their words."""

    @abstractmethod
    def remove(self, documents: Documents) -> None:
        """Delete documents with their words."""

    @abstractmethod
    def search(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms in a place, as a subquery.

        The query must have terms.
        """


# Only our own names are inserted into the statements.


class Fts5(TextIndex):
    """The words in an FTS5 table."""

    def add(self, documents: Sequence[NewDocument]) -> None:
        if not documents:
            return
        model = type(documents[0][0])
        statement = (
            f"INSERT OR REPLACE INTO {_words_table(model)} (rowid, {', '.join(_COLUMNS)})"  # noqa: S608
            f" VALUES (%s, %s, %s, %s, %s)"
        )
        with transaction.atomic(), connection.cursor() as cursor:
            model._default_manager.bulk_create(document for document, _ in documents)
            cursor.executemany(statement, [(document.pk, *lines) for document, lines in documents])

    def remove(self, documents: Documents) -> None:
        statement = f"DELETE FROM {_words_table(documents.model)} WHERE rowid = %s"  # noqa: S608
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, [[pk] for pk in documents.values_list("pk", flat=True)])
            documents.delete()

    def search(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms, as a subquery."""
        # Words consist only of letters and digits, so they cannot end a string of FTS5.
        phrases = (f'"{" ".join(term.words)}"{" *" if term.begins else ""}' for term in query.terms)
        expression = " AND ".join(phrases)
        table = _words_table(model)
        statement, values = f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [expression]  # noqa: S608
        if place in NARROW:
            values = [f"{{{_COLUMNS[NARROW.index(place)]}}} : ({expression})"]
        elif place in LEADING:
            goes_on = " *" if query.beginning != query.line else ""
            values = [f'{{name id}} : ^ "{query.line.strip()}"{goes_on}']
        if place is Place.EXACT:
            statement, values = f"{statement} AND (name = %s OR id = %s)", [*values, query.line, query.line]
        return RawSQL(statement, values)  # noqa: S611


def _words_table(model: type[Model]) -> str:
    return f"{model._meta.db_table}_words"


_VECTORS: Final = ("in_name", "in_id", "in_description", "words")
"""The columns, those of `NARROW` first."""
_LINES: Final = tuple(f"split_part(line, E'\\n', {number})" for number in (1, 2, 3))
"""The words of each of these fields in their order, but for the last column."""
MAX_BYTES: Final = 1_000_000
"""The maximum size of a vector's words in bytes; PostgreSQL allows 1 048 575, including overhead."""


# Only our own names are inserted into the statements.


class TextVectors(TextIndex):
    """The words as `tsvector` columns."""

    def add(self, documents: Sequence[NewDocument]) -> None:
        if not documents:
            return
        table = type(documents[0][0])._meta.db_table
        statement = (
            f"INSERT INTO {table} (version_id, resource_id, {', '.join(_VECTORS)}, line) VALUES"  # noqa: S608
            f" (%s, %s, {', '.join(['array_to_tsvector(%s)'] * len(_VECTORS))}, %s)"
        )
        rows = [(document.version_id, document.resource_id, *_words(lines)) for document, lines in documents]
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def remove(self, documents: Documents) -> None:
        documents.delete()

    def search(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms, as a subquery."""
        lexemes = " & ".join(map(_lexemes, query.terms))
        if place in LEADING:
            is_exact = place is Place.EXACT
            matches = "{line} = %s" if is_exact else "starts_with({line}, %s)"
            condition = " OR ".join(
                f"({_VECTORS[column]} @@ %s::tsquery AND {matches.format(line=_LINES[column])})"
                for column in (0, 1)
            )
            values = [lexemes, query.line if is_exact else query.beginning] * 2
        else:
            phrases = [term.in_line for term in query.terms if len(term.words) > 1]
            column = NARROW.index(place) if place in NARROW else len(NARROW)
            line = _LINES[column] if place in NARROW else "line"
            conditions = [f"{_VECTORS[column]} @@ %s::tsquery", *[f"strpos({line}, %s) > 0"] * len(phrases)]
            condition, values = " AND ".join(conditions), [lexemes, *phrases]
        # OFFSET 0 makes PostgreSQL read the index once instead of the vector of each joined document.
        statement = f"SELECT id FROM {model._meta.db_table} WHERE {condition} OFFSET 0"  # noqa: S608
        return RawSQL(statement, values)  # noqa: S611


def _words(lines: Lines) -> list[Any]:
    everything = "\n".join(lines)  # a phrase does not continue in the next field
    narrow = (lines.name, lines.id, lines.description)
    return [*(_distinct_words(line.split()) for line in (*narrow, everything)), everything]


def _distinct_words(words: list[str]) -> list[str]:
    """Return the distinct words, without those that exceed the size of a vector."""
    distinct, size = [], 0
    for word in dict.fromkeys(words):
        size += len(word.encode()) + 1
        if size > MAX_BYTES:
            break
        distinct.append(word)
    return distinct


def _lexemes(term: Term) -> str:
    """Return the words of a term in `tsquery` syntax; they consist only of letters and digits."""
    *before, last = term.words
    return " & ".join([*(f"'{word}'" for word in before), f"'{last}'{':*' if term.begins else ''}"])


class SearchDocument(models.Model):
    """A version that can be found by its words.

    On PostgreSQL the table has further columns with the words, on SQLite there is an additional FTS5 table:
    migration 0014 creates them. Deleted resources may leave documents behind for a while.

    There is no index on `resource`: SQLite would begin with the resources that may be read, and look through
    all documents found for each of them.
    """

    version_id = models.UUIDField(unique=True)

    resource: Any
    resource_id: str

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.resource_id} {self.version_id}"


class AgentDocument(SearchDocument):
    """A version of an agent."""

    resource = models.ForeignKey(
        Agent, on_delete=models.DO_NOTHING, related_name="documents", db_constraint=False, db_index=False
    )


class PromptBlockDocument(SearchDocument):
    """A version of a prompt block."""

    resource = models.ForeignKey(
        PromptBlock,
        on_delete=models.DO_NOTHING,
        related_name="documents",
        db_constraint=False,
        db_index=False,
    )


class SearchProgress(models.Model):
    """The progress of the index along the log: a single row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(default=0)
    """Every change up to this position of the log is indexed."""
    is_whole = models.BooleanField(default=False)
    """Whether the index is complete. If not, any resource may be missing."""

    def __str__(self) -> str:
        return str(self.position)


_NAMES: Final = ("in_name", "in_id", "in_description", "words")
_ON_POSTGRESQL: Final = (
    f"ALTER TABLE {{table}} {', '.join(f'ADD COLUMN {name} tsvector NOT NULL' for name in _NAMES)}",
    "ALTER TABLE {table} ADD COLUMN line text NOT NULL",
    # With statistics of the words, PostgreSQL would read all vectors when a common word is searched.
    f"ALTER TABLE {{table}} {', '.join(f'ALTER COLUMN {name} SET STATISTICS 0' for name in _NAMES)}",
    f"CREATE INDEX {{table}}_words ON {{table}} USING gin ({', '.join(_NAMES)})",
)
_FTS5: Final = "fts5(name, id, description, text, tokenize='ascii', columnsize=0)"
_ON_SQLITE: Final = (f"CREATE VIRTUAL TABLE {{table}}_words USING {_FTS5}",)


class WordsOf(migrations.RunPython):
    """The operation that adds word storage to a document table, as 0014 did."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(self._make, self._drop)

    def _make(self, _apps: Any, editor: Any) -> None:
        on_postgresql = editor.connection.vendor == "postgresql"
        for statement in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
            editor.execute(statement.format(table=self.table))

    def _drop(self, _apps: Any, editor: Any) -> None:
        if editor.connection.vendor != "postgresql":  # where they are columns of the table
            editor.execute(f"DROP TABLE {self.table}_words")


def words_of(table: str) -> WordsOf:
    """Return the migration operation that adds word storage to a document table."""
    return WordsOf(table)


Documents = QuerySet[Any]
LEADING: Final = (Place.EXACT, Place.BEGINS)
"""The places where the text is the whole name or id, or its beginning."""
NARROW: Final = (Place.NAME, Place.ID, Place.DESCRIPTION)
"""The places that are one field, anywhere in it."""


@dataclass(frozen=True)
class Lines:
    """The words of a version, field by field in the order of `NARROW`."""

    name: str
    id: str
    description: str
    text: str

    @classmethod
    def of(cls, texts: Searchable) -> Self:
        """Return the words of the texts of a version."""
        return cls(*map(word_line, (texts.name, texts.id, texts.description, texts.text)))

    def __iter__(self) -> Iterator[str]:
        return iter((self.name, self.id, self.description, self.text))

    def place_of(self, query: TextQuery) -> Place | None:
        """Return the first place that matches the query; None if there is none."""
        if not query.is_in(self):
            return None
        if query.line in {self.name, self.id}:
            return Place.EXACT
        if any(line.startswith(query.beginning) for line in (self.name, self.id)):
            return Place.BEGINS
        lines = zip(NARROW, self, strict=False)
        return next((place for place, line in lines if query.is_in([line])), Place.ANYWHERE)


NewDocument = tuple[SearchDocument, Lines]
"""A document that is not stored yet, with its words."""
_BY_VENDOR: Final[dict[str, TextIndex]] = {"sqlite": Fts5(), "postgresql": TextVectors()}


def text_index(database: Any = connection) -> TextIndex:
    """Return the index of a database; raises `KeyError` for a database that the editor does not support."""
    return _BY_VENDOR[database.vendor]


_AT_ONCE: Final = 500


def fold_stored(version_model: Any, document_model: Any, connection: Any) -> None:
    """Fold the texts that differ from their keys, and let workers index these versions again.

    The models are those of a migration's state. One statement reads all texts; few of them are written.
    """
    rows = version_model._default_manager.order_by().exclude(search_text=Caseless("search_text"))
    ids = list(rows.values_list("pk", flat=True))
    table = connection.ops.quote_name(version_model._meta.db_table)
    update = f"UPDATE {table} SET search_text = editor_caseless(search_text) WHERE id = %s"  # noqa: S608
    key = version_model._meta.pk
    for start in range(0, len(ids), _AT_ONCE):
        batch = ids[start : start + _AT_ONCE]
        with connection.cursor() as cursor:
            cursor.executemany(update, [[key.get_db_prep_save(pk, connection)] for pk in batch])
        text_index(connection).remove(document_model._default_manager.filter(version_id__in=batch))
    if ids:
        progress = document_model._meta.apps.get_model("versioning", "SearchProgress")
        progress._default_manager.update(is_whole=False)


def compose_tags(tag_model: Any) -> None:
    """Compose the names of tags that are decomposed; of a tag in both forms, one stays."""
    rows = tag_model._default_manager.annotate(size=Length("name"), bytes=ByteLength("name"))
    names = rows.filter(bytes__gt=F("size")).values_list("name", flat=True).distinct().order_by()
    for name in [name for name in names if not unicodedata.is_normalized("NFC", name)]:
        composed = unicodedata.normalize("NFC", name)
        decomposed = tag_model._default_manager.filter(name=name)
        there = tag_model._default_manager.filter(name=composed).values_list("resource_id", flat=True)
        decomposed.filter(resource_id__in=list(there)).delete()
        decomposed.update(name=composed)


SECONDS: Final = 1.0
"""The interval, in seconds, at which each worker checks whether the log has grown."""
AT_ONCE: Final = 100
"""How many resources are indexed in one transaction, so that writers on SQLite do not wait for long."""
MAX_BEHIND: Final = 200
"""How many resources a search reads without the index."""
MAX_BYTES_BEHIND: Final = 1_000_000
"""The total length of their texts: 40 MB took a second and a half."""
_MAX_ENTRIES: Final = 2_000

Missing = dict[str, set[str]]
"""Ids of resources by the slug of their kind."""


class Bytes(Func):
    """The length of a text in bytes, which PostgreSQL computes without decompressing the text."""

    output_field = IntegerField()
    template = "LENGTH(CAST(%(expressions)s AS BLOB))"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="OCTET_LENGTH(%(expressions)s)", **context)


def missing() -> Missing | None:
    """Return the resources whose current versions may not be in the index; None if there are too many."""
    progress = SearchProgress.objects.first() or SearchProgress()
    newest = events.position()
    changed = _changed_resources(progress.position, newest) if progress.is_whole else None
    if changed is None:
        changed = _not_indexed(MAX_BEHIND + 1)
    if sum(map(len, changed.values())) > MAX_BEHIND or _count_bytes(changed) > MAX_BYTES_BEHIND:
        return None
    return changed


def follow() -> None:
    """Index everything that has changed; several workers may do so at once."""
    while True:
        progress = SearchProgress.objects.first()
        if progress is None or not progress.is_whole:
            _compare_some()
        elif progress.position != events.position():
            _read_some_of_the_log()
        else:
            return


def rebuild() -> int:
    """Rebuild the index and return its number of documents. Until then, searches do not use it."""
    with transaction.atomic():
        progress = _locked_progress()
        for model in MODELS:
            text_index().remove(model.document_model._default_manager.all())
        progress.is_whole = False
        progress.save()
    follow()
    return sum(model.document_model._default_manager.count() for model in MODELS)


@transaction.atomic
def _read_some_of_the_log() -> None:
    progress = _locked_progress()
    until = min(events.position(), progress.position + AT_ONCE)
    changed = _changed_resources(progress.position, until)
    progress.position = until
    progress.is_whole = progress.is_whole and changed is not None
    for slug, ids in (changed or {}).items():
        _index(slug, ids)
    progress.save()


def _compare_some() -> None:
    """Compare the index with all pointers; missing and superfluous documents are changed in batches."""
    # Before the transaction, which blocks other writes on SQLite. Later changes are indexed later.
    position = events.position()
    lacking = _not_indexed(AT_ONCE)
    is_last = sum(map(len, lacking.values())) < AT_ONCE
    stale: dict[type[VersionedResource], list[Any]] = {}  # documents that no pointer refers to
    leads = Q(active_version_id=OuterRef("version_id")) | Q(latest_version_id=OuterRef("version_id"))
    for model in MODELS if is_last else ():
        resources = model._default_manager.filter(leads, pk=OuterRef("resource_id"))
        documents = model.document_model._default_manager.filter(~Exists(resources))
        stale[model] = list(documents.values_list("pk", flat=True))
    with transaction.atomic():
        progress = _locked_progress()
        added = sum(_index(slug, ids) for slug, ids in lacking.items())
        for model, stale_ids in stale.items():
            documents = model.document_model._default_manager
            for first in range(0, len(stale_ids), AT_ONCE):
                text_index().remove(documents.filter(pk__in=stale_ids[first : first + AT_ONCE]))
        # Does not wait for versions that are missing although a pointer refers to them.
        is_last = is_last or (not added and _not_indexed(AT_ONCE) == lacking)
        progress.position, progress.is_whole = position, is_last
        progress.save()


def _locked_progress() -> SearchProgress:
    SearchProgress.objects.bulk_create([SearchProgress()], ignore_conflicts=True)
    return SearchProgress.objects.select_for_update().get()


def _changed_resources(after: int, until: int) -> Missing | None:
    """Return the resources of the entries between two positions; None if unknown or too many."""
    if after == until:
        return {}
    entries = events.changes(after, until, _MAX_ENTRIES)
    # A position without an entry is a change that is not recorded, or was pruned.
    if len(entries) == _MAX_ENTRIES or len({position.position for position in entries}) != until - after:
        return None
    changed: Missing = defaultdict(set)
    for entry in entries:
        if entry.resource_kind in MODELS_BY_SLUG:
            changed[entry.resource_kind].add(entry.resource_id)
    return changed


def _count_bytes(changed: Missing) -> int:
    """Return the length of the resources' texts, in both versions that a pointer may refer to."""
    lengths = (Bytes(f"{pointer}_version__search_text") for pointer in ("active", "latest"))
    total = sum((Coalesce(Sum(length), 0) for length in lengths), start=Value(0))
    sizes = (
        MODELS_BY_SLUG[slug]._default_manager.filter(pk__in=ids).aggregate(found=total)["found"]
        for slug, ids in changed.items()
        if ids
    )
    return sum(sizes)


def _not_indexed(limit: int) -> Missing:
    """Return resources with a version that is not in the index, at most `limit`."""
    missing_ids: Missing = {}
    for model in MODELS:
        documents = model.document_model._default_manager
        latest, active = (
            ~Exists(documents.filter(version_id=OuterRef(pointer)))
            for pointer in ("latest_version_id", "active_version_id")
        )
        rows: Any = model._default_manager.filter(latest | Q(active, active_version_id__isnull=False))
        ids = missing_ids[model.kind.slug] = set(rows.order_by("pk").values_list("pk", flat=True)[:limit])
        limit -= len(ids)
    return missing_ids


def _index(kind_slug: str, ids: Iterable[str]) -> int:
    """Index the versions that these resources point at, and no others; return how many are new."""
    model, ids, added = MODELS_BY_SLUG[kind_slug], list(ids), 0
    for first in range(0, len(ids), AT_ONCE):
        batch = ids[first : first + AT_ONCE]
        rows: Any = model._default_manager.filter(pk__in=batch)
        pointers = rows.values_list("active_version_id", "latest_version_id")
        current = {version_id for both in pointers for version_id in both if version_id is not None}
        indexed = model.document_model._default_manager.filter(resource_id__in=batch)
        indexed_ids = set(indexed.values_list("version_id", flat=True))
        text_index().remove(indexed.exclude(version_id__in=current))
        documents = list(_new_documents(model, current - indexed_ids))
        text_index().add(documents)
        added += len(documents)
    return added


def _new_documents(model: type[VersionedResource], version_ids: Iterable[UUID]) -> Iterator[NewDocument]:
    documents = model.document_model._default_manager
    versions: Any = model.version_model._default_manager.filter(pk__in=version_ids)
    for version in versions.only("resource_id", "config_json"):
        texts = searchable(version.resource_id, version.config, model.kind.text_field)
        yield documents.model(version_id=version.pk, resource_id=version.resource_id), Lines.of(texts)
