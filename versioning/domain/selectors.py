"""The version of a resource that a caller requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from versioning.domain.access import Caller
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.locks import OWN_MEMBERS, SentLock

_Value = TypeVar("_Value")
_overlays: Final[list[str]] = []
"""The names of the selectors that applications have added for overlays."""


class Status(StrEnum):
    """The statuses that a request can ask for; a snapshot itself has none."""

    PUBLISHED = "published"
    DRAFT = "draft"


class VersionState(StrEnum):
    """The current state of a version, derived from the two pointers of its resource."""

    PUBLISHED = "published"
    DRAFT = "draft"
    HISTORICAL = "historical"


class OverlayName(NamedTuple):
    """An overlay (`versioning.serving.overlays`): the live state if its versions were published now."""

    selector: str
    """The application's selector, such as `release`."""
    id: str


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Exactly one of a status, a version id, a label or an overlay; the default is the published version."""

    status: Status | None = None
    version_id: str | None = None
    label: str | None = None
    overlay: OverlayName | None = None

    @classmethod
    def parse(cls, members: Mapping[str, str]) -> Selector:
        """Return the selector for the members `status`, `versionId` and `label`, and those of applications.

        The default is the published version. Raises `Invalid` for more than one, and for an unknown status.
        """
        selected = {key: members[key] for key in keys() if key in members}
        if len(selected) > 1:
            message = Message("give only one of {members}", members=_list_keys())
            raise Invalid([Issue(key, message) for key in selected])
        if "status" in selected and selected["status"] not in set(Status):
            raise Invalid.field("status", "must be 'published' or 'draft'")
        if "status" in selected:
            return cls(status=Status(selected["status"]))
        if "versionId" in selected:
            return cls(version_id=selected["versionId"])
        if "label" in selected:
            return cls(label=selected["label"])
        return next((cls(overlay=OverlayName(*pair)) for pair in selected.items()), PUBLISHED)

    @classmethod
    def read(cls, value: Any, place: str) -> Selector:
        """Return the selector for a JSON object with one member; raises `Invalid` naming its place."""
        problem = _selector_problem(value)
        if problem is not None:
            raise Invalid.field(place, problem)
        return cls.parse(value)

    @property
    def asks_for_draft(self) -> bool:
        return self.status is Status.DRAFT or self.label == "latest"

    def as_dict(self) -> dict[str, str]:
        """Return the selector as JSON: an object with one member."""
        if self.version_id is not None:
            return {"versionId": self.version_id}
        if self.label is not None:
            return {"label": self.label}
        if self.overlay is not None:
            return {self.overlay.selector: self.overlay.id}
        return {"status": str(self.status or Status.PUBLISHED)}


def declare(name: str) -> None:
    """Add the selector of an application; raises `ValueError` if the name is taken."""
    if name in keys():
        raise ValueError(f"the selector {name!r} is taken")
    _overlays.append(name)


def keys() -> tuple[str, ...]:
    """Return the members of a selector, of which it has exactly one."""
    return ("status", "versionId", "label", *_overlays)


def _list_keys() -> str:
    *others, last = keys()
    return f"{', '.join(others)} and {last}"


PUBLISHED = Selector(status=Status.PUBLISHED)
DRAFT = Selector(status=Status.DRAFT)


class SelectedBlock(NamedTuple):
    """The requested version of a prompt block, and the caller whose rights apply."""

    selector: Selector
    by: Caller


SelectedBlocks = Mapping[str, SelectedBlock]
"""By the id of the prompt block."""

NO_BLOCKS: SelectedBlocks = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class VersionsMap:
    """The requested versions: of the called agent, its sub-agents, and their prompt blocks."""

    agents: Mapping[str, Selector] = field(default_factory=lambda: MappingProxyType({}))
    prompt_blocks: Mapping[str, Selector] = field(default_factory=lambda: MappingProxyType({}))
    """The versions of prompt blocks, in every agent of the request that shows them."""
    self_: Selector | None = None
    """The version of the called agent; never passed down."""
    default_status: Status | None = None
    """The status for sub-agents without an entry; None means published."""
    strict: bool | None = None
    """Whether a version that cannot be resolved is an error rather than a warning."""
    lock: SentLock | None = None
    """A lock, which selects every version; it excludes all other members."""

    MEMBERS = ("agents", "promptBlocks", "self", "defaultStatus", "strict")

    @classmethod
    def parse(cls, value: Any, field: str = "versions") -> VersionsMap:
        """Return the map for a JSON object; None gives an empty map.

        `{"agents": {<id>: selector}, "promptBlocks": {<id>: selector}, "self"?: selector, "defaultStatus"?,
        "strict"?}`, where a selector is an object with exactly one member; or a lock. Raises `Invalid` with
        every problem at once; each is named below `field`, such as `versions.agents.<id>`. Raises
        `LockInvalid` for an object that has a member of a lock but is not a lock.
        """
        if value is None:
            return NO_VERSIONS
        if not isinstance(value, Mapping):
            raise Invalid.field(field, "must be an object")
        if value.keys() & OWN_MEMBERS:
            return cls(lock=SentLock.parse(value, field))
        unknown = [name for name in value if name not in cls.MEMBERS]
        issues = [Issue(f"{field}.{name}", "is not a known member") for name in unknown]
        parsed = cls(
            agents=_read_selectors(value, "agents", field, issues),
            prompt_blocks=_read_selectors(value, "promptBlocks", field, issues),
            self_=_read_selector(value["self"], f"{field}.self", issues) if "self" in value else None,
            default_status=_read_status(value, field, issues),
            strict=value.get("strict"),
        )
        if "strict" in value and not isinstance(parsed.strict, bool):
            issues.append(Issue(f"{field}.strict", "must be true or false"))
        if issues:
            raise Invalid(issues)
        return parsed

    @classmethod
    def merge(cls, *weakest_first: VersionsMap) -> VersionsMap:
        """Return one map merged from several; the last one with an entry wins, id by id.

        Raises `Invalid` for a lock together with anything else, since the run would not match the lock.
        """
        locked = next((versions for versions in weakest_first if versions.lock is not None), None)
        if locked is not None and locked.lock is not None:
            if any(versions not in (NO_VERSIONS, locked) for versions in weakest_first):
                message = "is a lock, which excludes other selectors"
                raise Invalid.field(locked.lock.place, message)
            return locked
        return cls(
            agents=_merge_selectors(versions.agents for versions in weakest_first),
            prompt_blocks=_merge_selectors(versions.prompt_blocks for versions in weakest_first),
            self_=_last(versions.self_ for versions in weakest_first),
            default_status=_last(versions.default_status for versions in weakest_first),
            strict=_last(versions.strict for versions in weakest_first),
        )


NO_VERSIONS = VersionsMap()


def _last(values: Iterable[_Value | None]) -> _Value | None:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _merge_selectors(weakest_first: Iterable[Mapping[str, Selector]]) -> Mapping[str, Selector]:
    return MappingProxyType(
        {resource_id: value for selectors in weakest_first for resource_id, value in selectors.items()}
    )


def _is_status(value: Any) -> bool:
    return isinstance(value, str) and value in set(Status)


def _read_selectors(
    value: Mapping[str, Any], member: str, place: str, issues: list[Issue]
) -> Mapping[str, Selector]:
    selectors = value.get(member, {})
    if not isinstance(selectors, Mapping):
        issues.append(Issue(f"{place}.{member}", "must be an object of selectors by id"))
        return {}
    return MappingProxyType(
        {
            resource_id: _read_selector(selector, f"{place}.{member}.{resource_id}", issues)
            for resource_id, selector in selectors.items()
        }
    )


def _read_status(value: Mapping[str, Any], place: str, issues: list[Issue]) -> Status | None:
    if "defaultStatus" not in value:
        return None
    if _is_status(value["defaultStatus"]):
        return Status(value["defaultStatus"])
    issues.append(Issue(f"{place}.defaultStatus", "must be 'published' or 'draft'"))
    return None


def _read_selector(value: Any, place: str, issues: list[Issue]) -> Selector:
    """Return the selector; for an invalid one, add an issue and return the default."""
    problem = _selector_problem(value)
    if problem is None:
        return Selector.parse(value)
    issues.append(Issue(place, problem))
    return PUBLISHED


def _selector_problem(value: Any) -> str | None:
    if not isinstance(value, Mapping) or len(value) != 1 or not value.keys() <= set(keys()):
        return Message("must be an object with exactly one of {members}", members=_list_keys())
    ((key, content),) = value.items()
    if key == "status":
        return None if _is_status(content) else Message("status must be 'published' or 'draft'")
    if isinstance(content, str) and content:
        return None
    return Message("{member} must be a text that is not empty", member=key)
