"""Gates, which ask for evidence before versions go live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

from editor_client.calls import Call, ResourceKind, query, reading
from editor_client.manage.shapes import (
    GateChanges,
    GateCheck,
    GateFilters,
    GatePage,
    GateRecord,
    StartedExperiments,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import Success, with_json_names


class Gate(ById[D_co, GateRecord]):
    """A gate, by id."""

    _address, _record = "/gates", GateRecord

    @method
    def update(self, **changes: Unpack[GateChanges]) -> Call[GateRecord]:
        """Change the gate; what is not named stays."""
        return Call.to("PATCH", self._path, self._read, body=_body(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the gate."""
        return Call.to("DELETE", self._path, reading(Success))


class GateMethods(Driver):
    """The methods of a client for gates."""

    @method
    def list_gates(self, **filters: Unpack[GateFilters]) -> Call[GatePage]:
        """List the gates of workspaces whose drafts the key may read, oldest first."""
        return listing("/gates", GatePage, filters)

    iter_gates = iterating(list_gates)

    @method
    def create_gate(
        self, agent_id: str | None = None, *, workspace_id: str | None = None, **fields: Unpack[GateChanges]
    ) -> Call[GateRecord]:
        """Ask for evidence before versions of an agent go live, or of every agent of a workspace.

        `dataset_id`, `scorer_ids` and `rules` are required: `rules=[{"rule": "notWorse"}]`.
        """
        resource = None if agent_id is None else {"kind": "agent", "id": agent_id}
        body = {"resource": resource, **_body(fields)}
        if workspace_id is not None:
            body["workspaceId"] = workspace_id
        return Call.to("POST", "/gates", reading(GateRecord), body=body)

    def get_gate(self, gate_id: str) -> Gate[Self]:
        """Return a gate; no request is sent yet."""
        return Gate(self, gate_id)

    @method
    def check_gates(
        self,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        *,
        version_id: str | None = None,
        release_id: str | None = None,
    ) -> Call[GateCheck]:
        """Ask the gates about a version, by default the latest, or about a release."""
        asked = query(kind=kind, id=resource_id, version_id=version_id, release=release_id)
        return Call.to("GET", "/gates/check", reading(GateCheck), query=asked)

    @method
    def run_gates(
        self,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        *,
        version_id: str | None = None,
        release_id: str | None = None,
    ) -> Call[StartedExperiments]:
        """Start the experiments whose results the gates lack, those of what is live included."""
        body: dict[str, Any] = {}
        if kind is not None and resource_id is not None:
            body["resource"] = {"kind": kind, "id": resource_id}
        if version_id is not None:
            body["versionId"] = version_id
        if release_id is not None:
            body["releaseId"] = release_id
        return Call.to("POST", "/gates/run", reading(StartedExperiments), body=body)


def _body(fields: GateChanges) -> dict[str, Any]:
    given: Mapping[str, Any] = fields
    lists = {"scorer_ids", "rules"}
    return with_json_names({name: list(value) if name in lists else value for name, value in given.items()})
