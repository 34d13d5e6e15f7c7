"""Which version of a resource a caller asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from versioning.errors import Invalid, Issue


class Status(StrEnum):
    """The two statuses that can be asked for; a snapshot itself stores none."""

    PUBLISHED = "published"
    DRAFT = "draft"


class State(StrEnum):
    """What a version is at the moment, derived from the two pointers of its resource."""

    PUBLISHED = "published"
    DRAFT = "draft"
    HISTORICAL = "historical"


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Exactly one of a status, a version id, a label; the default is what is published."""

    status: Status | None = None
    version_id: str | None = None
    label: str | None = None

    KEYS = ("status", "versionId", "label")

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Selector:
        """Return the selector that the wire names `status`, `versionId`, `label` describe.

        None of them means published. Raises `Invalid` for two at once and for an unknown status.
        """
        named = {key: given[key] for key in cls.KEYS if key in given}
        if len(named) > 1:
            raise Invalid([Issue(key, "give only one of status, versionId and label") for key in named])
        if "status" in named and named["status"] not in set(Status):
            raise Invalid.field("status", "must be 'published' or 'draft'")
        if "status" in named:
            return cls(status=Status(named["status"]))
        if "versionId" in named:
            return cls(version_id=named["versionId"])
        return cls(label=named["label"]) if "label" in named else PUBLISHED

    def as_dict(self) -> dict[str, str]:
        """Return the wire form, an object with one key."""
        if self.version_id is not None:
            return {"versionId": self.version_id}
        if self.label is not None:
            return {"label": self.label}
        return {"status": str(self.status or Status.PUBLISHED)}


PUBLISHED = Selector(status=Status.PUBLISHED)
DRAFT = Selector(status=Status.DRAFT)
