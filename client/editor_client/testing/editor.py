"""The editor in memory: requests, answers and refusals; resources, changed by the rules of `shared`."""

from __future__ import annotations

import datetime
import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from editor_client.manage.stored import Kind
from editor_client.manage.stored_agents import AGENTS
from editor_client.shared import canonical, configurations
from editor_client.shared.configurations import Config
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.shared.request_contexts import PARAMETER, read_context

Json = dict[str, Any]
Body = Mapping[str, Any]
AnyKind = Kind[Any, Any, Any, Any, Any]
Generate = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Returns the text of a run's answer, given an agent as in `GET /agents/:id` and the body of the run."""
SUMS: Final = ("runs", "errors", "inputTokens", "outputTokens", "milliseconds")
FIRST: Final = 1
"""The position before the first event: the workspace was made."""
_SAVED: Final = ("autoPublish", "bypassEvaluation", "bypassReview", "changeMessage", "endRollout", "metadata")
"""The members of a save besides the fields of its snapshot."""


class Refused(Exception):
    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.body = {"error": message, "code": code, **details}


def not_found() -> Refused:
    return Refused(404, "not_found", "There is nothing here that you can read.")


def not_done(what: str) -> Refused:
    """Return the refusal for a feature that only a real editor has."""
    return Refused(501, "not_in_fake_editor", f"FakeEditor does not do {what}; test it with a real editor.")


def members(body: Body, *names: str, more: Iterable[str] | None = None) -> list[Any]:
    """Return the members with these names; raises `Invalid` for missing ones, and others than `more`."""
    unknown = [] if more is None else [name for name in body if name not in {*names, *more}]
    issues = [Issue(name, "is not a field that can be set here") for name in unknown]
    issues = issues or [Issue(name, "is required") for name in names if name not in body]
    if issues:
        raise Invalid(issues)
    return [body[name] for name in names]


class Answer(NamedTuple):
    """The answer to a request; `etag` is that of a record, by default the content's."""

    content: Any
    status: int = 200
    etag: str | None = None
    is_stream: bool = False


class Request(NamedTuple):
    """A request; what is answered takes the parameters that it knows out of the query."""

    method: str
    names: tuple[str, ...]
    """The segments of the address, decoded."""
    query: dict[str, str]
    body: Body
    if_match: str | None

    def take(self, *names: str) -> dict[str, str]:
        """Take the given ones of these parameters out of the query."""
        return {name: self.query.pop(name) for name in names if name in self.query}

    def context(self) -> Json:
        text = self.query.pop(PARAMETER, None)
        return {} if text is None else read_context(text)

    def page(self, member: str, items: list[Json], size: int = 100) -> Answer:
        page, per_page = int(self.query.pop("page", 0)), int(self.query.pop("perPage", size))
        shown = items[page * per_page : (page + 1) * per_page]
        has_more = bool(shown) and (page + 1) * per_page < len(items)
        paging = {"total": len(items), "page": page, "perPage": per_page, "hasMore": has_more}
        return Answer({member: shown, **paging})


def now() -> str:
    return f"{datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass(kw_only=True, eq=False)
class Version:
    number: int
    config: Config
    changed: list[str]
    message: str
    id: str = field(default_factory=new_id)
    created_at: str = field(default_factory=now)


class Label(NamedTuple):
    version: Version
    updated_at: str
    released: bool = False


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
    usage: list[Json] = field(default_factory=list)
    feedback: list[Json] = field(default_factory=list)
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    published_at: str = ""
    """When a version was published last; empty for a resource that never was."""
    _identity: str = field(default_factory=new_id)
    _revision: int = 0

    @property
    def latest(self) -> Version:
        return self.versions[-1]

    @property
    def etag(self) -> str:
        """The entity tag of the record, which changes with everything about the resource."""
        return hashlib.sha256(f"{self._identity} {self._revision}".encode()).hexdigest()[:32]

    def touch(self) -> None:
        self._revision += 1
        self.updated_at = now()

    def append(self, config: Config, message: str) -> Version:
        before = self.latest.config if self.versions else {}
        changed = configurations.changed_fields(self.kind.names, before, config)
        number = len(self.versions) + 1
        self.versions.append(Version(number=number, config=config, changed=changed, message=message))
        self.touch()
        return self.latest

    def version(self, version_id: str) -> Version:
        """Return one of the versions; raises `Refused` if there is none with the id."""
        for version in self.versions:
            if version.id == version_id:
                return version
        raise not_found()

    def record(self, version: Version | None = None) -> Json:
        """Return the record, with the fields of a version; by default the published one, or the latest."""
        shown, active = version or self.active or self.latest, self.active and self.active.id
        pointers = {"activeVersionId": active, "latestVersionId": self.latest.id}
        state = {"status": "published" if active else "draft", "hasDraft": self.latest is not self.active}
        own = {"workspaceId": self.workspace, "authorId": self.author, "metadata": self.metadata}
        own |= {"visibility": self.visibility} if self.kind.has_visibility else {}
        times = {"createdAt": self.created_at, "updatedAt": self.updated_at}
        favorites = {"isFavorited": False, "favoriteCount": 0}
        ids = {"id": self.id, "resolvedVersionId": shown.id, **pointers}
        return {**ids, **own, **state, **times, **favorites, **shown.config}

    def version_record(self, version: Version) -> Json:
        unpublished = "draft" if version is self.latest else "historical"
        labels = sorted(name for name, label in self.labels.items() if label.version is version)
        state = {"state": "published" if version is self.active else unpublished, "labels": labels}
        origin = {"source": "database", "readOnly": False, "bypassedBy": None}
        change = {"changedFields": version.changed, "changeMessage": version.message}
        made = {"authorId": self.author, "createdAt": version.created_at, "versionNumber": version.number}
        identity = {"id": version.id, self.kind.id_member: self.id}
        return {**identity, **made, **change, **origin, **state, **version.config}

    def label_record(self, name: str, label: Label, kind: str = "custom") -> Json:
        version = {"versionId": label.version.id, "versionNumber": label.version.number}
        updated = {"updatedAt": label.updated_at, "updatedBy": self.author}
        return {"name": name, "kind": kind, "released": label.released, **version, **updated}


class Editor:
    """Resources of one workspace, the log, and one person with all rights."""

    def __init__(self, workspace: str, username: str, generate: Generate) -> None:
        self.workspace, self.username, self.generate = workspace, username, generate
        self.key_prefix = ""
        """The prefix of the key for the next change."""
        self.resources: dict[tuple[str, str], Resource] = {}
        """By the name of the kind and the id."""
        self.rollouts: list[tuple[Resource, Json]] = []
        """Newest first."""
        self.served: dict[str, dict[tuple[str, str], tuple[str | None, str | None]]] = {}
        """What each run served: by kind and id the version and the arm; the called agent is the first."""
        self.epoch = new_id()
        self.events: list[Json] = []

    def find(self, slug: str, resource_id: str) -> Resource:
        """Return a resource by the name of its kind; raises `Refused` if there is none."""
        if (slug, resource_id) not in self.resources:
            raise not_found()
        return self.resources[slug, resource_id]

    def named(self, reference: Body) -> Resource:
        """Return the resource that a body or a query names; raises `Refused` if there is none."""
        return self.find(*members(reference, "kind", "id"))

    def all(self, kind: AnyKind) -> list[Resource]:
        """Return all resources of a kind, newest first."""
        return [resource for resource in reversed(self.resources.values()) if resource.kind is kind]

    def require_published_blocks(self, config: Config) -> None:
        """Raise `Invalid` naming each prompt block in the instructions that is not published."""
        issues = []
        for place, block_id in referenced_blocks(config):
            block = self.resources.get(("promptBlock", block_id))
            problem = "is not published" if block else "does not exist, or you may not read it"
            if block is None or block.active is None:
                issues.append(Issue(place, f"the prompt block {block_id!r} {problem}"))
        if issues:
            raise Invalid(issues, code="unpublished_blocks")

    def create(self, kind: AnyKind, body: Body) -> Resource:
        config = _edited(kind, {}, body, "id", "workspaceId")
        wanted_id = str(body["id"]) if "id" in body else None
        resource_id = configurations.id_of_new(wanted_id, body)
        configurations.check_id(resource_id, given=wanted_id)
        if body.get("workspaceId", self.workspace) != self.workspace:
            message = f"You may not save drafts in the workspace {body['workspaceId']!r}."
            raise Refused(403, "forbidden", message)
        if (kind.slug, resource_id) in self.resources:
            raise Refused(409, "id_taken", f"The id {resource_id!r} is taken.")
        publishes = body.get("autoPublish", kind is AGENTS)
        message = configurations.message_or(configurations.INITIAL_MESSAGE, body.get("changeMessage"))
        if publishes:
            self.require_published_blocks(config)
        resource = self.resources[kind.slug, resource_id] = Resource(
            kind=kind,
            id=resource_id,
            workspace=self.workspace,
            author=self.username,
            visibility=body.get("visibility", "private"),
            metadata=configurations.merged_metadata({}, body.get("metadata")),
        )
        version = resource.append(config, message)
        self.record("created", resource, version)
        if publishes:
            self.publish(resource, version, body)
        return resource

    def edit(self, resource: Resource, body: Body) -> None:
        """Save an edit, as a draft unless `autoPublish` is true."""
        config = _edited(resource.kind, resource.latest.config, body)
        message = configurations.message_or(configurations.EDIT_MESSAGE, body.get("changeMessage"))
        is_changed = not canonical.same(config, resource.latest.config)
        if body.get("autoPublish"):
            self.require_published_blocks(config)
            if is_changed or resource.latest is not resource.active:
                self.refuse_running(resource, body, "before publishing")
        resource.visibility = body.get("visibility", resource.visibility)
        metadata = configurations.merged_metadata(resource.metadata, body.get("metadata", {}))
        if not canonical.same(metadata, resource.metadata):
            resource.metadata = metadata
            resource.touch()
            self.record("updated", resource, detail={"fields": ["metadata"]})
        if is_changed:
            version = resource.append(config, message)
            self.record("versionCreated", resource, version, detail={"changedFields": version.changed})
        if body.get("autoPublish"):
            self.publish(resource, resource.latest, body)

    def publish(self, resource: Resource, version: Version, options: Body, **detail: Any) -> None:
        if version is resource.active:
            return
        self.require_published_blocks(version.config)
        self.end_rollout(resource, options, "before publishing")
        previous = resource.active and resource.active.id
        self.record("published", resource, version, previousVersionId=previous, detail=detail)
        resource.active, resource.published_at = version, now()
        resource.touch()

    def running(self, resource: Resource) -> Json | None:
        rollouts = (rollout for owner, rollout in self.rollouts if owner is resource)
        return next((rollout for rollout in rollouts if rollout["state"] == "running"), None)

    def refuse_running(self, resource: Resource, options: Body, until: str) -> Json | None:
        rollout = self.running(resource)
        if rollout is not None and options.get("endRollout") not in {True, "true"}:
            raise Refused(409, "rollout_running", f"A rollout is running. Stop it {until}.")
        return rollout

    def end_rollout(self, resource: Resource, options: Body, until: str = "first") -> None:
        """Stop the running rollout if the request allows it; otherwise raises `Refused`."""
        rollout = self.refuse_running(resource, options, until)
        if rollout is not None:
            rollout |= {"state": "stopped", "endedAt": now()}
            self.record_rollout("stopped", resource, rollout)

    def record_rollout(self, what: str, resource: Resource, rollout: Json, **detail: Any) -> None:
        weights = {arm["name"]: arm["weight"] for arm in rollout["arms"]}
        about = {"rolloutId": rollout["id"], "weights": weights, **detail}
        self.record(f"rollout.{what}", resource, detail=about)

    def record(self, what: str, resource: Resource, version: Version | None = None, **about: Any) -> None:
        """Record a change in the log; a type without its subject is about the kind of the resource."""
        event: Json = {"previousVersionId": None, "label": None, "detail": {}, **about}
        event |= {"versionId": version and version.id, "versionNumber": version and version.number}
        event |= {"type": what if "." in what else f"{resource.kind.slug}.{what}", "createdAt": now()}
        event |= {"actor": {"id": self.username, "via": "api", "keyPrefix": self.key_prefix}}
        event |= {"workspaceId": resource.workspace, "id": new_id(), "position": FIRST + len(self.events) + 1}
        self.events.append({**event, "resource": {"kind": resource.kind.slug, "id": resource.id}})

    def count(self, resource: Resource, version_id: str | None, arm: str | None, used: Body) -> None:
        key = {"versionId": version_id, "arm": arm}
        row = next((row for row in resource.usage if key.items() <= row.items()), None)
        if row is None:
            row = {**key, **dict.fromkeys(SUMS, 0), "firstUsedAt": now()}
            resource.usage.append(row)
        row |= {name: row[name] + used.get(name, 0) for name in SUMS} | {"lastUsedAt": now()}


def _edited(kind: AnyKind, current: Config, body: Body, *more: str) -> Config:
    members(body, more=(*kind.names, *_SAVED, *more, *(["visibility"] if kind.has_visibility else [])))
    needed = ("name", kind.text)
    changes = {name: value for name, value in body.items() if name in kind.names}
    config = configurations.merged(current, changes, set(kind.names) - set(needed))
    members(config, *needed)
    for name in needed:
        if config[name] is None or (name != "content" and not str(config[name]).strip()):
            raise Invalid.field(name, "must be text" if config[name] is None else "must not be blank")
    return config
