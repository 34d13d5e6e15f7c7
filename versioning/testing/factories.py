"""Factories (factory_boy) for the tests of projects: people, workspaces and keys; agents and prompt blocks.

Resources and versions are made by the editor's verbs, as in production, including entries of the log,
references and the checks of the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import factory
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from factory.django import DjangoModelFactory, Password

from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Role
from versioning.models import (
    Agent,
    AgentVersion,
    ApiKey,
    Membership,
    PromptBlock,
    PromptBlockVersion,
    Version,
    VersionedResource,
    Workspace,
)

ECHO = {"provider": "echo", "name": "echo"}
"""The built-in model, which answers with the instructions and the message, offline."""


class WorkspaceFactory(DjangoModelFactory[Workspace]):
    """A workspace, named after its id; an existing one is returned as it is."""

    class Meta:
        model = Workspace
        django_get_or_create = ("id",)

    id = factory.Sequence(lambda number: f"workspace-{number}")
    name = factory.LazyAttribute(lambda workspace: workspace.id.title())


def _name_of_user(number: int) -> str:
    model = get_user_model()
    is_mail = isinstance(model._meta.get_field(model.USERNAME_FIELD), models.EmailField)
    return f"person-{number}@example.com" if is_mail else f"person-{number}"


class UserFactory(DjangoModelFactory[Any]):
    """An account of the project's user model, without a password.

    `username` sets its `USERNAME_FIELD`, under any name of that field. `roles={"acme": "viewer"}` makes it
    a member of workspaces, which are created if missing; `is_superuser=True` gives all rights.
    """

    class Meta:
        model = settings.AUTH_USER_MODEL
        skip_postgeneration_save = True

    username = factory.Sequence(_name_of_user)
    password = Password(None)

    @classmethod
    def _adjust_kwargs(cls, **columns: Any) -> dict[str, Any]:
        name = get_user_model().USERNAME_FIELD
        username = columns.pop("username")
        return {name: username, **columns}

    @factory.post_generation
    def roles(user: Any, create: bool, extracted: Mapping[str, str] | None, **_: Any) -> None:  # noqa: N805, FBT001
        """Grant the roles as an administrator does."""
        for workspace_id, role in (extracted or {}).items():
            Membership.objects.grant(user, WorkspaceFactory(id=workspace_id), Role(role))


class MembershipFactory(DjangoModelFactory[Membership]):
    """A membership, of a viewer by default."""

    class Meta:
        model = Membership

    user = factory.SubFactory(UserFactory)
    workspace = factory.SubFactory(WorkspaceFactory)
    role = Role.VIEWER


class ApiKeyFactory(DjangoModelFactory[ApiKey]):
    """An API key; `text` of the result is the secret, which is not stored.

    It has the rights of its `owner`, unless `workspace`, `role`, `actions` or `id_prefix` limit it.
    """

    class Meta:
        model = ApiKey

    owner = factory.SubFactory(UserFactory)

    @classmethod
    def _create(cls, model_class: type[ApiKey], *_: Any, **limits: Any) -> ApiKey:
        key, text = model_class.objects.issue(limits.pop("owner"), **limits)
        key.text = text  # type: ignore[attr-defined]  # for the test alone
        return key


class _ByVerbs(DjangoModelFactory[Any]):
    class Meta:
        abstract = True

    by: ClassVar[Any] = None
    """The user who makes it; None for the application itself."""

    @classmethod
    def _build(cls, model_class: type[Any], *_: Any, **__: Any) -> Any:
        raise TypeError(f"{cls.__name__} only creates: {model_class.__name__} is made by the editor's verbs.")


class ResourceFactory(_ByVerbs):
    """A resource with its first version, which is published unless `publish` is False.

    Fields of the snapshot (`instructions`, `model` …), `id`, `workspace`, `visibility` and `metadata` are
    arguments. Derive from it for your own kind, with its model in `Meta` and its required fields.
    """

    class Meta:
        abstract = True

    workspace = factory.SubFactory(
        WorkspaceFactory, id=factory.LazyFunction(lambda: settings.EDITOR_CODE_WORKSPACE)
    )
    publish = True
    id = factory.Sequence(lambda number: f"resource-{number}")
    name = factory.LazyAttribute(lambda resource: resource.id.rpartition("/")[2].title())

    @classmethod
    def _create(cls, model_class: type[VersionedResource], *_: Any, **fields: Any) -> Any:
        by, workspace = fields.pop("by"), fields.pop("workspace")
        create = get_editor().collection(model_class.kind).create
        return create(workspace=workspace.pk, by=APPLICATION if by is None else by, **fields).resource


class AgentFactory(ResourceFactory):
    """A published agent on the model `echo`."""

    class Meta:
        model = Agent

    id = factory.Sequence(lambda number: f"agent-{number}")
    instructions = "Answer the question."
    model = ECHO


class PromptBlockFactory(ResourceFactory):
    """A published prompt block."""

    class Meta:
        model = PromptBlock

    id = factory.Sequence(lambda number: f"block-{number}")
    content = "Be brief."


class VersionFactory(_ByVerbs):
    """A further version of a `resource`: a draft, unless `publish` is True.

    Fields of the snapshot are arguments; other fields are unchanged. Without a difference no version is
    created, and the latest one is returned.
    """

    class Meta:
        abstract = True

    publish = False

    @classmethod
    def _create(cls, model_class: type[Version], *_: Any, **fields: Any) -> Any:
        by, resource = fields.pop("by"), fields.pop("resource")
        edit = get_editor().collection(resource.kind).edit
        version = edit(resource.pk, by=APPLICATION if by is None else by, **fields).version
        resource.refresh_from_db()
        return version


class AgentVersionFactory(VersionFactory):
    """A version of an agent, with other instructions."""

    class Meta:
        model = AgentVersion

    resource = factory.SubFactory(AgentFactory)
    instructions = factory.Sequence(lambda number: f"Answer question {number}.")


class PromptBlockVersionFactory(VersionFactory):
    """A version of a prompt block, with another content."""

    class Meta:
        model = PromptBlockVersion

    resource = factory.SubFactory(PromptBlockFactory)
    content = factory.Sequence(lambda number: f"Be brief, {number}.")
