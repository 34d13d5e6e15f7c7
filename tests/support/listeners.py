"""The listeners of the streams of a real server, and their changes of rights: run in the server's database.

service.manage("shell", "--no-imports", "-c", "from tests.support.listeners import make; make()")
"""

from __future__ import annotations

import json
from datetime import timedelta

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from tests.support.people import key_of, person
from tests.support.service import Service
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import ApiKey, Workspace

MEMBERS = ("admin", "publisher", "editor", "viewer")
LET_IN_NO_MORE = ("revoked", "expired", "deactivated", "removed", "deleted", "in_the_studio")
BACKEND = "django.contrib.auth.backends.ModelBackend"


def prepared(service: Service) -> dict[str, str]:
    """Make the listeners, and return the key of each; for `in_the_studio` the session."""
    program = "from tests.support.listeners import make; make()"
    keys: dict[str, str] = json.loads(service.manage("shell", "--no-imports", "-c", program))
    return keys


def make() -> None:
    """Make the listeners and print their keys: members of `team`, members of `elsewhere`, and a superuser."""
    for workspace_id in ("team", "elsewhere"):
        Workspace.objects.make(workspace_id, workspace_id)
    people = {name: person(name, team=name) for name in MEMBERS}
    people |= {name: person(name, team="viewer") for name in LET_IN_NO_MORE}
    people |= {
        "lowered": person("lowered", team="editor"),
        "moved": person("moved", team="editor", elsewhere="viewer"),
        "stranger": person("stranger", elsewhere="admin"),
        "root": person("root"),
    }
    User.objects.filter(username="root").update(is_superuser=True)
    keys = {name: key_of(name).key for name in people}
    keys["limited"] = key_of("admin", workspace="team", role="viewer").key
    keys["in_the_studio"] = session_of(people["in_the_studio"])
    print(json.dumps(keys))  # noqa: T201


def session_of(user: User) -> str:
    """Sign a person in, and return the session."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = BACKEND
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def change_rights() -> None:
    """Let each of them lose the right in their name."""
    workspaces = get_editor().workspace
    for key in ApiKey.objects.filter(owner__username="revoked"):
        key.revoke()
    soon = timezone.now() + timedelta(seconds=1)
    ApiKey.objects.filter(owner__username="expired").update(expires_at=soon)
    User.objects.filter(username__in=["deactivated", "in_the_studio"]).update(is_active=False)
    workspaces.remove("team", "removed")
    User.objects.get(username="deleted").delete()
    workspaces.change_role("team", "lowered", Role.VIEWER)
    workspaces.remove("team", "moved")
