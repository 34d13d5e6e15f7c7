"""Scorers: results, arguments and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, TypedDict, Unpack

from editor_client.calls import Base, Call, Object, query, reading
from editor_client.manage.records import (
    Created,
    Dependent,
    Dependents,
    Diff,
    Filters,
    Record,
    Saved,
    Status,
    Version,
)
from editor_client.manage.shapes import ScorerArguments, ScorerFields
from editor_client.manage.stored import Kind, Stored, creation, edit
from editor_client.methods import D_co, Driver, iterating, method
from editor_client.pages import Page, listing
from editor_client.result import Result, with_json_names


class ScorerRecord(Record, ScorerFields):
    """A scorer."""


class ScorerVersion(Version, ScorerFields):
    """A version of a scorer."""

    scorer_definition_id: str


class ScorerPage(Page[ScorerRecord]):
    """A page of scorers."""

    scorer_definitions: tuple[ScorerRecord, ...]


class ScorerVersionPage(Page[ScorerVersion]):
    """A page of the versions of a scorer, newest first."""

    versions: tuple[ScorerVersion, ...]


class ScorerComparison(Result):
    """Two versions of a scorer, and the fields in which they differ."""

    diffs: tuple[Diff, ...]
    from_version: ScorerVersion
    to_version: ScorerVersion


class ScorerChanges(ScorerArguments, Saved, total=False):
    """An edit of a scorer."""


class NewScorer(ScorerChanges, Created, total=False):
    """A new scorer; name and type are required."""


SCORERS = Kind(
    "scorer",
    "scorers",
    "instructions",
    ScorerRecord,
    ScorerPage,
    ScorerVersion,
    ScorerVersionPage,
    ScorerComparison,
    needs="type",
)


class ScorerDependent(Dependent):
    """What names a scorer."""

    kind: Literal["agent", "dataset", "gate"]


class ScorerDependents(Dependents):
    """What names a scorer: what the caller may read, and the number of others."""

    dependents: tuple[ScorerDependent, ...]


class ScorerFault(Result):
    """Why a scorer failed."""

    code: str
    message: str


class NotScorable(Result):
    """Why an answer cannot be scored."""

    reason: str


class ScorerOutcome(Result):
    """What a scorer says of an answer: a score, or an error, or that it cannot be scored."""

    score: float | None = None
    passed: bool | None = None
    label: str | None = None
    """The verdict of a judge."""
    reason: str | None = None
    error: ScorerFault | None = None
    not_scorable: NotScorable | None = None


class Tried(TypedDict, total=False):
    """An answer to be scored, besides its input and output."""

    ground_truth: Any
    metadata: Object
    tool_calls: Sequence[Object]
    usage: Object
    milliseconds: float
    version_id: str


class StoredScorer(Stored[D_co, ScorerRecord, ScorerVersion, ScorerVersionPage, ScorerComparison]):
    """A scorer, by id."""

    def __init__(self, client: D_co, scorer_id: str) -> None:
        super().__init__(client, SCORERS, scorer_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[ScorerChanges]) -> Call[ScorerRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)

    @method
    def dependents(self, *, status: Status | None = None) -> Call[ScorerDependents]:
        """List what names it: agents in their published versions or drafts, and what scores with it."""
        return self._get(reading(ScorerDependents), "/dependents", query=query(status=status))

    @method
    def try_out(self, input: Any, output: Any, **more: Unpack[Tried]) -> Call[ScorerOutcome]:
        """Score an answer with the latest version, or the one that is named; nothing is stored."""
        body = {"input": input, "output": output, **with_json_names(more)}
        return Call.to("POST", f"{self._path}/try", reading(ScorerOutcome), body=body)


class StoredScorerMethods(Driver):
    """The methods of a client for scorers."""

    @method
    def list_stored_scorers(self, **filters: Unpack[Filters]) -> Call[ScorerPage]:
        """List the scorers that the key may read, newest first, published or not."""
        return listing("/stored/scorers", ScorerPage, filters)

    iter_stored_scorers = iterating(list_stored_scorers)

    @method
    def create_stored_scorer(self, **fields: Unpack[NewScorer]) -> Call[ScorerRecord]:
        """Create a scorer, as a draft unless `auto_publish=True`."""
        return creation(SCORERS, with_json_names(fields))

    def get_stored_scorer(self, scorer_id: str) -> StoredScorer[Self]:
        """Return a scorer; no request is sent yet."""
        return StoredScorer(self, scorer_id)
