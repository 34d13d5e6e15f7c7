"""Plan an import: compare it with the editor, and let the server check it without changing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from editor_client.calls import SEGMENTS
from editor_client.errors import (
    Conflict,
    EditorError,
    Forbidden,
    NotFound,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)
from editor_client.manage.stored import KINDS, creation_check
from editor_client.shared import canonical, dataset_items, ids
from editor_client.shared.clipping import clip
from editor_client.shared.errors import Issue
from editor_client.shared.instructions import placeholders, referenced_blocks, split
from editor_client.sync import Client
from editor_client.transfer.folder import Place, Remote, fetch
from editor_client.transfer.importing.collection import (
    Collection,
    Config,
    Dataset,
    Resource,
    Snapshot,
    Unreadable,
    excerpt,
    id_problem,
)
from editor_client.transfer.importing.datasets import plan_dataset
from editor_client.transfer.importing.documents import is_address
from editor_client.transfer.importing.scorers import TO_BE_FILLED_IN, function_name

REFUSED: Final = "refused"
_NEEDED: Final = frozenset({"name", "instructions", "content", "type"})
"""Fields that a resource must not lose."""


class Refusal(NamedTuple):
    """Why a resource cannot be made, even without its optional fields."""

    action: str
    reason: str


@dataclass
class Judge:
    """Checks resources by the verb that would create them; nothing is stored."""

    client: Client
    collection: Collection
    workspace_id: str
    filled_in: set[str] = field(default_factory=set)
    """The ids of scorers that became code scorers because the server refuses them otherwise."""
    _is_allowed: bool = field(default=True, init=False)

    def mend(self, resource: Resource, *, is_there: bool) -> tuple[Resource, Refusal | None]:
        """Return a resource in the form that the server accepts, with each change noted, or a refusal.

        `is_there` is whether the id is known to be taken.
        """
        for place in range(len(resource.snapshots)):
            for _ in range(len(resource.snapshots[place].config) + 1):
                issues, refusal = self._problems(resource, resource.snapshots[place], is_there=is_there)
                if refusal is not None:
                    return resource, refusal
                if not issues:
                    break
                changed = self._without(resource, place, issues)
                if changed is None:
                    return resource, Refusal(REFUSED, "; ".join(f"{i.field} {i.message}" for i in issues))
                resource = changed
        return resource, None

    def _problems(
        self, resource: Resource, snapshot: Snapshot, *, is_there: bool
    ) -> tuple[list[Issue], Refusal | None]:
        """Return the fields of a version that the server refuses, or why the id is unavailable."""
        if not self._is_allowed:
            return [], None
        fields = {
            **snapshot.config,
            "id": resource.id,
            "workspaceId": self.workspace_id,
            "changeMessage": snapshot.message,
            "metadata": build_metadata(resource),
            "autoPublish": False,
        }
        try:
            self.client.perform(creation_check(KINDS[SEGMENTS[resource.kind]], fields))
        except ValidationFailed as error:
            return list(error.issues) or [Issue("body", error.message)], None
        except Conflict:  # the id is checked last: everything else can be saved
            id_conflict = Refusal(
                "conflict", "The id is taken by something that you may not read; choose a --prefix."
            )
            return [], None if is_there else id_conflict
        except Forbidden as error:
            self._is_allowed = False
            self.collection.lose(
                "forbidden", resource.name, f"This key cannot apply the plan: {error.message}"
            )
        except (Unauthorized, Unreachable):
            raise
        except EditorError as error:
            return [], Refusal(REFUSED, str(error))
        return [], None

    def _without(self, resource: Resource, place: int, issues: list[Issue]) -> Resource | None:
        """Return a resource without the refused fields; None if none of them is optional."""
        snapshot = resource.snapshots[place]
        names = {issue.field.partition(".")[0] for issue in issues}
        if resource.kind == "scorer" and "config" in names:
            return self._to_be_filled_in(resource, snapshot, issues)
        fields = {name for name in names if name in snapshot.config and name not in _NEEDED}
        if "metadata" in names and resource.extra:
            lost = "; ".join(issue.message for issue in issues if issue.field.startswith("metadata"))
            self.collection.lose(REFUSED, resource.name, f"metadata.import is left out: {lost}.")
            return replace(resource, extra={})
        if not fields or not names <= fields:
            return None
        refused_values = {name: snapshot.config[name] for name in sorted(fields)}
        for issue in issues:
            lost = f"{excerpt(issue.field)} is refused: it {issue.message}. metadata.import has it."
            self.collection.lose(REFUSED, resource.name, lost)
        config = {name: value for name, value in snapshot.config.items() if name not in fields}
        refused = {**resource.extra.get(REFUSED, {}), **refused_values}
        extra = self.collection.fitting({**resource.extra, REFUSED: refused}, resource.name)
        return _with_config(resource, place, config, extra)

    def _to_be_filled_in(self, resource: Resource, snapshot: Snapshot, issues: list[Issue]) -> Resource:
        """Return a `code` scorer to replace one that the server refuses."""
        name = function_name(resource.name)
        reasons = "; ".join(f"{issue.field.removeprefix('config.')} {issue.message}" for issue in issues)
        instead = f"a code scorer stands in its place; register the function {name!r}"
        message = f"It is refused ({excerpt(reasons)}): {instead}."
        self.collection.lose(TO_BE_FILLED_IN, resource.name, message)
        self.filled_in.add(resource.id)
        source = {key: value for key, value in snapshot.config.items() if key != "name"}
        config: Config = {"name": snapshot.config["name"], "type": "code", "config": {"name": name}}
        extra = self.collection.fitting({REFUSED: source, **resource.extra}, resource.name)
        return _with_config(resource, 0, config, extra)


def build_metadata(resource: Resource) -> dict[str, Any]:
    """Return the metadata of a new resource, besides its origin."""
    metadata: dict[str, Any] = {"import": dict(resource.extra)} if resource.extra else {}
    if resource.tags:
        metadata["tags"] = list(resource.tags)
    return metadata


def _with_config(resource: Resource, place: int, config: Config, extra: Mapping[str, Any]) -> Resource:
    snapshots = list(resource.snapshots)
    snapshots[place] = replace(snapshots[place], config=config)
    return replace(resource, snapshots=snapshots, extra=extra)


FORMAT: Final = "editor-import-plan/1"
ORDER: Final = ("scorer", "promptBlock", "agent")
"""The order of kinds: referenced ones are made first."""
UNMADE: Final = frozenset({"conflict", "refused"})
"""The actions that make nothing although the resource is missing."""
Action = dict[str, Any]


def make_plan(
    client: Client, collection: Collection, *, path: str, workspace: str | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Return the plan as JSON: resources to make, equal ones, and every loss.

    `prefix` is put before all ids and before the names of datasets. The server checks new resources as on
    creation. Raises `Unreadable` if the workspace is ambiguous, or an id is invalid or repeated.
    """
    names = Counter(f"{resource.kind} {resource.id}" for resource in collection.resources)
    names.update(f"dataset {dataset.name}" for dataset in collection.datasets)
    duplicate = next((name for name, count in names.items() if count > 1), None)
    if duplicate is not None:
        raise Unreadable(f"Two in the source would be the {excerpt(duplicate)}: import them one by one.")
    workspace_id = workspace
    if not workspace_id:
        workspaces = [entry.id for entry in client.me().workspaces]
        if len(workspaces) != 1:
            reached_ids = ", ".join(workspaces) or "none by membership"
            raise Unreadable(f"--workspace is required: the key reaches {reached_ids}.")
        [workspace_id] = workspaces
    judge = Judge(client, collection, workspace_id)
    resources = sorted(_add_prefix(collection, prefix), key=lambda resource: ORDER.index(resource.kind))
    actions: list[Action] = []
    for resource in resources:
        action = _plan_resource(client, resource, judge)
        referenced_ids = {
            target for version in action["versions"] for _, target in referenced_blocks(version["config"])
        }
        taken_ids = {
            earlier["id"]
            for earlier in actions
            if earlier["kind"] == "promptBlock"
            and earlier["action"] in UNMADE
            and earlier["id"] in referenced_ids
        }
        if taken_ids and action["action"] in {"create", "update"}:
            # The id of a block that is not made belongs to another resource.
            reason = f"It refers to {excerpt(min(taken_ids))}, whose id is taken; choose a --prefix."
            conflict: Action = {"versions": [], "published": None, "action": "conflict", "reason": reason}
            action = {**action, **conflict}
        actions.append(action)
    unmade = {action["id"] for action in actions if action["kind"] == "scorer" and action["action"] in UNMADE}
    source = canonical.digest(path if is_address(path) else Path(path).resolve().as_posix())[:16]
    datasets = [
        plan_dataset(
            client,
            _dataset(dataset, prefix, collection, unmade, judge.filled_in),
            collection,
            workspace_id,
            source,
        )
        for dataset in collection.datasets
    ]
    plan = {
        "format": FORMAT,
        "source": {"system": collection.system, "path": path},
        "workspaceId": workspace_id,
        "resources": actions,
        "datasets": datasets,
        "losses": [loss.as_dict() for loss in collection.all_losses()],
    }
    return {**plan, "planDigest": canonical.digest(plan)}


def check_plan(plan: Any) -> Mapping[str, Any]:
    """Return an unchanged plan; raises `Unreadable` for anything else."""
    if not isinstance(plan, dict) or plan.get("format") != FORMAT:
        raise Unreadable(f"This is no plan of the form {FORMAT}.")
    content = {name: value for name, value in plan.items() if name != "planDigest"}
    lists = ("resources", "datasets", "losses")
    if not all(isinstance(plan.get(name), list) for name in lists):
        raise Unreadable("The plan lacks its lists of resources, datasets and losses.")
    if plan.get("planDigest") != canonical.digest(content):
        raise Unreadable("The plan was changed after it was made: its planDigest does not fit. Plan again.")
    return plan


def build_origin(system: str, name: str, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Return `metadata.origin` for a version: its system, name and number, and the digest of its content."""
    number = snapshot.get("version")
    digest = canonical.digest(snapshot["config"])
    return {"system": system, "name": name, "version": number, "digest": digest}


def _add_prefix(collection: Collection, prefix: str) -> Iterable[Resource]:
    for resource in collection.resources:
        resource_id = prefix + resource.id
        if problem := id_problem(resource_id):
            raise Unreadable(f"The id {excerpt(resource_id)!r} is not valid: {problem}.")
        snapshots = [
            Snapshot(**{**vars(snapshot), "config": _referring(snapshot.config, prefix)})
            for snapshot in resource.snapshots
        ]
        yield Resource(**{**vars(resource), "id": resource_id, "snapshots": snapshots})


def _referring(config: Config, prefix: str) -> Config:
    instructions = config.get("instructions")
    if isinstance(instructions, list):
        blocks = [
            {**block, "id": prefix + block["id"]} if block["type"] == "prompt_block_ref" else block
            for block in instructions
        ]
        return {**config, "instructions": blocks}
    return config


def _dataset(
    dataset: Dataset, prefix: str, collection: Collection, unmade: set[str], filled_in: set[str]
) -> Dataset:
    """Return a dataset with the prefix, without scorers that are not made, and with a valid name.

    Scorers to be filled in are not among those of all its items.
    """
    name = dataset_items.composed_name(prefix + dataset.name)
    if problem := dataset_items.name_problem(name):
        name = f"{clip(name, 180).strip()}-{canonical.digest(name)[:8]}"
        message = f"The name {excerpt(dataset.name)!r} {problem}: it is now {excerpt(name)!r}."
        collection.lose("name", dataset.name, message)
    scorer_ids = {
        *dataset.scorer_ids,
        *(scorer for item in dataset.items for scorer in item.get("scorerIds", ())),
    }
    for scorer_id in sorted(unmade & {prefix + scorer for scorer in scorer_ids}):
        message = f"The scorer {excerpt(scorer_id)} is not made: the dataset does without it."
        collection.lose("scorer", dataset.name, message)
    scorers = [prefix + scorer_id for scorer_id in dataset.scorer_ids]
    return replace(
        dataset,
        stored_name=name,
        scorer_ids=[scorer for scorer in scorers if scorer not in unmade | filled_in],
        agent_ids=[prefix + agent_id for agent_id in dataset.agent_ids],
        items=[_scored_with(item, prefix, unmade) for item in dataset.items],
    )


def _scored_with(item: Mapping[str, Any], prefix: str, unmade: set[str]) -> Mapping[str, Any]:
    if "scorerIds" not in item:
        return item
    scorer_ids = [prefix + scorer_id for scorer_id in item["scorerIds"] if prefix + scorer_id not in unmade]
    rest = {name: value for name, value in item.items() if name != "scorerIds"}
    return {**rest, "scorerIds": scorer_ids} if scorer_ids else rest


def _plan_resource(client: Client, resource: Resource, judge: Judge) -> Action:
    remote = fetch(client, Place(SEGMENTS[resource.kind], resource.id))
    collection = judge.collection
    reason, first, versions = (
        _taken(client, resource, remote, judge.workspace_id),
        0,
        _versions(resource, collection),
    )
    action = "conflict"
    if not reason:
        action, reason, first = _decision(resource, collection.system, remote, versions)
    if action in {"create", "update"}:
        resource, refusal = judge.mend(resource, is_there=remote is not None)
        versions = _versions(resource, collection)
        action, reason, first = _decision(resource, collection.system, remote, versions)
        if refusal is not None and action in {"create", "update"}:
            action, reason, first = refusal.action, refusal.reason, 0
    metadata = build_metadata(resource)
    changes = action in {"create", "update"}
    published = None if resource.published is None or not changes else versions[resource.published]
    return {
        "action": action,
        "kind": resource.kind,
        "id": resource.id,
        "name": resource.name,
        **({"reason": reason} if reason else {}),
        "latestVersionId": None if remote is None else remote.record.latest_version_id,
        "metadata": metadata,
        "versions": versions[first:] if changes else [],
        "published": published,
    }


def _versions(resource: Resource, collection: Collection) -> list[dict[str, Any]]:
    return [
        {"version": snapshot.number, "config": snapshot.config, "changeMessage": snapshot.message}
        | ({"labels": labels} if (labels := _labels(snapshot, resource, collection)) else {})
        for snapshot in resource.snapshots
    ]


def _labels(snapshot: Snapshot, resource: Resource, collection: Collection) -> list[str]:
    labels = []
    for label in snapshot.labels:
        if ids.label_problem(label) is None:
            labels.append(label)
        else:
            message = f"The label {excerpt(label)!r} is left out: {ids.label_problem(label)}."
            collection.lose("label", resource.name, message)
    return labels


def _decision(
    resource: Resource, system: str, remote: Remote | None, versions: Sequence[Mapping[str, Any]]
) -> tuple[str, str, int]:
    """Return the action, its reason, and the first version to make; `there` is in the import's workspace."""
    if remote is None:
        return "create", "", 0
    if canonical.same(
        _normalize_placeholders(remote.newest), _normalize_placeholders(versions[-1]["config"])
    ):
        return "unchanged", "", 0
    origin = remote.record.metadata.get("origin")
    if not isinstance(origin, dict) or (origin.get("system"), origin.get("name")) != (system, resource.name):
        return "conflict", "The id is taken by something of another origin; choose a --prefix.", 0
    if origin == build_origin(system, resource.name, versions[-1]):
        return "unchanged", "It was changed here since it was imported.", 0
    numbers = [version["version"] for version in versions]
    imported_count = numbers.index(origin.get("version")) + 1 if origin.get("version") in numbers else 0
    first = imported_count if 0 < imported_count < len(versions) else len(versions) - 1
    changed_here = canonical.digest(remote.newest) != origin.get("digest")
    return "update", "It was changed here, too; that stays in its history." if changed_here else "", first


def _normalize_placeholders(config: Config) -> Config:
    """Return a configuration with its placeholders in one spelling: `{{ name }}` becomes `{{name}}`."""
    spelled = dict(config)
    if isinstance(config.get("instructions"), list):
        spelled["instructions"] = [
            {**block, "content": _normalize_text(block["content"])} if "content" in block else block
            for block in config["instructions"]
        ]
    if "content" in config:
        spelled["content"] = _normalize_text(config["content"])
    return spelled


def _normalize_text(template: str) -> str:
    placeholder_names = placeholders(template)
    # No text contains NUL.
    return "".join(
        f"\0{canonical.dump(next(placeholder_names))}" if filled else text for text, filled in split(template)
    )


def _taken(client: Client, resource: Resource, remote: Remote | None, workspace_id: str) -> str:
    """Return why the id is not available in the workspace; empty if it is."""
    if remote is not None:
        elsewhere = remote.record.workspace_id != workspace_id
        return "The id is taken in another workspace; choose a --prefix." if elsewhere else ""
    if resource.kind == "agent":
        with suppress(NotFound):
            if client.get_agent(resource.id).details().source == "code":
                return "An agent of this id is defined in code; choose a --prefix."
    return ""
