"""Stored agents: results, arguments and methods."""

from __future__ import annotations

from typing import Literal, Self, Unpack

from editor_client.calls import Base, Call
from editor_client.manage.records import (
    Created,
    Diff,
    Filters,
    Record,
    Saved,
    Version,
)
from editor_client.manage.shapes import AgentArguments, AgentFields
from editor_client.manage.stored import Kind, Stored, creation, edit
from editor_client.methods import D_co, Driver, iterating, method
from editor_client.pages import Page, listing
from editor_client.result import Result, with_json_names

Visibility = Literal["private", "public"]


class AgentRecord(Record, AgentFields):
    """A stored agent."""

    visibility: Literal["private", "public"] | None = None


class AgentVersion(Version, AgentFields):
    """A version of a stored agent."""

    agent_id: str


class AgentPage(Page[AgentRecord]):
    """A page of stored agents."""

    agents: tuple[AgentRecord, ...]


class AgentVersionPage(Page[AgentVersion]):
    """A page of the versions of an agent, newest first."""

    versions: tuple[AgentVersion, ...]


class AgentComparison(Result):
    """Two versions of an agent, and the fields in which they differ."""

    diffs: tuple[Diff, ...]
    from_version: AgentVersion
    to_version: AgentVersion


class AgentChanges(AgentArguments, Saved, total=False):
    """An edit of an agent."""

    visibility: Visibility


class NewAgent(AgentChanges, Created, total=False):
    """A new agent; name and instructions are required unless code defines it."""


class AgentFilters(Filters, total=False):
    """The filters and the order of a list of stored agents."""

    visibility: Visibility


AGENTS = Kind(
    "agent", "agents", "instructions", AgentRecord, AgentPage, AgentVersion, AgentVersionPage, AgentComparison
)


class StoredAgent(Stored[D_co, AgentRecord, AgentVersion, AgentVersionPage, AgentComparison]):
    """A stored agent, by id."""

    def __init__(self, client: D_co, agent_id: str) -> None:
        super().__init__(client, AGENTS, agent_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[AgentChanges]) -> Call[AgentRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)


class StoredAgentMethods(Driver):
    """The methods of a client for stored agents."""

    @method
    def list_stored_agents(self, **filters: Unpack[AgentFilters]) -> Call[AgentPage]:
        """List the stored agents that the key may read, newest first; the published ones by default."""
        return listing("/stored/agents", AgentPage, filters)

    iter_stored_agents = iterating(list_stored_agents)

    @method
    def create_stored_agent(self, **fields: Unpack[NewAgent]) -> Call[AgentRecord]:
        """Create an agent; by default it is published at once if the key may publish."""
        return creation(AGENTS, with_json_names(fields))

    def get_stored_agent(self, agent_id: str) -> StoredAgent[Self]:
        """Return a stored agent; no request is sent yet."""
        return StoredAgent(self, agent_id)
