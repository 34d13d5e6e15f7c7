"""Ask the server whether what a plan would make can be saved, and mend what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from editor_client.calls import SEGMENTS
from editor_client.errors import Conflict, EditorError, Forbidden, Unauthorized, Unreachable, ValidationFailed
from editor_client.manage.kinds import KINDS
from editor_client.manage.stored import creation_check
from editor_client.shared.errors import Issue
from editor_client.sync import Client
from editor_client.transfer.importing.collection import Collection, Config, Resource, Snapshot, shown
from editor_client.transfer.importing.scorers import TO_BE_FILLED_IN, function_name

REFUSED: Final = "refused"
_NEEDED: Final = frozenset({"name", "instructions", "content", "type"})
"""Fields without which a resource is not what the source says."""


class Refusal(NamedTuple):
    """Why a resource cannot be made, even without the fields that it can do without."""

    action: str
    reason: str


@dataclass
class Judge:
    """Checks resources by the verb that would create them; nothing is stored."""

    client: Client
    collection: Collection
    workspace_id: str
    filled_in: set[str] = field(default_factory=set)
    """The ids of scorers that became code scorers, because the server refuses them as they were."""
    _is_allowed: bool = field(default=True, init=False)

    def mended(self, one: Resource, *, is_there: bool) -> tuple[Resource, Refusal | None]:
        """Return a resource as the server accepts it, each change noted; or why it accepts none of it.

        `is_there` is whether the id is known to be taken.
        """
        for place in range(len(one.snapshots)):
            for _ in range(len(one.snapshots[place].config) + 1):
                issues, refusal = self._problems(one, one.snapshots[place], is_there=is_there)
                if refusal is not None:
                    return one, refusal
                if not issues:
                    break
                changed = self._without(one, place, issues)
                if changed is None:
                    return one, Refusal(REFUSED, "; ".join(f"{i.field} {i.message}" for i in issues))
                one = changed
        return one, None

    def _problems(
        self, one: Resource, snapshot: Snapshot, *, is_there: bool
    ) -> tuple[list[Issue], Refusal | None]:
        """Return what the server refuses of a version, or why there is no resource of this id."""
        if not self._is_allowed:
            return [], None
        fields = {
            **snapshot.config,
            "id": one.id,
            "workspaceId": self.workspace_id,
            "changeMessage": snapshot.message,
            "metadata": metadata_of(one),
            "autoPublish": False,
        }
        try:
            self.client.perform(creation_check(KINDS[SEGMENTS[one.kind]], fields))
        except ValidationFailed as error:
            return list(error.issues) or [Issue("body", error.message)], None
        except Conflict:  # the id is checked last: everything else can be saved
            taken = Refusal(
                "conflict", "The id is taken by something that you may not read; choose a --prefix."
            )
            return [], None if is_there else taken
        except Forbidden as error:
            self._is_allowed = False
            self.collection.lose("forbidden", one.name, f"This key cannot apply the plan: {error.message}")
        except (Unauthorized, Unreachable):
            raise
        except EditorError as error:
            return [], Refusal(REFUSED, str(error))
        return [], None

    def _without(self, one: Resource, place: int, issues: list[Issue]) -> Resource | None:
        """Return a resource without what is refused; None if there is nothing that it can do without."""
        snapshot = one.snapshots[place]
        names = {issue.field.partition(".")[0] for issue in issues}
        if one.kind == "scorer" and "config" in names:
            return self._to_be_filled_in(one, snapshot, issues)
        fields = {name for name in names if name in snapshot.config and name not in _NEEDED}
        if "metadata" in names and one.extra:
            lost = "; ".join(issue.message for issue in issues if issue.field.startswith("metadata"))
            self.collection.lose(REFUSED, one.name, f"metadata.import is left out: {lost}.")
            return replace(one, extra={})
        if not fields or not names <= fields:
            return None
        kept = {name: snapshot.config[name] for name in sorted(fields)}
        for issue in issues:
            lost = f"{shown(issue.field)} is refused: it {issue.message}. metadata.import has it."
            self.collection.lose(REFUSED, one.name, lost)
        config = {name: value for name, value in snapshot.config.items() if name not in fields}
        refused = {**one.extra.get(REFUSED, {}), **kept}
        extra = self.collection.fitting({**one.extra, REFUSED: refused}, one.name)
        return _with_config(one, place, config, extra)

    def _to_be_filled_in(self, one: Resource, snapshot: Snapshot, issues: list[Issue]) -> Resource:
        """Return a `code` scorer in the place of one that the server refuses."""
        name = function_name(one.name)
        why = "; ".join(f"{issue.field.removeprefix('config.')} {issue.message}" for issue in issues)
        instead = f"a code scorer stands in its place; register the function {name!r}"
        message = f"It is refused ({shown(why)}): {instead}."
        self.collection.lose(TO_BE_FILLED_IN, one.name, message)
        self.filled_in.add(one.id)
        source = {key: value for key, value in snapshot.config.items() if key != "name"}
        config: Config = {"name": snapshot.config["name"], "type": "code", "config": {"name": name}}
        extra = self.collection.fitting({REFUSED: source, **one.extra}, one.name)
        return _with_config(one, 0, config, extra)


def metadata_of(one: Resource) -> dict[str, Any]:
    """Return the metadata with which a resource is made, besides its origin."""
    metadata: dict[str, Any] = {"import": dict(one.extra)} if one.extra else {}
    if one.tags:
        metadata["tags"] = list(one.tags)
    return metadata


def _with_config(one: Resource, place: int, config: Config, extra: Mapping[str, Any]) -> Resource:
    snapshots = list(one.snapshots)
    snapshots[place] = replace(snapshots[place], config=config)
    return replace(one, snapshots=snapshots, extra=extra)
