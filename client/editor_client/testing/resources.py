"""The state of the editor in memory: resources with versions and labels, saves, and references."""

from __future__ import annotations

import datetime
import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from editor_client.manage.stored import Kind
from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.manage.stored_scorers import SCORERS
from editor_client.shared.configurations import Config, keys, merged, referenced_agents
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.testing.protocol import Json, not_found, refuse_unknown

SAVED: Final = ("autoPublish", "bypassEvaluation", "bypassReview", "changeMessage", "endRollout", "metadata")
"""The members of a save besides the fields of its snapshot."""
AnyKind = Kind[Any, Any, Any, Any, Any]


def now() -> str:
    """Return the current time in the server's format."""
    return f"{datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')[:-6]}Z"


@dataclass(kw_only=True, eq=False)
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


@dataclass(kw_only=True, eq=False)
class Resource:
    """A name and two pointers into a list of versions."""

    kind: AnyKind
    id: str
    workspace: str
    author: str
    visibility: str
    metadata: Json
    versions: list[Version] = field(default_factory=list)
    active: Version | None = None
    labels: dict[str, Label] = field(default_factory=dict)
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    published_at: str | None = None
    last_number: int = 0
    were_live: set[str] = field(default_factory=set)
    """The digests of the configurations that were ever published."""
    showed: set[str] = field(default_factory=set)
    """The digests of what was live of an agent, with everything that it shows and runs."""
    last_lock: Json | None = None
    """The lock of what was live last of an agent."""
    is_favorited: bool = False
    """Whether the only person of this editor has marked it."""
    _identity: str = field(default_factory=lambda: str(uuid.uuid4()))
    _revision: int = 0

    @property
    def reference(self) -> Json:
        """The kind and the id, as in bodies and answers."""
        return {"kind": self.kind.slug, "id": self.id}

    @property
    def latest(self) -> Version:
        """The newest version."""
        return self.versions[-1]

    @property
    def etag(self) -> str:
        """The entity tag of the record, which changes with everything about the resource."""
        return hashlib.sha256(f"{self._identity} {self._revision}".encode()).hexdigest()[:32]

    @property
    def shown_etag(self) -> str:
        """The tag in answers: a mark follows a dash, since it does not change the resource."""
        return f"{self.etag}-own-1" if self.is_favorited else self.etag

    def touch(self) -> None:
        """Count a change."""
        self._revision += 1
        self.updated_at = now()

    def append(self, config: Config, changed: list[str], message: str) -> Version:
        """Add a version, and return it."""
        self.last_number += 1
        version = Version(
            number=self.last_number, config=config, changed=changed, message=message, author=self.author
        )
        self.versions.append(version)
        self.touch()
        return version

    def version(self, version_id: str) -> Version:
        """Return one of the versions; raises `Refused` if there is none with the id."""
        found = next((version for version in self.versions if version.id == version_id), None)
        if found is None:
            raise not_found()
        return found

    def record(self, version: Version | None = None) -> Json:
        """Return the record, with the fields of a version; by default the published one, or the latest."""
        shown = version or self.active or self.latest
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
            **({"visibility": self.visibility} if self.kind.has_visibility else {}),
            **shown.config,
        }

    def version_record(self, version: Version) -> Json:
        """Return a version, with its configuration."""
        unpublished = "draft" if version is self.latest else "historical"
        return {
            "id": version.id,
            self.kind.id_member: self.id,
            "versionNumber": version.number,
            "changedFields": version.changed,
            "changeMessage": version.message,
            "authorId": version.author,
            "createdAt": version.created_at,
            "source": "database",
            "readOnly": False,
            "bypassedBy": None,
            "state": "published" if version is self.active else unpublished,
            "labels": sorted(name for name, label in self.labels.items() if label.version is version),
            **version.config,
        }

    def label_records(self) -> Iterator[Json]:
        """Yield the labels, the computed ones first."""
        yield self._label("latest", self.latest, self.latest.created_at)
        if self.active is not None:
            yield self._label("production", self.active, self.published_at)
        yield from map(self.label_record, sorted(self.labels))

    def label_record(self, name: str) -> Json:
        """Return a label that was set."""
        label = self.labels[name]
        about = self._label(name, label.version, label.updated_at)
        return {**about, "kind": "custom", "released": label.released}

    def _label(self, name: str, version: Version, moved_at: str | None) -> Json:
        return {
            "name": name,
            "versionId": version.id,
            "versionNumber": version.number,
            "kind": "computed",
            "released": False,
            "updatedAt": moved_at,
            "updatedBy": self.author,
        }


def edited(kind: AnyKind, current: Config, body: Mapping[str, Any], *more: str) -> Config:
    """Return a configuration after an edit; the contents of fields are not checked.

    Raises `Invalid` for unknown fields, and for missing required ones.
    """
    names = kind.names
    own = ("visibility",) if kind.has_visibility else ()
    refuse_unknown(body, {*names, *SAVED, *more, *own})
    needed = ("name", kind.needs or kind.text)
    changes = {name: value for name, value in body.items() if name in names}
    config = merged(current, changes, set(names) - set(needed))
    issues = []
    for name in needed:
        value = config.get(name)
        if name not in config:
            issues.append(Issue(name, "is required"))
        elif not isinstance(value, str) and not (name == "instructions" and isinstance(value, list)):
            issues.append(Issue(name, "must be text"))
        elif isinstance(value, str) and name != "content" and not value.strip():
            issues.append(Issue(name, "must not be blank"))
    if issues:
        raise Invalid(issues)
    return config


def visibility_in(body: Mapping[str, Any]) -> str | None:
    """Return the visibility that a save sets; raises `Invalid` for one that there is not."""
    visibility = body.get("visibility")
    if visibility not in {None, "private", "public"}:
        raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
    return visibility


class Resources(Protocol):
    """The resources of an editor."""

    def get(self, kind: AnyKind, resource_id: str) -> Resource | None:
        """Return a resource, or None."""

    def all(self, kind: AnyKind) -> list[Resource]:
        """Return all resources of a kind."""


def references(config: Config) -> list[tuple[AnyKind, str]]:
    """Return the sub-agents, prompt blocks and scorers that a configuration names, in any context."""
    agents = {(AGENTS, agent_id) for _, agent_id in referenced_agents(config)}
    blocks = {(PROMPT_BLOCKS, block_id) for _, block_id in referenced_blocks(config)}
    scorers = {(SCORERS, scorer_id) for _, scorer_id in keys(config, "scorers")}
    found: Iterable[tuple[AnyKind, str]] = agents | blocks | scorers
    return sorted(found, key=lambda one: (one[0].slug, one[1]))


def require_published_blocks(resources: Resources, config: Config) -> None:
    """Raise `Invalid` naming each prompt block in the instructions that is not published."""
    issues = []
    for place, target in referenced_blocks(config):
        block = resources.get(PROMPT_BLOCKS, target)
        problem = "is not published" if block else "does not exist, or you may not read it"
        if block is None or block.active is None:
            issues.append(Issue(place, f"the prompt block {target!r} {problem}"))
    if issues:
        raise Invalid(issues, code="unpublished_blocks")


def dependents(resources: Resources, resource: Resource, status: str = "published") -> list[Json]:
    """Return the agents that refer to a resource, in their published versions or the latest ones."""
    versions = {
        agent: agent.latest if status == "draft" else agent.active
        for agent in sorted(resources.all(AGENTS), key=lambda one: one.id)
    }
    about = {"kind": AGENTS.slug} if resource.kind is SCORERS else {}
    return [
        {"id": agent.id, "name": version.config["name"], **about}
        for agent, version in versions.items()
        if version is not None and agent is not resource
        if (resource.kind, resource.id) in references(version.config)
    ]
