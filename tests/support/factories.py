"""Factories of rows of agents, prompt blocks and their versions, past the editor's verbs; of agents in code.

Those of people, workspaces, memberships and keys are in `versioning.testing`, for projects too. `build` makes
an object in memory, for `insert_rows`; calling a factory stores it. A test sets the values that it is about,
everything else has a harmless default. Tests of the API make resources over HTTP (`Kind.make`); the factories
of resources and versions are for rows by the thousand.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import factory
from editor_client.shared import canonical
from factory.django import DjangoModelFactory

from versioning import runtime
from versioning.domain.config import make_excerpt
from versioning.models import (
    Agent,
    AgentLabel,
    AgentVersion,
    PromptBlock,
    PromptBlockLabel,
    PromptBlockVersion,
)
from versioning.models.guarded import unguard

ECHO = {"provider": "echo", "name": "echo"}


# Resources and versions


def insert_rows(rows: Iterable[Any]) -> None:
    """Insert rows of one model with as few statements as possible, past the editor's verbs."""
    made = list(rows)
    unguard(type(made[0]).objects.all()).bulk_create(made)


class GuardedFactory(DjangoModelFactory[Any]):
    """A row that only verbs write."""

    class Meta:
        abstract = True

    @classmethod
    def _create(cls, model_class: type[Any], *args: Any, **columns: Any) -> Any:
        made = model_class(*args, **columns)
        insert_rows([made])
        return made


class VersionFactory(GuardedFactory):
    """A version as saving would make it, without its references; `more` is added to its configuration."""

    class Meta:
        abstract = True

    class Params:
        text_field = "instructions"
        more: Mapping[str, Any] = {}
        config = factory.LazyAttribute(
            lambda made: {
                "name": "Writer",
                made.text_field: f"text {made.number} of {made.resource_id}",
                **made.more,
            }
        )

    id = factory.LazyFunction(uuid.uuid4)
    resource_id = "writer"
    number = 1
    config_json = factory.LazyAttribute(lambda made: canonical.dump(made.config))
    digest = factory.LazyAttribute(lambda made: canonical.digest(made.config))
    name = factory.LazyAttribute(lambda made: made.config["name"])
    search_text = factory.LazyAttribute(lambda made: made.config_json)
    excerpt = factory.LazyAttribute(lambda made: make_excerpt(made.config))
    changed_fields = factory.LazyAttribute(lambda made: list(made.config))
    change_message = "Initial version"


class AgentVersionFactory(VersionFactory):
    class Meta:
        model = AgentVersion


class PromptBlockVersionFactory(VersionFactory):
    class Meta:
        model = PromptBlockVersion

    class Params:
        text_field = "content"


class ResourceFactory(GuardedFactory):
    """The row of a resource with this one `version`, which is published."""

    class Meta:
        abstract = True

    class Params:
        version = None

    id = factory.LazyAttribute(lambda made: made.version.resource_id)
    workspace_id = "acme"
    author = factory.LazyAttribute(lambda made: made.version.author)
    active_version_id = factory.LazyAttribute(lambda made: made.version.pk)
    latest_version_id = factory.LazyAttribute(lambda made: made.version.pk)
    last_number = factory.LazyAttribute(lambda made: made.version.number)
    was_ever_published = True


class AgentFactory(ResourceFactory):
    """The row of an agent."""

    class Meta:
        model = Agent


class PromptBlockFactory(ResourceFactory):
    """The row of a prompt block."""

    class Meta:
        model = PromptBlock


class LabelFactory(GuardedFactory):
    """A label on this `version`."""

    class Meta:
        abstract = True

    class Params:
        version = None

    name = factory.LazyAttribute(lambda made: f"try-{made.version.number}")
    resource_id = factory.LazyAttribute(lambda made: made.version.resource_id)
    version_id = factory.LazyAttribute(lambda made: made.version.pk)
    updated_by = factory.LazyAttribute(lambda made: made.version.author)


class AgentLabelFactory(LabelFactory):
    class Meta:
        model = AgentLabel


class PromptBlockLabelFactory(LabelFactory):
    class Meta:
        model = PromptBlockLabel


# Agents in code


class CodeAgentFactory(factory.Factory[runtime.Agent]):
    """A code-defined agent, named after its id, which answers with its id and echoes the message."""

    class Meta:
        model = runtime.Agent

    id = "writer"
    name = factory.LazyAttribute(lambda made: made.id.title())
    instructions = factory.LazyAttribute(lambda made: made.id)
    model = ECHO
