"""For the tests of applications: an editor in memory, without a server.

`Client("http://editor", api_key="ek_test", http_client=httpx2.Client(transport=FakeEditor()))` is a normal
client; its methods fill the editor.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import secrets
import uuid
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import RLock
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import httpx2

from editor_client.context_schema import refusals
from editor_client.errors import CannotEvaluate
from editor_client.manage.stored import AGENTS, KINDS, PROMPT_BLOCKS, Kind
from editor_client.parts import evaluated_agent
from editor_client.reads.exchange import http_libraries
from editor_client.result import with_json_names
from editor_client.shared import canonical, configurations, ids
from editor_client.shared.agents import EVALUATED_FIELDS, UNRESOLVED
from editor_client.shared.arms import Arm, build_rule, place_arms, refuse_path, reweight_arms
from editor_client.shared.configurations import Config
from editor_client.shared.errors import Invalid, Issue, VersioningError
from editor_client.shared.instructions import referenced_blocks
from editor_client.shared.request_contexts import PARAMETER, read_context, why_no_key
from editor_client.shared.scores import sum_feedback

__all__ = ["FakeEditor"]

Json = dict[str, Any]
Body = Mapping[str, Any]
AnyKind = Kind[Any, Any, Any, Any]
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


def not_done(task: str) -> Refused:
    """Return the refusal for a feature that only a real editor has."""
    return Refused(501, "not_in_fake_editor", f"FakeEditor does not do {task}; test it with a real editor.")


def members(body: Body, *names: str, more: Iterable[str] | None = None) -> list[Any]:
    """Return the members with these names; raises `Invalid` for missing ones, and for any not in `more`."""
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
    """A request; handlers take the parameters that they know out of the query."""

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
        for name in ("page", "perPage"):
            if not self.query.get(name, "0").isdecimal():
                raise Invalid.field(name, "must be a whole number from 0 on")
        page, per_page = int(self.query.pop("page", 0)), int(self.query.pop("perPage", size))
        if per_page > 1000:
            raise Invalid.field("perPage", "must not be larger than 1000")
        rows = items[page * per_page : (page + 1) * per_page]
        has_more = bool(rows) and (page + 1) * per_page < len(items)
        paging = {"total": len(items), "page": page, "perPage": per_page, "hasMore": has_more}
        return Answer({member: rows, **paging})


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
        """The entity tag of the record, which changes with every change of the resource."""
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
        snapshot, active = version or self.active or self.latest, self.active and self.active.id
        pointers = {"activeVersionId": active, "latestVersionId": self.latest.id}
        state = {"status": "published" if active else "draft", "hasDraft": self.latest is not self.active}
        own = {"workspaceId": self.workspace, "authorId": self.author, "metadata": self.metadata}
        own |= {"visibility": self.visibility} if self.kind.has_visibility else {}
        times = {"createdAt": self.created_at, "updatedAt": self.updated_at}
        favorites = {"isFavorited": False, "favoriteCount": 0}
        ids = {"id": self.id, "resolvedVersionId": snapshot.id, **pointers}
        return {**ids, **own, **state, **times, **favorites, **snapshot.config}

    def version_record(self, version: Version) -> Json:
        unpublished = "draft" if version is self.latest else "historical"
        labels = sorted(name for name, label in self.labels.items() if label.version is version)
        state = {"state": "published" if version is self.active else unpublished, "labels": labels}
        origin = {"source": "database", "readOnly": False, "bypassedBy": None}
        change = {"changedFields": version.changed, "changeMessage": version.message}
        creation = {"authorId": self.author, "createdAt": version.created_at, "versionNumber": version.number}
        identity = {"id": version.id, self.kind.id_member: self.id}
        return {**identity, **creation, **change, **origin, **state, **version.config}

    def label_record(self, name: str, label: Label, kind: str = "custom") -> Json:
        version = {"versionId": label.version.id, "versionNumber": label.version.number}
        updated = {"updatedAt": label.updated_at, "updatedBy": self.author}
        return {"name": name, "kind": kind, "released": label.released, **version, **updated}


Served = tuple[Resource, str | None, str | None]
"""A resource, and the version and the arm that a run served."""


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
        self.served: dict[str, dict[tuple[str, str], Served]] = {}
        """What each run served, by kind and id; the called agent is the first."""
        self.epoch = new_id()
        self.events: list[Json] = []

    def find(self, slug: str, resource_id: str) -> Resource:
        """Return a resource by the name of its kind; raises `Refused` if there is none."""
        if (slug, resource_id) not in self.resources:
            raise not_found()
        return self.resources[slug, resource_id]

    def resolve(self, reference: Body) -> Resource:
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
        config = _edit(kind, {}, body, "id", "workspaceId")
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
        config = _edit(resource.kind, resource.latest.config, body)
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

    def record_rollout(self, action: str, resource: Resource, rollout: Json, **detail: Any) -> None:
        weights = {arm["name"]: arm["weight"] for arm in rollout["arms"]}
        about = {"rolloutId": rollout["id"], "weights": weights, **detail}
        self.record(f"rollout.{action}", resource, detail=about)

    def record(self, change: str, resource: Resource, version: Version | None = None, **about: Any) -> None:
        """Record a change in the log; a type without its subject is about the kind of the resource."""
        event: Json = {"previousVersionId": None, "label": None, "detail": {}, **about}
        event |= {"versionId": version and version.id, "versionNumber": version and version.number}
        event |= {"type": change if "." in change else f"{resource.kind.slug}.{change}", "createdAt": now()}
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


def _edit(kind: AnyKind, current: Config, body: Body, *more: str) -> Config:
    members(body, more=(*kind.names, *_SAVED, *more, *(["visibility"] if kind.has_visibility else [])))
    needed = ("name", kind.text)
    changes = {name: value for name, value in body.items() if name in kind.names}
    config = configurations.merge_changes(current, changes, set(kind.names) - set(needed))
    members(config, *needed)
    for name in needed:
        if config[name] is None or (name != "content" and not str(config[name]).strip()):
            raise Invalid.field(name, "must be text" if config[name] is None else "must not be blank")
    return config


SELECTORS: Final = ("status", "versionId", "label", "release")
RUN_MEMBERS: Final = ("messages", "versions", "requestContext", "maxSteps", "modelSettings", "instructions")
NO_TOKENS: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
PUBLISHED: Final[Mapping[str, str]] = {"status": "published"}
NEVER_PUBLISHED: Final = "Nothing is published yet; this is the latest version instead."


def answer_request(editor: Editor, request: Request) -> Answer:
    match request.method, *request.names:
        case "GET", "agents":
            context, ids = request.context(), sorted(agent.id for agent in editor.all(AGENTS))
            return Answer(
                {agent_id: _resolve(_read_parts(editor, agent_id, PUBLISHED), context) for agent_id in ids}
            )
        case "GET", "agents", agent_id:
            context, form = request.context(), request.query.pop("form", None)
            own = _read_parts(editor, agent_id, request.take(*SELECTORS))
            return Answer(own if form else _resolve(own, context))
        case "POST", "agents", agent_id, "generate":
            return _generate(editor, request, agent_id)
        case "POST", "agents", agent_id, "stream":
            return _stream(editor, request, agent_id)
        case "GET", "stored", "agents" | "prompt-blocks" as segment:
            status = request.query.pop("status", "published" if segment == "agents" else "all")
            records = [resource.record() for resource in editor.all(KINDS[segment])]
            records = [record for record in records if status in {"all", record["status"]}]
            return request.page(KINDS[segment].list_member, records)
        case "POST", "stored", "agents" | "prompt-blocks" as segment:
            resource = editor.create(KINDS[segment], request.body)
            return Answer({**resource.record(resource.latest), "warnings": []}, 201, resource.etag)
        case method, "stored", "agents" | "prompt-blocks" as segment, resource_id, *rest:
            resource = editor.find(KINDS[segment].slug, resource_id)
            if method != "GET" and request.if_match is not None and resource.etag not in request.if_match:
                latest, active = resource.latest, resource.active
                pointers = {"latestVersionId": latest.id, "activeVersionId": active and active.id}
                saved = {"savedBy": resource.author, "savedAt": latest.created_at}
                message = "The resource has changed since you read it; check its current state and try again."
                current = {**pointers, **saved, "changedFields": latest.changed}
                raise Refused(412, "edit_conflict", message, current=current)
            return _answer_stored(editor, request, resource, rest)
        case "GET", "events":
            return _events(editor, request)
        case "GET", "rollouts":
            filters = request.take("kind", "id", "state").items()
            rows = [rollout for _, rollout in editor.rollouts]
            rows = [row for row in rows if filters <= {"state": row["state"], **row["resource"]}.items()]
            return request.page("rollouts", rows)
        case "POST", "rollouts":
            return _start_rollout(editor, request)
        case _, "rollouts", rollout_id, *rest:
            return _answer_rollout(editor, request, rollout_id, rest)
        case "POST", "usage":
            about, version_id, _ = members(request.body, "resource", "versionId", "runs", more=("arm", *SUMS))
            resource = editor.resolve(about)
            if version_id is not None:
                resource.version(version_id)
            editor.count(resource, version_id, request.body.get("arm"), request.body)
            return Answer({"success": True, "message": "The usage is counted."}, status=201)
        case "GET", "usage":
            resource = editor.resolve(request.take("kind", "id"))
            numbers = {version.id: version.number for version in resource.versions}
            rows = [{"versionNumber": numbers.get(row["versionId"]), **row} for row in resource.usage]
            return Answer({"usage": [{**row, "cost": None} for row in rows]})
        case "POST", "feedback":
            return _give_feedback(editor, request)
        case "GET", "feedback":
            rows = editor.resolve(request.take("kind", "id")).feedback
            filters = request.take("versionId", "name").items()
            return request.page("feedback", [row for row in rows if filters <= row.items()])
        case "GET", "feedback", "summary":
            rows = editor.resolve(request.take("kind", "id")).feedback
            facts = ((row["versionId"], row["arm"], row["name"], row["value"]) for row in rows)
            sums = sum_feedback(
                (version or "", arm or "", name, value) for version, arm, name, value in facts
            )
            return Answer({"summary": [with_json_names(vars(sum_)) for sum_ in sums]})
    raise not_done(f"{request.method} /{'/'.join(request.names)}")


def _answer_stored(editor: Editor, request: Request, resource: Resource, rest: list[str]) -> Answer:
    match request.method, *rest:
        case ("GET",):
            version, _ = _select(resource, request.take(*SELECTORS))
            return Answer(resource.record(version), etag=resource.etag)
        case ("PATCH",):
            editor.edit(resource, request.body)
            return Answer({**resource.record(resource.latest), "warnings": []}, etag=resource.etag)
        case ("DELETE",):
            if "ifUnused" in request.query:
                raise not_done("listing the dependents of a resource")
            editor.end_rollout(resource, request.take("endRollout"))
            editor.record("deleted", resource, previousVersionId=resource.active and resource.active.id)
            editor.rollouts = [row for row in editor.rollouts if row[0] is not resource]
            del editor.resources[resource.kind.slug, resource.id]
            kind = re.sub("([A-Z])", r" \1", resource.kind.slug).lower()
            return Answer({"success": True, "message": f"The {kind} {resource.id!r} is deleted."})
        case "POST", "unpublish":
            if resource.active is not None:
                editor.end_rollout(resource, request.body)
                editor.record("unpublished", resource, previousVersionId=resource.active.id)
                resource.active = None
                resource.touch()
            return Answer(resource.record(), etag=resource.etag)
        case "GET", "versions":
            versions = [resource.version_record(version) for version in reversed(resource.versions)]
            return request.page("versions", versions, size=20)
        case "GET", "versions", version_id:
            return Answer(resource.version_record(resource.version(version_id)))
        case "POST", "versions", version_id, "activate":
            version = resource.version(version_id)
            editor.publish(resource, version, request.body)
            result = {"success": True, "message": f"Version {version.number} is published."}
            return Answer({**result, "activeVersionId": version.id, "warnings": []}, etag=resource.etag)
        case "GET", "labels":
            computed = {"latest": Label(resource.latest, resource.latest.created_at)}
            if resource.active is not None:
                computed["production"] = Label(resource.active, resource.published_at)
            labels = [resource.label_record(*item, "computed") for item in computed.items()]
            labels += [resource.label_record(*item) for item in sorted(resource.labels.items())]
            return Answer({"labels": labels})
        case "PUT", "labels", name:
            return _set_label(editor, request, resource, name)
        case "DELETE", "labels", name:
            if name in ids.RESERVED_LABELS:
                raise Invalid.field("name", f"{name!r} is computed and cannot be removed")
            label = resource.labels.pop(name, None)
            if label is None:
                raise not_found()
            resource.touch()
            detail, previous = {"released": label.released}, label.version.id
            editor.record("labelRemoved", resource, label=name, previousVersionId=previous, detail=detail)
            return Answer({"success": True, "message": f"The label {name!r} is removed."})
    raise not_done(f"{request.method} /{'/'.join(request.names)}")


def _set_label(editor: Editor, request: Request, resource: Resource, name: str) -> Answer:
    body = request.body
    [version_id] = members(body, "versionId", more=("released", "bypassEvaluation", "bypassReview"))
    if (problem := ids.label_problem(name)) is not None:
        raise Invalid.field("name", problem)
    version, before = resource.version(version_id), resource.labels.get(name)
    released = bool(body.get("released", before is not None and before.released))
    if before is None or (before.version, before.released) != (version, released):
        if released:
            editor.require_published_blocks(version.config)
        resource.labels[name] = Label(version, now(), released=released)
        resource.touch()
        detail, previous = {"released": released}, before and before.version.id
        editor.record("labelMoved", resource, version, label=name, previousVersionId=previous, detail=detail)
    return Answer(resource.label_record(name, resource.labels[name]), etag=resource.etag)


def _events(editor: Editor, request: Request) -> Answer:
    query, newest = request.take("after", "epoch", "limit", "type"), FIRST + len(editor.events)
    filters = request.take("kind", "id", "workspaceId", "actor").items()
    after = newest if query.get("after") == "now" else int(query.get("after", 0))
    limit, events = int(query.get("limit", 100)), []
    for event in editor.events[max(0, after - FIRST) :]:
        facts = {**event["resource"], "workspaceId": event["workspaceId"], "actor": event["actor"]["id"]}
        patterns = query.get("type", "*").split(",")
        if filters <= facts.items() and any(fnmatchcase(event["type"], pattern) for pattern in patterns):
            events.append(event)
    page, has_more = events[:limit], len(events) > limit
    following = page[-1]["position"] if has_more else newest
    return Answer({"events": page, "next": following, "hasMore": has_more, "epoch": editor.epoch})


# Agents as applications use them


def _select(resource: Resource, selector: Mapping[str, str]) -> tuple[Version, Json | None]:
    """Return the version that a selector names, and the reason if another one is served instead."""
    if len(selector) > 1:
        message = "give only one of status, versionId, label and release"
        raise Invalid([Issue(name, message) for name in selector])
    if selector.get("status", "draft") not in {"published", "draft"}:
        raise Invalid.field("status", "must be one of 'published', 'draft'")
    if "versionId" in selector:
        return resource.version(selector["versionId"]), None
    name = selector.get("label")
    if selector.get("status") == "draft" or name == "latest":
        return resource.latest, None
    if name in resource.labels:
        return resource.labels[name].version, None
    if "release" in selector or name not in {None, "production"}:
        raise not_found()
    if resource.active is not None:
        return resource.active, None
    if name is not None:
        raise not_found()
    if resource.published_at:
        message = "It was unpublished: nothing is served until a version is published again."
        raise Refused(404, "unpublished", message)
    return resource.latest, {"code": "no_published_version", "message": NEVER_PUBLISHED}


def _build_arms(rollout: Body) -> list[Arm]:
    """Return the arms of a rollout; raises `Invalid` for invalid names and weights."""
    arms = rollout["arms"]
    return place_arms(
        [Arm(name=arm["name"], version_id=arm["versionId"], weight=arm["weight"]) for arm in arms]
    )


def _read_parts(editor: Editor, agent_id: str, selector: Mapping[str, str]) -> Json:
    """Return an agent in parts, in its published version without a selector."""
    selector = selector or PUBLISHED
    resource = editor.find(AGENTS.slug, agent_id)
    version, fallback = _select(resource, selector)
    drafts = selector.get("status") == "draft" or selector.get("label") == "latest"
    blocks = {block.id: block.latest if drafts else block.active for block in editor.all(PROMPT_BLOCKS)}
    active_id = resource.active and resource.active.id
    state = {"status": "published" if active_id else "draft", "activeVersionId": active_id}
    selected = {"selector": dict(selector), "resolvedVersionId": version.id, "fallback": fallback}
    parts: Json = {"id": resource.id, "source": "stored", "metadata": resource.metadata, **state, **selected}
    parts |= {"rollout": None, "blockRollouts": {}, **_describe_shown(version, blocks)}
    if selector == PUBLISHED and (running := editor.running(resource)) is not None:
        versions = map(resource.version, (arm["versionId"] for arm in running["arms"]))
        arms = {version.id: _describe_shown(version, blocks) for version in versions}
        # An arm may refer to blocks that the agent's own version does not.
        all_blocks = ChainMap(parts["promptBlocks"], *(arm.pop("promptBlocks") for arm in arms.values()))
        parts |= {"promptBlocks": dict(sorted(all_blocks.items())), "rollout": _rule(running, arms)}
    for block_id in [] if drafts else [name for name, block in parts["promptBlocks"].items() if block]:
        block = editor.find(PROMPT_BLOCKS.slug, block_id)
        if (running := editor.running(block)) is not None:
            versions = map(block.version, (arm["versionId"] for arm in running["arms"]))
            texts = {version.id: {"config": _text(version)} for version in versions}
            parts["blockRollouts"][block_id] = _rule(running, texts)
    return parts


def _describe_shown(version: Version, blocks: Mapping[str, Version | None]) -> Json:
    """Return the blocks that a version of an agent shows, with these versions; None: not published."""
    config, prompt_blocks, omitted = version.config, Json(), Json()
    for block_id in sorted({block_id for _, block_id in referenced_blocks(config)}):
        block = blocks.get(block_id)
        prompt_blocks[block_id] = block and {"versionId": block.id, **_text(block)}
        if block is None:
            omitted[block_id] = "unpublished" if block_id in blocks else "missing"
    evaluated = {name: config[name] for name in EVALUATED_FIELDS if name in config}
    schema = {"requestContextSchema": config.get("requestContextSchema")}
    return {"config": evaluated, **schema, "promptBlocks": prompt_blocks, "omittedBlocks": omitted}


def _text(version: Version) -> Json:
    return {"content": version.config["content"], "rules": version.config.get("rules")}


def _rule(rollout: Json, versions: Mapping[str, Json]) -> Json:
    return build_rule(rollout["id"], rollout["seed"], rollout["bucketBy"], _build_arms(rollout), versions)


def _resolve(parts: Json, context: Mapping[str, Any]) -> Json:
    try:
        return evaluated_agent(parts, context)
    except CannotEvaluate as reason:
        raise not_done(f"this agent: {reason}") from None


def _generate(editor: Editor, request: Request, agent_id: str) -> Answer:
    members(request.body, more=RUN_MEMBERS)
    body: Json = {PARAMETER: request.context(), **request.body}
    versions, context = body.get("versions") or {}, body.get(PARAMETER) or {}
    if versions.keys() - {"self"}:
        raise not_done("a run by a lock, or with chosen versions of other resources")
    selector = request.take(*SELECTORS)
    if selector and "self" in versions:
        raise Invalid.field("versions.self", "selected more than once")
    parts = _read_parts(editor, agent_id, selector or versions.get("self") or {})
    messages, schema = _messages(body), parts["requestContextSchema"]
    try:
        issues = [] if schema is None else refusals(schema, canonical.sorted_by_key(context))
    except CannotEvaluate as reason:
        raise not_done(f"a run of this agent: {reason}") from None
    if issues:
        raise Invalid(issues, code="request_context_invalid")
    agent = _resolve(parts, context)
    if agent["model"] is None:
        message = f"The agent {agent['id']!r} has no model: give it one with a provider and a name."
        raise Refused(422, "no_model", message)
    text, run_id = editor.generate(agent, body), new_id()
    own = {"agent": [{**agent, "versionId": agent["resolvedVersionId"], "shown": True}]}
    arms: Json = {}
    served = editor.served[run_id] = dict[tuple[str, str], Served]()
    for kind, resources in {**own, "promptBlock": agent["blocks"]}.items():
        arms[f"{kind}s"] = {
            resource["id"]: resource["rollout"] for resource in resources if resource["rollout"]
        }
        for shown_resource in (resource for resource in resources if resource["shown"]):
            version_id, arm = shown_resource["versionId"], (shown_resource["rollout"] or {}).get("arm")
            resource = editor.find(kind, shown_resource["id"])
            served[kind, shown_resource["id"]] = (resource, version_id, arm)
            editor.count(resource, version_id, arm, {"runs": 1})
    unresolved = [warning for warning in agent["warnings"] if warning["code"] == UNRESOLVED]
    step = {"text": text, "finishReason": "stop", "toolCalls": [], "toolResults": [], "usage": NO_TOKENS}
    about = {"runId": run_id, "resolvedVersions": {agent["id"]: agent["resolvedVersionId"]}}
    about |= {"rollouts": arms, "warnings": [] if body.get("instructions") else unresolved}
    about |= {"steps": [step], "messages": [*messages, {"role": "assistant", "content": text}]}
    return Answer({**step, "usage": {**NO_TOKENS, "cost": None}, **about})


def _stream(editor: Editor, request: Request, agent_id: str) -> Answer:
    run = _generate(editor, request, agent_id).content
    message, text = {"messageId": new_id()}, {"id": "text-1"}
    finish = {"finishReason": "stop", "stepResult": {"reason": "stop"}, "usage": NO_TOKENS}
    end = {name: run[name] for name in ("usage", "resolvedVersions", "rollouts", "warnings")}
    pieces = [{**text, "text": piece} for piece in re.findall(r"\S+\s*|\s+", run["text"])]
    events: list[tuple[str, Json]] = [("start", message), ("step-start", message), ("text-start", text)]
    events += [("text-delta", piece) for piece in pieces]
    events += [("text-end", text), ("step-finish", finish), ("finish", {**finish, **end})]
    about = {"runId": run["runId"], "from": "AGENT"}
    return Answer([{"type": kind, **about, "payload": payload} for kind, payload in events], is_stream=True)


def echo(agent: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    """Answer like the echo model: with the instructions and the last message."""
    if agent["agents"]:
        raise not_done("a run with sub-agents by the echo rule: give it `generate=`")
    return f"{body.get('instructions') or agent['instructions']}\n\n{_messages(body)[-1]['content']}"


def _messages(body: Body) -> list[Json]:
    messages = body.get("messages")
    messages = [messages] if isinstance(messages, str | dict) else messages
    if not isinstance(messages, list) or not messages:
        raise Invalid.field("messages", "is required" if messages is None else "must not be empty")
    return [
        {"role": "user", "content": message} if isinstance(message, str) else message for message in messages
    ]


# Rollouts, usage and feedback


def _start_rollout(editor: Editor, request: Request) -> Answer:
    body = request.body
    bypasses = ("bypassReview", "bypassEvaluation")
    reference, path, _ = members(body, "resource", "bucketBy", "arms", more=bypasses)
    resource = editor.resolve(reference)
    editor.refuse_running(resource, {}, "first")
    refuse_path("bucketBy", path)
    arms, versions = _build_arms(body), {version.id: version for version in resource.versions}
    if resource.active is None:
        raise Invalid.field("resource", "has no active version for all other requests")
    unknown = [number for number, arm in enumerate(arms) if arm.version_id not in versions]
    if unknown:
        raise Invalid.field(f"arms.{unknown[0]}.versionId", "is not a version of this resource")
    for arm in arms:
        editor.require_published_blocks(versions[arm.version_id].config)
    arm_members = [{"name": arm.name, "versionId": arm.version_id, "weight": arm.weight} for arm in arms]
    rollout = {"id": new_id(), "seed": new_id(), "bucketBy": path, "arms": arm_members, "state": "running"}
    rollout |= {"resource": dict(reference), "workspaceId": resource.workspace}
    rollout |= {"startedBy": editor.username, "startedAt": now(), "endedAt": None, "reason": None}
    editor.rollouts.insert(0, (resource, rollout))
    editor.record_rollout("started", resource, rollout)
    return Answer(rollout, status=201)


def _answer_rollout(editor: Editor, request: Request, rollout_id: str, rest: list[str]) -> Answer:
    resource, rollout = next((row for row in editor.rollouts if row[1]["id"] == rollout_id), (None, {}))
    if resource is None:
        raise not_found()
    if request.method != "GET" and rollout["state"] != "running":
        message = f"This rollout is {rollout['state']} and can no longer be changed."
        raise Refused(409, "rollout_ended", message)
    match request.method, *rest:
        case ("GET",):
            pass
        case ("PATCH",):
            [changes], before = members(request.body, "arms"), _build_arms(rollout)
            after = reweight_arms(before, [(arm["name"], arm["weight"]) for arm in changes])
            for arm in [new for old, new in zip(before, after, strict=True) if new.weight > old.weight]:
                editor.require_published_blocks(resource.version(arm.version_id).config)
            if after != before:
                weights = {arm.name: arm.weight for arm in after}
                rollout["arms"] = [{**arm, "weight": weights[arm["name"]]} for arm in rollout["arms"]]
                editor.record_rollout("changed", resource, rollout)
        case "POST", "stop":
            reason = request.body.get("reason", "").strip() or None
            rollout |= {"state": "stopped", "reason": reason, "endedAt": now()}
            editor.record_rollout("stopped", resource, rollout)
        case "POST", "complete":
            [name] = members(request.body, "arm")
            version_id = next((arm["versionId"] for arm in rollout["arms"] if arm["name"] == name), None)
            if version_id is None:
                raise Invalid.field("arm", "is not an arm of this rollout")
            version = resource.version(version_id)
            editor.require_published_blocks(version.config)
            rollout |= {"state": "completed", "endedAt": now()}
            editor.record_rollout("completed", resource, rollout, arm=name)
            editor.publish(resource, version, request.body, rolloutId=rollout["id"])
        case _:
            raise not_done(f"{request.method} /{'/'.join(request.names)}")
    return Answer(rollout)


def _give_feedback(editor: Editor, request: Request) -> Answer:
    own: Json = {"runId": None, "externalId": None, "comment": "", "versionId": None, "arm": None}
    members(request.body, "name", "value", more=(*own, "resource"))
    row = {**own, **request.body}
    reference = row.pop("resource", None)
    if row["runId"] is None:
        resource = editor.resolve(*members(request.body, "resource"))
    elif row["runId"] not in editor.served:
        raise not_found()
    else:
        served = editor.served[row["runId"]]
        called, *_ = served
        if editor.find(*called) is not served[called][0]:  # a later agent with its id
            raise not_found()
        kind, resource_id = members(reference, "kind", "id") if reference else called
        resource = editor.find(kind, resource_id)
        served_resource, row["versionId"], row["arm"] = served.get((kind, resource_id), (None, None, None))
        if resource is not served_resource:
            raise Invalid.field("resource", "took no part in this run")
    for earlier in resource.feedback:
        if row["externalId"] is not None and earlier["externalId"] == row["externalId"]:
            return Answer(earlier)
    resource.feedback.insert(0, {"id": new_id(), **row, "createdAt": now()})
    return Answer(resource.feedback[0], status=201)


class FakeEditor(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """An editor in memory, for tests of applications: one workspace, and one person with all rights.

    It supports the run-time features of applications: agents and prompt blocks with versions and labels,
    request contexts, rollouts, runs, usage, feedback and the log. It returns the server's status codes and
    bodies for errors, has no rights, and does not check the contents of fields. It answers other requests
    with 501 and an explanation; `versioning.testing.live_editor` of the server's distribution is a real
    editor.

    workspace, username   what records and events name
    generate              answers the runs of agents, given the agent and the body; by default the rule of
                          the echo model does
    api_prefix            as the client's

    Any key is accepted, but one is required. Several clients, of threads and of event loops, can share an
    editor. Each editor is a separate installation. While `is_down` is set, it does not answer.
    """

    def __init__(
        self,
        *,
        workspace: str = "default",
        username: str = "tester",
        generate: Generate | None = None,
        api_prefix: str = "/api",
    ) -> None:
        self._editor = Editor(workspace, username, generate or echo)
        self._prefix = "/" + api_prefix.strip("/")
        self.is_down = False
        self._lock = RLock()
        self._rights = f"{secrets.token_hex(8)}-all"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of a blocking client."""
        return self._response(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of an awaiting client."""
        return self._response(request, await request.aread())

    def _response(self, request: httpx2.Request, content: bytes) -> httpx2.Response:
        # The library of the application's client, which may be httpx.
        library = next(library for library in http_libraries() if isinstance(request, library.Request))
        if self.is_down:
            raise library.ConnectError("the editor is down", request=request)
        response: type[httpx2.Response] = library.Response
        try:
            with self._lock:
                answer = self._answer(request, content)
        except (AttributeError, LookupError, TypeError, ValueError) as problem:
            # Requests that a real editor refuses before processing.
            refusal = not_done(f"checking the content of a field, where it met {problem!r}")
            return response(refusal.status, json=refusal.body)
        except Refused as refusal:
            return response(refusal.status, json=refusal.body)
        except VersioningError as error:
            return response(400, json={"error": error.message, "code": error.code, **error.details()})
        if answer.is_stream:
            events = "".join(f"data: {event}\n\n" for event in [*map(json.dumps, answer.content), "[DONE]"])
            return response(200, text=events, headers={"Content-Type": "text/event-stream"})
        etag = answer.etag or hashlib.sha256(canonical.dump(answer.content).encode()).hexdigest()[:32]
        headers = {"ETag": f'"{etag}"', "Editor-Rights": self._rights}
        if request.method == "GET" and headers["ETag"] in request.headers.get("If-None-Match", ""):
            return response(304, headers=headers)
        return response(answer.status, json=answer.content, headers=headers)

    def _answer(self, request: httpx2.Request, content: bytes) -> Answer:
        path, _, raw_query = request.url.raw_path.decode().partition("?")
        authorization = request.headers.get("Authorization", "")
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Refused(401, "unauthorized", why_no_key(authorization))
        segments = path.removeprefix(self._prefix).strip("/").split("/")
        body = canonical.parse(content) if content else {}
        if not isinstance(body, dict):
            raise Invalid.field("body", "must be a JSON object")
        self._editor.key_prefix = key[:11]
        query, if_match = dict(parse_qsl(raw_query, keep_blank_values=True)), request.headers.get("If-Match")
        api_request = Request(request.method, tuple(map(unquote, segments)), query, body, if_match)
        answer = answer_request(self._editor, api_request)
        for name in api_request.query.keys() - {PARAMETER}:
            raise not_done(f"the parameter {name!r} of {request.method} {path}")
        return answer
