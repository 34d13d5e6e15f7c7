"""People and keys beyond the cast, made as an administrator of the installation makes them."""

from __future__ import annotations

from io import StringIO
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command

from tests.support.api import Api
from versioning.access import Role
from versioning.models import ApiKey, Membership, Workspace


def person(name: str, **roles: str) -> User:
    """Make somebody who has these roles, by workspace."""
    user: User = User.objects.create_user(name)
    for workspace_id, role in roles.items():
        give_role(name, workspace_id, role)
    return user


def give_role(name: str, workspace_id: str, role: str) -> None:
    """Give somebody another role."""
    workspace = Workspace.objects.get(id=workspace_id)
    Membership.objects.grant(User.objects.get(username=name), workspace, Role(role))


def key_of(owner: str, *, workspace: str | None = None, role: str | None = None, **more: Any) -> Api:
    """Make another key for somebody, limited or not, and return the API as that key sees it."""
    return Api(
        ApiKey.objects.issue(
            User.objects.get(username=owner),
            workspace=Workspace.objects.get(id=workspace) if workspace else None,
            role=Role(role) if role else None,
            **more,
        )[1]
    )


def command(name: str, *arguments: str) -> str:
    """Run a management command in this process and return what it writes to standard output."""
    output = StringIO()
    call_command(name, *arguments, stdout=output)
    return output.getvalue()
