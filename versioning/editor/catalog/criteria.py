"""The criteria of lists and searches, each defined once for the API and the studio.

Most resources are rows, and a criterion narrows a queryset. Code-defined agents with overrides in files are
unstored: no row describes them, so each is checked in Python. A criterion has both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, Self, TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from editor_client.shared.tags import read_tags
from editor_client.shared.text_keys import caseless

from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT, Registry
from versioning.domain.config import Config
from versioning.domain.kinds import ResourceKind
from versioning.domain.selectors import Status
from versioning.editor.catalog.entries import Entry, ResourceState, make_entry, reads_drafts
from versioning.models import Favorite, VersionedResource
from versioning.models.accounts import username_lookup
from versioning.models.agents import is_visible
from versioning.models.querysets import within
from versioning.models.search import matching, occurs
from versioning.models.tags import has_members, with_members
from versioning.models.text_keys import Caseless, begins, contains

V = TypeVar("V")
Rows = QuerySet[Any, Any]
Ids = Callable[["ResourceKind", V, "Viewer"], Collection[str]]
"""Returns the ids of the resources of a kind that match a value, where the viewer may read drafts."""


class Viewer:
    """The caller and the code-defined agents; content that the caller may not read never matches."""

    def __init__(self, caller: Caller, code: Registry) -> None:
        self.caller = caller
        self.code = code
        self._named: dict[tuple[Any, Any], frozenset[str]] = {}

    @property
    def drafts(self) -> Q:
        """The condition that the caller may read the drafts of a resource."""
        return within("workspace_id", self.caller.scope(Right.READ_DRAFTS))

    @property
    def own(self) -> Q:
        """The condition that the caller may save drafts of a resource."""
        return within("workspace_id", self.caller.scope(Right.SAVE))

    def favorites(self, kind: ResourceKind) -> QuerySet[Favorite]:
        """Return the resources of a kind that the caller has marked."""
        return Favorite.objects.of(self.caller.user_id, kind)

    def agents_among(self, ids: Ids[Any], value: Any) -> frozenset[str]:
        """Return the agents that an application names for a value, queried once for all unstored agents."""
        if (ids, value) not in self._named:
            self._named[ids, value] = frozenset(ids(AGENT, value, self))
        return self._named[ids, value]

    @cached_property
    def favorite_agents(self) -> frozenset[str]:
        """The ids of the agents that the caller has marked, in one query for all unstored ones."""
        return frozenset(self.favorites(AGENT).values_list("resource_id", flat=True))


@dataclass(frozen=True, kw_only=True)
class Unstored:
    """An agent without a row, as its viewer sees it."""

    entry: Entry
    override: VersionedResource | None
    """None if only code defines the agent."""
    configs: Sequence[Config]
    """The configurations in which to search for a text."""

    @classmethod
    def override_of(cls, override: VersionedResource, viewer: Viewer) -> Self:
        """Return an override with the versions that the viewer may read, for searching."""
        agent = viewer.code.overridden_by(override.pk, override.workspace_id)
        drafts = reads_drafts(viewer.caller, override)
        versions = [override.active, override.latest if drafts else None]
        return cls(
            entry=make_entry(override, agent, viewer.caller),
            override=override,
            configs=[version.config for version in versions if version is not None],
        )

    @property
    def is_published(self) -> bool:
        """Whether it is live: its override is published, or it has none."""
        return self.override is None or self.override.active is not None

    @property
    def author(self) -> str | None:
        """The name of the user who made the override."""
        author = self.override.author if self.override else None
        return author.get_username() if author is not None else None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the override."""
        return self.override.metadata if self.override else {}


@dataclass(frozen=True, kw_only=True)
class Criterion(Generic[V]):
    """One criterion: how it filters rows, and whether an unstored agent matches."""

    narrow: Callable[[Rows, V, Viewer], Rows]
    holds: Callable[[Unstored, V, Viewer], bool]


def condition(q: Callable[[V, Viewer], Q], holds: Callable[[Unstored, V, Viewer], bool]) -> Criterion[V]:
    """Return a criterion whose filter on rows is a plain condition."""
    return Criterion(narrow=lambda rows, value, viewer: rows.filter(q(value, viewer)), holds=holds)


def among(ids: Ids[V]) -> Criterion[V]:
    """Return a criterion that matches the resources that an application names, such as those in review.

    Only resources whose drafts the viewer may read match. The values have to be hashable.
    """

    def holds(unstored: Unstored, value: V, viewer: Viewer) -> bool:
        may_read = viewer.caller.may(Right.READ_DRAFTS, unstored.entry.workspace_id)
        return may_read and unstored.entry.id in viewer.agents_among(ids, value)

    return Criterion(
        narrow=lambda rows, value, viewer: rows.filter(
            viewer.drafts, pk__in=ids(rows.model.kind, value, viewer)
        ),
        holds=holds,
    )


def _has_draft(unstored: Unstored, value: bool, viewer: Viewer) -> bool:  # noqa: FBT001  as above
    if not viewer.caller.may(Right.READ_DRAFTS, unstored.entry.workspace_id):
        return False
    return (unstored.override is not None and unstored.override.has_draft) == value


def _saved_by(rows: Rows, name: str, viewer: Viewer) -> Rows:
    # The authors of versions are indexed: migrations 0015 and 0017.
    newest = Q(viewer.drafts, (username_lookup("latest_version__author"), name))
    return rows.filter(newest | Q(~viewer.drafts, (username_lookup("active_version__author"), name)))


def _label_condition(name: str, viewer: Viewer) -> Q:
    is_live = Q(labels__version=F("active_version")) | Q(labels__released=True)
    return Q(viewer.drafts | is_live, labels__name=name)


def _has_label(label_model: Any, viewer: Viewer) -> Q:
    labels = label_model.objects.order_by()
    released = labels.filter(released=True).values("resource")
    is_live = Q(pk__in=released) | Q(active_version__in=labels.values("version"))
    return (viewer.drafts & Q(pk__in=labels.values("resource"))) | is_live


def _waits(rows: Rows) -> Q:
    """Return the condition on rows that is `VersionedResource.waits`.

    Compares digests only for the few rows whose newest version is not the live one.
    """
    versions = rows.model.version_model.objects.order_by()
    newest = versions.filter(pk=OuterRef(OuterRef("latest_version_id"))).values("digest")
    same = versions.filter(pk=OuterRef("active_version_id"), digest=Subquery(newest))
    is_taken_down = Q(unpublished_version_id=F("latest_version_id"))
    return ~NEWEST_IS_LIVE & ~is_taken_down & ~Q(Exists(same))


def _in_state(rows: Rows, value: str, viewer: Viewer) -> Rows:
    if value == NOT_LIVE:
        return rows.filter(active_version__isnull=True)
    state = ResourceState(value)
    if state in _NOT_LIVE_STATES:
        was_live = state is ResourceState.UNPUBLISHED
        return rows.filter(active_version__isnull=True, was_ever_published=was_live)
    is_changed = viewer.drafts & _waits(rows)
    is_wanted = is_changed if state is ResourceState.CHANGED else ~is_changed
    return rows.filter(is_wanted, active_version__isnull=False)


def name_condition(text: str, viewer: Viewer, matches: Callable[[Any, Any], Q] = contains) -> Q:
    """Return the condition that a name readable for the viewer contains the text or matches another lookup.

    Case does not count.
    """
    in_active, in_latest = (
        matches(Caseless(column), Value(caseless(text)))
        for column in ("active_version__name", "latest_version__name")
    )
    return in_active | (viewer.drafts & in_latest)


NEWEST_IS_LIVE = Q(active_version=F("latest_version"))

TEXT = Criterion[str](
    narrow=lambda rows, text, viewer: matching(rows, text, viewer.caller),
    holds=lambda unstored, text, _viewer: any(
        occurs(text, unstored.entry.id, config, AGENT.text_field) for config in unstored.configs
    ),
)
"""The text occurs in content that the viewer may read."""

WORKSPACE: Criterion[str] = condition(
    lambda workspace_id, _viewer: Q(workspace_id=workspace_id),
    lambda unstored, workspace_id, _viewer: unstored.entry.workspace_id == workspace_id,
)

VISIBILITY: Criterion[str] = condition(
    lambda visibility, viewer: is_visible(visibility, viewer.code),
    lambda unstored, visibility, _viewer: unstored.entry.visibility == visibility,
)

FOLDER: Criterion[str] = condition(
    lambda folder, _viewer: begins(F("id"), Value(folder)),
    lambda unstored, folder, _viewer: unstored.entry.id.startswith(folder),
)
"""The id starts with this folder."""

STATUS: Criterion[Status] = condition(
    lambda status, _viewer: Q(active_version__isnull=status is Status.DRAFT),
    lambda unstored, status, _viewer: unstored.is_published == (status is Status.PUBLISHED),
)
"""A version is published, or none is."""

NOT_LIVE: Final = "not_live"
"""No version is live, whether or not one ever was. There is no filter for the opposite."""
_NOT_LIVE_STATES: Final = frozenset({ResourceState.NEVER_PUBLISHED, ResourceState.UNPUBLISHED})

STATE = Criterion[str](
    narrow=_in_state,
    holds=lambda unstored, state, _viewer: (
        unstored.entry.state in _NOT_LIVE_STATES if state == NOT_LIVE else unstored.entry.state.value == state
    ),
)
"""A value of `ResourceState`, or `NOT_LIVE`."""

HAS_DRAFT = Criterion[bool](
    narrow=lambda rows, has_draft, viewer: rows.filter(
        viewer.drafts & (~NEWEST_IS_LIVE if has_draft else NEWEST_IS_LIVE)
    ),
    holds=_has_draft,
)
"""Whether it has a draft; only where the viewer may read drafts."""

WAITING = Criterion[bool](
    narrow=lambda rows, _value, viewer: rows.filter(viewer.own & _waits(rows)),
    holds=lambda unstored, _value, viewer: (
        viewer.caller.may(Right.SAVE, unstored.entry.workspace_id)
        and unstored.override is not None
        and unstored.override.waits
    ),
)
"""It has changes to publish in a workspace where the viewer may save."""

AUTHOR: Criterion[str] = condition(
    lambda name, _viewer: Q((username_lookup("author"), name)),
    lambda unstored, name, _viewer: unstored.author == name,
)
"""This user created the resource."""

SAVED_BY = Criterion[str](
    narrow=_saved_by,
    holds=lambda unstored, name, _viewer: (
        unstored.entry.version is not None and unstored.entry.version.author_name == name
    ),
)
"""This user saved the newest version that the viewer may read."""

LABEL: Criterion[str] = condition(
    _label_condition, lambda unstored, name, _viewer: name in unstored.entry.labels
)
"""It has a label with this name that the viewer may read."""

LABELLED = Criterion[bool](
    narrow=lambda rows, _value, viewer: rows.filter(_has_label(rows.model.label_model, viewer)),
    holds=lambda unstored, _value, _viewer: bool(unstored.entry.labels),
)
"""It has a label that the viewer may read."""

METADATA = Criterion[Mapping[str, Any]](
    narrow=lambda rows, members, _viewer: with_members(rows, members),
    holds=lambda unstored, members, _viewer: has_members(unstored.metadata, members),
)
"""Its metadata has these members."""

TAGS = Criterion[Collection[str]](
    narrow=lambda rows, names, _viewer: rows.filter(pk__in=rows.model.tag_model.ids_with(names)),
    holds=lambda unstored, names, _viewer: set(names) <= set(read_tags(unstored.metadata)),
)
"""It has all of these tags, of which none is named twice."""

FAVORITE = Criterion[bool](
    narrow=lambda rows, _value, viewer: rows.filter(
        Exists(viewer.favorites(rows.model.kind).filter(resource_id=OuterRef("pk")))
    ),
    holds=lambda unstored, _value, viewer: unstored.entry.id in viewer.favorite_agents,
)
"""The viewer has marked it. There is no filter for resources that are not marked."""
