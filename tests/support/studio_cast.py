"""The cast on a real server, with passwords: what people sign in to the studio with."""

from __future__ import annotations

import json

from tests.support.service import Service

PASSWORD = "a long enough password"

_MAKE = """
import json
from django.contrib.auth.models import User
from versioning.access import Role
from versioning.models import ApiKey, Membership, Workspace
people = {"alice": "admin", "paula": "publisher", "edgar": "editor", "vera": "viewer"}
spaces = {name: Workspace.objects.create(id=name, name=name.title()) for name in ("acme", "elsewhere")}
keys = {}
for name, role in [*people.items(), ("charlie", "admin"), ("root", None), ("nora", None)]:
    user = User.objects.create_user(name, password=PASSWORD, is_superuser=name == "root")
    if role:
        space = spaces["acme" if name in people else "elsewhere"]
        Membership.objects.grant(user, space, Role(role))
    keys[name] = ApiKey.objects.issue(user)[1]
print(json.dumps(keys))
"""


def make_cast(service: Service) -> dict[str, str]:
    """Make alice, paula, edgar and vera of acme, charlie of elsewhere, root, and nora, a member of nothing.

    Returns an API key of each, by name.
    """
    printed = service.manage("shell", "--no-imports", "-c", f"PASSWORD = {PASSWORD!r}\n{_MAKE}")
    keys: dict[str, str] = json.loads(printed)
    return keys
