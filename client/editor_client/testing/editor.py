"""Changes of stored resources in the editor in memory, by the rules of `editor_client.shared`."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from editor_client.manage.stored_agents import AGENTS
from editor_client.shared import canonical
from editor_client.shared.configurations import (
    EDIT_MESSAGE,
    INITIAL_MESSAGE,
    Config,
    changed_fields,
    check_id,
    id_of_new,
    merged_metadata,
    message_or,
)
from editor_client.testing.log import Log
from editor_client.testing.object_lists import Row
from editor_client.testing.protocol import Json, Refused, not_found
from editor_client.testing.resources import (
    AnyKind,
    Resource,
    Version,
    edited,
    now,
    require_published_blocks,
    visibility_in,
)
from editor_client.testing.rollouts import SUMS, Served, end, rollout_running

Body = Mapping[str, Any]
Generate = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Returns the text of a run's answer, given an agent as in `GET /agents/:id` and the body of the run."""
Score = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
"""Returns what a scorer says, given its configuration and the body of the request."""
NO_OPTIONS: Final[Body] = {}
Check = Callable[["Editor", Resource, Config, Body], None]
"""Raises a refusal unless a configuration of a resource may go live; the body may have options for it."""
CHECKS: Final[list[Check]] = [
    lambda editor, _resource, config, _body: require_published_blocks(editor, config)
]
PUBLISHED: Final[list[Callable[[Editor], object]]] = []
"""Are called after a version was published."""


class Editor:
    """Resources of one workspace, the log, and one person with all rights."""

    def __init__(self, workspace: str, username: str, generate: Generate, score: Score) -> None:
        self.workspace = workspace
        self.username = username
        self.generate = generate
        self.score = score
        self.key_prefix = ""
        """The prefix of the key for the next change."""
        self.secret = uuid.uuid4().hex
        """The key that signs its locks."""
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        """The objects of each `Collection`, and the usage, by path."""
        self.served: dict[str, Served] = {}
        """What each run served."""
        self.log = Log()
        self._resources: dict[tuple[str, str], Resource] = {}

    def find(self, kind: AnyKind, resource_id: str) -> Resource:
        """Return a resource; raises `Refused` if there is none."""
        return self.named(kind.slug, resource_id)

    def get(self, kind: AnyKind, resource_id: str) -> Resource | None:
        """Return a resource, or None."""
        return self._resources.get((kind.slug, resource_id))

    def active(self, kind: AnyKind, resource_id: str) -> Version | None:
        """Return the published version of a resource, or None."""
        found = self.get(kind, resource_id)
        return found.active if found else None

    def named(self, slug: str, resource_id: str) -> Resource:
        """Return a resource by the name of its kind; raises `Refused` if there is none."""
        found = self._resources.get((slug, resource_id))
        if found is None:
            raise not_found()
        return found

    def all(self, kind: AnyKind) -> list[Resource]:
        """Return all resources of a kind, newest first."""
        return [one for one in reversed(self._resources.values()) if one.kind is kind]

    # Changes

    def require(self, resource: Resource, config: Config, options: Body) -> None:
        """Raise a refusal unless a configuration may go live."""
        for check in CHECKS:
            check(self, resource, config, options)

    def create(self, kind: AnyKind, body: Body) -> Resource:
        """Create a resource with its first version."""
        config = edited(kind, {}, body, "id", "workspaceId")
        given = str(body["id"]) if "id" in body else None
        resource_id = id_of_new(given, body)
        check_id(resource_id, given=given)
        if body.get("workspaceId", self.workspace) != self.workspace:
            sentence = f"You may not save drafts in the workspace {body['workspaceId']!r}."
            raise Refused(403, "forbidden", sentence)
        if self.get(kind, resource_id) is not None:
            raise Refused(409, "id_taken", f"The id {resource_id!r} is taken.")
        publishes = body.get("autoPublish", kind is AGENTS)
        resource = Resource(
            kind=kind,
            id=resource_id,
            workspace=self.workspace,
            author=self.username,
            visibility=visibility_in(body) or "private",
            metadata=merged_metadata({}, body.get("metadata")),
        )
        message = message_or(INITIAL_MESSAGE, body.get("changeMessage"))
        version = resource.append(config, changed_fields(kind.names, {}, config), message)
        if publishes:
            self.require(resource, config, body)
        self._resources[kind.slug, resource_id] = resource
        self.record("created", resource, version)
        if publishes:
            self.publish(resource, version, body)
        return resource

    def edit(self, resource: Resource, body: Body) -> None:
        """Save an edit, as a draft unless `autoPublish` is true."""
        config = edited(resource.kind, resource.latest.config, body)
        message = message_or(EDIT_MESSAGE, body.get("changeMessage"))
        if body.get("autoPublish"):
            self.require(resource, config, body)
            if self._changed(resource, config) or resource.latest is not resource.active:
                self._refuse_running(resource, body, publishing=True)
        self._edit_record(resource, body)
        if self._changed(resource, config):
            self.append(resource, config, message)
        if body.get("autoPublish"):
            self.publish(resource, resource.latest, body)

    def _edit_record(self, resource: Resource, body: Body) -> None:
        detail: Json = {"fields": []}
        metadata = merged_metadata(resource.metadata, body.get("metadata", {}))
        if not canonical.same(metadata, resource.metadata):
            resource.metadata = metadata
            detail["fields"].append("metadata")
        visibility = visibility_in(body) or resource.visibility
        if visibility != resource.visibility:
            detail |= {"from": resource.visibility, "to": visibility}
            detail["fields"].append("visibility")
            resource.visibility = visibility
        if detail["fields"]:
            resource.touch()
            self.record("updated", resource, detail=detail)

    def append(self, resource: Resource, config: Config, message: str, **detail: Any) -> Version:
        """Add a draft."""
        changed = self._changed(resource, config)
        version = resource.append(config, changed, message)
        self.record("versionCreated", resource, version, detail={"changedFields": changed, **detail})
        return version

    def publish(
        self, resource: Resource, version: Version, options: Body = NO_OPTIONS, **detail: Any
    ) -> None:
        """Publish a version, unless a check refuses."""
        if version is resource.active:
            return
        self.require(resource, version.config, options)
        self.end_rollout(resource, options, publishing=True)
        previous = id_of(resource.active)
        self.record("published", resource, version, previousVersionId=previous, detail=detail)
        resource.active, resource.published_at = version, now()
        resource.were_live.add(canonical.digest(version.config))
        resource.touch()
        for note in PUBLISHED:
            note(self)

    def discard(self, resource: Resource) -> None:
        """Forget a resource, with what is about it."""
        for rows in self.rows.values():
            rows[:] = [row for row in rows if row.about is not resource]
        del self._resources[resource.kind.slug, resource.id]

    def _changed(self, resource: Resource, config: Config) -> list[str]:
        return changed_fields(resource.kind.names, resource.latest.config, config)

    # Rollouts and usage

    def running(self, resource: Resource) -> Json | None:
        """Return the running rollout of a resource, if any."""
        found = (row.content for row in self.rows["/rollouts"] if row.about is resource)
        return next((one for one in found if one["state"] == "running"), None)

    def end_rollout(self, resource: Resource, options: Body, *, publishing: bool = False) -> None:
        """Stop the running rollout if the request allows it; otherwise raises `Refused`."""
        running = self._refuse_running(resource, options, publishing=publishing)
        if running is not None:
            end(running, "stopped")
            self.record_rollout("stopped", resource, running)

    def _refuse_running(self, resource: Resource, options: Body, *, publishing: bool) -> Json | None:
        running = self.running(resource)
        if running is not None and options.get("endRollout") not in {True, "true"}:
            raise rollout_running(publishing=publishing)
        return running

    def record_rollout(self, what: str, resource: Resource, rollout: Json, **detail: Any) -> None:
        """Record a change of a rollout in the log."""
        weights = {arm["name"]: arm["weight"] for arm in rollout["arms"]}
        about = {"rolloutId": rollout["id"], "weights": weights, **detail}
        self.record(what, resource, subject="rollout", detail=about)

    def count(self, resource: Resource, version_id: str | None, arm: str | None, used: Body) -> None:
        """Count the usage of a version."""
        key = {"versionId": version_id, "arm": arm}
        row = next((row for row in self.rows["/usage"] if row.about is resource and row.matches(key)), None)
        if row is None:
            row = Row({**key, **dict.fromkeys(SUMS, 0), "firstUsedAt": now()}, resource)
            self.rows["/usage"].append(row)
        row.content |= {name: row.content[name] + used.get(name, 0) for name in SUMS}
        row.content["lastUsedAt"] = now()

    def record(
        self,
        what: str,
        resource: Resource,
        version: Version | None = None,
        *,
        subject: str | None = None,
        **about: Any,
    ) -> None:
        """Record a change in the log."""
        self.log.add(
            {
                "type": f"{subject or resource.kind.slug}.{what}",
                "workspaceId": resource.workspace,
                "resource": resource.reference,
                "versionId": id_of(version),
                "versionNumber": version and version.number,
                "actor": {"id": self.username, "via": "api", "keyPrefix": self.key_prefix},
                **about,
            }
        )


def id_of(version: Version | None) -> str | None:
    """Return the id of a version, if there is one."""
    return version.id if version else None
