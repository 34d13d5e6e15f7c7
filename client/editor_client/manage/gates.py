"""Gates, which ask for evidence before versions go live."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, query, reading
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.reads.log import Reference
from editor_client.result import Result, Success, with_json_names

GateBypass = Literal["admin", "nobody"]
GateState = Literal["missing", "running", "stale", "incomplete", "failed", "tooFew", "scorer_gone"]
ToolPolicy = Literal["deny", "allow"]
TooFew = Literal["refuse", "allow"]
Rule = Mapping[str, Any]


class GateRecord(Result):
    """What is asked of the versions of an agent, or of every agent of a workspace."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    """The agent; None for every agent of the workspace."""
    dataset_id: str
    scorer_ids: tuple[str, ...]
    primary_scorer: str
    attempts: int
    rules: tuple[Rule, ...]
    evidence_days: int
    request_context: Mapping[str, Any]
    """The request context in which items have to run."""
    tool_policy: ToolPolicy
    dataset_policy: int | Literal["latest"]
    """The version of the dataset that evidence is about; who may publish changes one that is followed."""
    too_few: TooFew
    bypass: GateBypass
    enabled: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime


class GatePage(Page[GateRecord]):
    """A page of gates."""

    gates: tuple[GateRecord, ...]


class GateJudgement(Result):
    """What a gate says of an agent."""

    gate_id: str
    resource: Reference
    state: GateState | None = None
    """Why it is not satisfied; None if it is."""
    rule: Rule | None = None
    """The rule that does not hold; None before one was asked."""
    experiment_id: str | None = None
    """The evidence, or what comes closest to it."""
    ok: bool


class GateCheck(Result):
    """What the gates say of a change."""

    ok: bool
    gates: tuple[GateJudgement, ...]
    hidden_gates: int
    """How many others, about agents that the caller may not read, are not satisfied."""


class StartedExperiments(Result):
    """The experiments that were started."""

    experiments: tuple[str, ...]
    """Their ids."""


class GateChanges(TypedDict, total=False):
    """The members of a gate that can be changed."""

    dataset_id: str
    scorer_ids: Iterable[str]
    primary_scorer: str
    attempts: int
    rules: Iterable[Rule]
    evidence_days: int
    request_context: Mapping[str, Any] | None
    tool_policy: ToolPolicy
    dataset_policy: int | Literal["latest"]
    too_few: TooFew
    bypass: GateBypass
    enabled: bool


class GateFilters(Paging, total=False):
    """The filters of a list of gates."""

    id: str
    """An agent: those about it."""
    workspace_id: str


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
    return with_json_names({name: list(one) if name in lists else one for name, one in given.items()})
