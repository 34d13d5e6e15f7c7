"""Factories of test data: people, workspaces, memberships and keys; agents, prompt blocks and their versions.

`build` makes an object in memory, for `bulk_create`; calling a factory stores it. A test sets the values
that it is about, everything else has a harmless default. Tests of the API make resources over HTTP
(`Kind.make`); the factories of resources and versions are for rows by the thousand.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from secrets import token_urlsafe
from typing import Any

import factory
from django.contrib.auth.models import User
from editor_client.shared import canonical
from factory.django import DjangoModelFactory, Password

from versioning import runtime
from versioning.domain.access import Role
from versioning.domain.config import excerpt_of
from versioning.models import (
    Agent,
    AgentLabel,
    AgentVersion,
    ApiKey,
    Membership,
    PromptBlock,
    PromptBlockLabel,
    PromptBlockVersion,
    Workspace,
)
from versioning.models.guarded import unguarded
from versioning.models.keys import PREFIX_LENGTH, digest_of

ECHO = {"provider": "echo", "name": "echo"}


# The cast


class WorkspaceFactory(DjangoModelFactory[Workspace]):
    """A workspace that is named after its id."""

    class Meta:
        model = Workspace

    id = factory.Sequence(lambda number: f"workspace-{number}")
    name = factory.LazyAttribute(lambda made: made.id.title())


class UserFactory(DjangoModelFactory[User]):
    """An account without a password; `roles={"acme": "viewer"}` makes its memberships, by workspace."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda number: f"person-{number}")
    password = Password(None)

    @factory.post_generation
    def roles(user: User, create: bool, given: Mapping[str, str] | None, **_: Any) -> None:  # noqa: N805
        """Give the roles as an administrator does."""
        for workspace_id, role in (given or {}).items():
            Membership.objects.grant(user, Workspace.objects.get(pk=workspace_id), Role(role))


class MembershipFactory(DjangoModelFactory[Membership]):
    """A membership, of a viewer unless it says otherwise."""

    class Meta:
        model = Membership

    user = factory.SubFactory(UserFactory)
    workspace = factory.SubFactory(WorkspaceFactory)
    role = Role.VIEWER


class ApiKeyFactory(DjangoModelFactory[ApiKey]):
    """A key with this secret `text` and all rights of its owner."""

    class Meta:
        model = ApiKey

    class Params:
        text = factory.LazyFunction(lambda: f"ek_{token_urlsafe(16)}")

    owner = factory.SubFactory(UserFactory)
    prefix = factory.LazyAttribute(lambda made: made.text[:PREFIX_LENGTH])
    digest = factory.LazyAttribute(lambda made: digest_of(made.text))


# Resources and versions


def insert_rows(rows: Iterable[Any]) -> None:
    """Insert rows of one model with as few statements as possible, past the editor's verbs."""
    made = list(rows)
    unguarded(type(made[0]).objects.all()).bulk_create(made)


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
    excerpt = factory.LazyAttribute(lambda made: excerpt_of(made.config))
    changed_fields = factory.LazyAttribute(lambda made: list(made.config))
    change_message = "Initial version"


class AgentVersionFactory(VersionFactory):
    """A version of an agent."""

    class Meta:
        model = AgentVersion


class PromptBlockVersionFactory(VersionFactory):
    """A version of a prompt block."""

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
    """A label of an agent."""

    class Meta:
        model = AgentLabel


class PromptBlockLabelFactory(LabelFactory):
    """A label of a prompt block."""

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
