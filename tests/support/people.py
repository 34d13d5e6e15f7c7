"""The cast; and people and keys beyond it, made as an administrator of the installation makes them."""

from __future__ import annotations

from io import StringIO
from secrets import token_urlsafe
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from tests.support.api import Api
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace
from versioning.models.keys import PREFIX_LENGTH, hash_secret
from versioning.models.log import name_installation
from versioning.testing import UserFactory

HOMES = {
    "alice": ("acme", Role.ADMIN),
    "paula": ("acme", Role.PUBLISHER),
    "edgar": ("acme", Role.EDITOR),
    "vera": ("acme", Role.VIEWER),
    "charlie": ("elsewhere", Role.ADMIN),
}
"""Where the members of the cast belong, and their roles there."""


def make_cast(*more: str, password: str | None = None) -> dict[str, str]:
    """Make the workspaces, the cast, root, and `more` people without a membership; return the keys of all.

    A few statements for all of them: nearly every test begins with it. The installation has its name, and the
    keys count as used just now, which the first request of each would otherwise record.
    """
    name_installation()
    homes = sorted({workspace_id for workspace_id, _ in HOMES.values()})
    Workspace.objects.bulk_create(Workspace(id=one, name=one.title()) for one in homes)
    names = [*HOMES, "root", *more]
    hashed = make_password(password)  # once: a good hash takes its time
    users = [User(username=name, is_superuser=name == "root", password=hashed) for name in names]
    User.objects.bulk_create(users)
    Membership.objects.bulk_create(
        Membership(user=user, workspace_id=home, role=role)
        for user, (home, role) in zip(users, HOMES.values(), strict=False)
    )
    keys = {name: f"ek_{name}-{token_urlsafe(16)}" for name in names}
    now = timezone.now()
    ApiKey.objects.bulk_create(
        ApiKey(owner=user, prefix=text[:PREFIX_LENGTH], digest=hash_secret(text), last_used_at=now)
        for user, text in zip(users, keys.values(), strict=True)
    )
    return keys


def person(name: str, **roles: str) -> User:
    """Make a person with these roles, by workspace."""
    return UserFactory(username=name, roles=roles)


def give_role(name: str, workspace_id: str, role: str) -> None:
    """Give a person another role."""
    workspace = Workspace.objects.get(id=workspace_id)
    Membership.objects.grant(User.objects.get(username=name), workspace, Role(role))


def key_of(owner: str, *, workspace: str | None = None, role: str | None = None, **more: Any) -> Api:
    """Make another key for a person, limited or not, and return the API with that key."""
    return Api(
        ApiKey.objects.issue(
            User.objects.get(username=owner),
            workspace=Workspace.objects.get(id=workspace) if workspace else None,
            role=Role(role) if role else None,
            **more,
        )[1]
    )


def command(name: str, *arguments: str) -> str:
    """Run a management command in this process and return its standard output."""
    output = StringIO()
    call_command(name, *arguments, stdout=output)
    return output.getvalue()
