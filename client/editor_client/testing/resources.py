"""The resources of the editor in memory, and their versions: the rules of the lifecycle."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.records import snapshot_names
from editor_client.shared import canonical, ids
from editor_client.shared.errors import Invalid, Issue
from editor_client.stored_agents import AgentRecord
from editor_client.stored_prompt_blocks import PromptBlockRecord
from editor_client.testing.log import now
from editor_client.testing.refusals import not_found

Config = dict[str, Any]
MAX_MESSAGE: Final = 500


@dataclass(frozen=True)
class Kind:
    """What differs between agents and prompt blocks."""

    word: str
    segment: str
    singular: str
    list_key: str
    id_key: str
    required: tuple[str, str]
    names: tuple[str, ...]


AGENT: Final = Kind(
    word="agent",
    segment="agents",
    singular="agent",
    list_key="agents",
    id_key="agentId",
    required=("name", "instructions"),
    names=snapshot_names(AgentRecord),
)
PROMPT_BLOCK: Final = Kind(
    word="promptBlock",
    segment="prompt-blocks",
    singular="prompt block",
    list_key="promptBlocks",
    id_key="blockId",
    required=("name", "content"),
    names=snapshot_names(PromptBlockRecord),
)
KINDS: Final = {kind.segment: kind for kind in (AGENT, PROMPT_BLOCK)}


@dataclass(kw_only=True)
class Version:
    """A saved configuration."""

    number: int
    config: Config
    changed: list[str]
    message: str
    author: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: str = field(default_factory=now)


@dataclass(kw_only=True)
class Label:
    """A name for a version."""

    version: Version
    released: bool
    updated_at: str


@dataclass(kw_only=True)
class Resource:
    """A name and two pointers into a list of versions."""

    kind: Kind
    id: str
    workspace: str
    author: str
    visibility: str
    metadata: dict[str, Any]
    versions: list[Version] = field(default_factory=list)
    active: Version | None = None
    labels: dict[str, Label] = field(default_factory=dict)
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    published_at: str | None = None
    last_number: int = 0
    is_favorited: bool = False
    """Whether the one person who uses this editor has marked it."""
    _identity: str = field(default_factory=lambda: str(uuid.uuid4()))
    _revision: int = 0

    @property
    def latest(self) -> Version:
        """The version saved last."""
        return self.versions[-1]

    @property
    def reference(self) -> dict[str, str]:
        """What events call it."""
        return {"kind": self.kind.word, "id": self.id}

    @property
    def tag(self) -> str:
        """The entity tag of the record, which changes with everything about the resource."""
        return hashlib.sha256(f"{self._identity} {self._revision}".encode()).hexdigest()[:32]

    @property
    def shown_tag(self) -> str:
        """The tag as answers have it: a mark follows a dash, since it does not change the resource."""
        return f"{self.tag}-own-1" if self.is_favorited else self.tag

    def touch(self) -> None:
        """Note a change."""
        self._revision += 1
        self.updated_at = now()

    def append(self, config: Config, changed: list[str], message: str, author: str) -> Version:
        """Add a version, and return it."""
        self.last_number += 1
        version = Version(
            number=self.last_number, config=config, changed=changed, message=message, author=author
        )
        self.versions.append(version)
        self.touch()
        return version

    def version(self, version_id: str) -> Version:
        """Return one of the versions; raises `Refused` if there is none with the id."""
        for version in self.versions:
            if version.id == version_id:
                return version
        raise not_found()

    def state_of(self, version: Version) -> str:
        """Return what a version is at the moment."""
        if version is self.active:
            return "published"
        return "draft" if version is self.latest else "historical"

    def record(self, version: Version | None = None) -> dict[str, Any]:
        """Return the record, with the fields of a version; of the published one by default, or the latest."""
        shown = version or self.active or self.latest
        agents_only = {"visibility": self.visibility}
        return {
            "id": self.id,
            "workspaceId": self.workspace,
            "status": "published" if self.active else "draft",
            "activeVersionId": self.active and self.active.id,
            "latestVersionId": self.latest.id,
            "resolvedVersionId": shown.id,
            "hasDraft": self.latest is not self.active,
            "authorId": self.author,
            "metadata": self.metadata,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "isFavorited": self.is_favorited,
            "favoriteCount": int(self.is_favorited),
            **(agents_only if self.kind is AGENT else {}),
            **shown.config,
        }

    def version_record(self, version: Version) -> dict[str, Any]:
        """Return a version, with its configuration."""
        return {
            "id": version.id,
            self.kind.id_key: self.id,
            "versionNumber": version.number,
            "changedFields": version.changed,
            "changeMessage": version.message,
            "authorId": version.author,
            "createdAt": version.created_at,
            "source": "database",
            "readOnly": False,
            "bypassedBy": None,
            "state": self.state_of(version),
            "labels": sorted(name for name, label in self.labels.items() if label.version is version),
            **version.config,
        }

    def label_records(self) -> Iterator[dict[str, Any]]:
        """Yield the labels, the computed ones first."""
        yield self._computed("latest", self.latest, self.latest.created_at)
        if self.active is not None:
            yield self._computed("production", self.active, self.published_at)
        for name in sorted(self.labels):
            yield self.label_record(name)

    def label_record(self, name: str) -> dict[str, Any]:
        """Return a label that somebody has set."""
        label = self.labels[name]
        return {
            **self._computed(name, label.version, label.updated_at),
            "kind": "custom",
            "released": label.released,
        }

    def _computed(self, name: str, version: Version, moved_at: str | None) -> dict[str, Any]:
        return {
            "name": name,
            "versionId": version.id,
            "versionNumber": version.number,
            "kind": "computed",
            "released": False,
            "updatedAt": moved_at,
            "updatedBy": self.author,
        }

    def obstacle_to_deleting(self, version: Version) -> str | None:
        """Return why a version has to stay; None if it can be deleted."""
        if version is self.active:
            return "is published: publish another one or unpublish it first"
        named = next((name for name, label in self.labels.items() if label.version is version), None)
        if named is not None:
            return f"carries the label {named!r}: move or remove the label first"
        if len(self.versions) == 1:
            return "is the only version: delete the whole resource instead"
        return None


def edited(kind: Kind, current: Config, changes: Mapping[str, Any]) -> Config:
    """Return a configuration after an edit: an absent field is unchanged, a null one is cleared.

    Raises `Invalid` for fields that are required; what is inside of a field is not checked.
    """
    merged = {**current, **changes}
    issues = []
    for name in kind.required:
        value = merged.get(name)
        if name not in merged:
            issues.append(Issue(name, "is required"))
        elif not isinstance(value, str) and not (name == "instructions" and isinstance(value, list)):
            issues.append(Issue(name, "must be text"))
        elif isinstance(value, str) and name != "content" and not value.strip():
            issues.append(Issue(name, "must not be blank"))
    if issues:
        raise Invalid(issues)
    return {name: value for name, value in merged.items() if value is not None}


def changed_fields(kind: Kind, before: Config, after: Config) -> list[str]:
    """Return the fields in which two configurations differ."""
    return [
        name
        for name in kind.names
        if (name in before) != (name in after) or not canonical.same(before.get(name), after.get(name))
    ]


def merged_metadata(current: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the metadata after an edit: null removes a member, and instead of the whole clears it."""
    members = {} if changes is None else {**current, **changes}
    return {name: value for name, value in members.items() if value is not None}


def id_of_new(body: Mapping[str, Any]) -> str:
    """Return the id for a new resource; raises `Invalid` if it can be none."""
    resource_id = str(body["id"]) if "id" in body else ids.slug(str(body.get("name", "")))
    problem = ids.problem(resource_id)
    if "id" not in body and not resource_id:
        problem = "is required: the name has no letter or digit of a-z, 0-9 to make one of"
    if problem is not None:
        raise Invalid.field("id", problem)
    return resource_id


def message_or(default: str, body: Mapping[str, Any]) -> str:
    """Return the message of a save, trimmed, or the default."""
    message = (body.get("changeMessage") or "").strip()
    if len(message) > MAX_MESSAGE:
        raise Invalid.field("changeMessage", f"must not be longer than {MAX_MESSAGE} characters")
    return message or default
