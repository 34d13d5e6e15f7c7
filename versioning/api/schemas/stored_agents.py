"""Stored agents, and overrides of agents that code defines."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict

from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source
from versioning.api.schemas.common import PageOf
from versioning.api.schemas.records import Created, Export, HasVisibility, Record, Saved
from versioning.api.schemas.versions import Comparison, VersionRecord
from versioning.domain import fields
from versioning.domain.fields import UNCHANGED, NotBlank


class AgentCreate(fields.AgentConfig, Created, HasVisibility):
    """A new agent."""


class OverrideFields(fields.AgentFields):
    """An override requires nothing, so that everything in it can be cleared."""

    name: NotBlank | None = None  # type: ignore[assignment]
    instructions: fields.Instructions | None = None  # type: ignore[assignment]


class OverrideCreate(OverrideFields, Created, HasVisibility):
    """A new override of an agent that code defines."""


class OverrideUpdate(OverrideFields, Saved, HasVisibility):
    """An edit of an override."""


class AgentUpdate(fields.AgentFields, Saved, HasVisibility):
    """An edit of an agent."""


class AgentToExport(OverrideFields, RequestSchema):
    """The fields of an agent to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")


class ChangeRequest(fields.AgentFields, RequestSchema):
    """The body of a change request: the fields to propose, and why."""

    change_message: str | None = None
    inspect_only: bool = UNCHANGED


class ChangeRequestAnswer(ResponseSchema):
    """A change that is proposed to a repository."""

    url: str
    ref: str
    id: str | None


class AgentRecord(Record, fields.AgentFields):
    """A stored agent."""

    visibility: fields.Visibility


class AgentPage(PageOf):
    """A page of stored agents."""

    agents: Annotated[list[AgentRecord], Source("items")]


class AgentExport(Export):
    """An agent's configuration as a file."""

    agent_id: Annotated[str, Source("resource_id")]


class AgentVersionRecord(VersionRecord, fields.AgentFields):
    """A version of an agent."""

    agent_id: Annotated[str, Source("resource.pk")]


class AgentVersionPage(PageOf):
    """A page of versions of an agent."""

    versions: Annotated[list[AgentVersionRecord], Source("items")]


class AgentComparison(Comparison):
    """Two versions of an agent."""

    from_version: AgentVersionRecord
    to_version: AgentVersionRecord
