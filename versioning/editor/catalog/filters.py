"""The filters of lists, each declared once for the API, the search and the studio's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from editor_client.shared import canonical
from editor_client.shared.tags import asked_for, listed_in

from versioning.domain.kinds import ResourceKind
from versioning.domain.registering import require_instance
from versioning.domain.selectors import Status
from versioning.editor.catalog import criteria
from versioning.editor.catalog.criteria import Criterion, Unstored, Viewer
from versioning.models import Visibility
from versioning.models.querysets import VersionedQuerySet
from versioning.models.search import MAX_LENGTH
from versioning.models.tags import JSON_OBJECT, members


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A filter of the lists of resources. An application declares its own (`EditorApp.filters`)."""

    criterion: Criterion[Any]
    parameter: str = ""
    """The query parameter of the API; empty if the API does not offer it."""
    description: str = ""
    """The description of the parameter in OpenAPI."""
    schema: Mapping[str, Any] | None = None
    """The schema of the parameter; None: any text that is not empty."""
    words: Mapping[str, Any] | None = None
    """The words that the parameter accepts, each with its value for the criterion; None: any text."""
    parse: Callable[[str], Any] = str
    """Converts the parameter's text to the value for the criterion; raises `Invalid`."""
    field: str = ""
    """The field of the studio's form and URLs; empty if the studio does not offer it."""
    label: Any = ""
    """The label of the field in the studio; empty if only links set it."""
    choices: Sequence[tuple[str, Any]] | None = None
    """The choices of the field, with words for people; None: any text."""
    is_switch: bool = False
    """Whether the field is a checkbox."""
    is_quick: bool = False
    """Whether the studio offers each choice as a link above the list, to people with access to drafts."""
    read: Callable[[Any], Any] = lambda value: value
    """Converts the field's value to the value for the criterion."""
    follows_log: bool = False
    """Whether the matches change only with an entry of the log about a resource of the kind, so that they can
    be cached until then."""
    applies: Callable[[ResourceKind], bool] = lambda _kind: True
    """Whether the filter applies to a kind. The studio has its own kinds: compare their slugs."""

    def value(self, text: str) -> Any:
        """Return the criterion's value for the text of the parameter; None does not filter."""
        if not text:
            return None
        return self.parse(text) if self.words is None else self.words[text]


class ListFilter(dict[str, Any]):
    """The filters of a studio list: values by field; an empty value does not filter."""

    def narrow(self, resources: VersionedQuerySet[Any], viewer: Viewer) -> QuerySet[Any]:
        """Return the rows that match; content that the viewer may not read never matches."""
        rows: QuerySet[Any] = resources
        for criterion, value in self._criteria:
            rows = criterion.narrow(rows, value, viewer)
        return rows

    def matches(self, unstored: Unstored, viewer: Viewer) -> bool:
        """Return whether a code-defined agent matches."""
        return all(criterion.holds(unstored, value, viewer) for criterion, value in self._criteria)

    @property
    def follows_log(self) -> bool:
        """Whether all of the filters do: see `Filter.follows_log`."""
        return all(filter_.follows_log for filter_ in _registered if self.get(filter_.field))

    @property
    def cache_key(self) -> str:
        """Return a text that is the same for equal filters."""
        return canonical.dump({name: value for name, value in self.items() if value})

    @property
    def _criteria(self) -> Iterator[tuple[Criterion[Any], Any]]:
        declared = (filter_ for filter_ in _registered if self.get(filter_.field))
        return ((filter_.criterion, self[filter_.field]) for filter_ in declared)


_YES_NO: Final = {"true": True, "false": False}
_registered: Final[list[Filter]] = [
    Filter(
        criterion=criteria.STATUS,
        parameter="status",
        description="`draft` = no active version; `{default_status}` when absent.",
        words={"published": Status.PUBLISHED, "draft": Status.DRAFT, "all": None},
    ),
    Filter(criterion=criteria.AUTHOR, parameter="authorId", description="Made by this user."),
    Filter(criterion=criteria.STATE, field="state", follows_log=True),
    Filter(criterion=criteria.SAVED_BY, field="author", follows_log=True),
    Filter(criterion=criteria.LABEL, field="label", follows_log=True),
    Filter(
        criterion=criteria.METADATA,
        parameter="metadata",
        description="A JSON object: equal in each of its keys.",
        schema=JSON_OBJECT,
        parse=lambda text: members(text, field="metadata"),
    ),
    Filter(
        criterion=criteria.TAGS,
        parameter="tag",
        description="With this tag: a text in the list `tags` of its metadata."
        " Several, with commas between: with all.",
        schema={"type": "string", "pattern": r"[^,\s]"},
        parse=asked_for,
        field="tag",
        read=listed_in,
        follows_log=True,
    ),
    Filter(
        criterion=criteria.WORKSPACE,
        parameter="workspaceId",
        description="Of this workspace.",
        field="workspace",
        follows_log=True,
    ),
    Filter(
        criterion=criteria.HAS_DRAFT,
        parameter="hasDraft",
        description="With, or without, a draft that the caller may read.",
        words=_YES_NO,
    ),
    Filter(
        criterion=criteria.VISIBILITY,
        parameter="visibility",
        description="Private or public ones.",
        words={choice: choice for choice in Visibility.values},
        field="visibility",
        follows_log=True,
        applies=lambda kind: kind.has_visibility,
    ),
    Filter(criterion=criteria.FOLDER, field="folder", follows_log=True),
    Filter(criterion=criteria.WAITING, field="waiting", is_switch=True, follows_log=True),
    Filter(criterion=criteria.LABELLED, field="labelled", is_switch=True, follows_log=True),
    Filter(
        criterion=criteria.FAVORITE,
        parameter="favoritedOnly",
        description="`true`: only the caller's favorites.",
        words={"true": True, "false": None},
        field="starred",
        is_switch=True,
    ),
    Filter(
        criterion=criteria.TEXT,
        parameter="search",
        description=f"In id, name, description and text, ignoring case; up to {MAX_LENGTH} characters.",
        schema={"type": "string", "minLength": 0, "maxLength": MAX_LENGTH},
        field="q",
        follows_log=True,
    ),
]


def register(new: Filter) -> None:
    """Add a filter; raises `TypeError` or `ValueError` for an invalid one or a name that is taken."""
    require_instance(new, Filter, by="A list")
    if not (new.parameter or new.field):
        raise ValueError("a filter needs a parameter or a field")
    for other in _registered:
        if new is other:
            return
        if (new.parameter and new.parameter == other.parameter) or (new.field and new.field == other.field):
            raise ValueError(f"there is a filter {new.parameter or new.field!r} already")
    _registered.append(new)


def list_filters(kind: ResourceKind) -> list[Filter]:
    """Return the filters of the lists of a kind."""
    return [filter_ for filter_ in _registered if filter_.applies(kind)]
