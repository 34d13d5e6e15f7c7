"""Changes that another process makes through Django's ORM, bypassing our verbs, appear in the next answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from tests.support.api import AGENTS
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service

pytestmark = pytest.mark.processes

PERSON = """
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace
user = User.objects.create_user("{name}")
Membership.objects.grant(user, Workspace.objects.get(id="default"), Role.PUBLISHER)
print(ApiKey.objects.issue(user)[1])
"""
CHANGE = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from versioning.models import ApiKey, Favorite, Membership
user = User.objects.get(username="{name}")
key, membership = ApiKey.objects.get(owner=user), Membership.objects.get(user=user)
{change}
"""
SELECTED = {"status": "draft"}  # which a viewer may not read
NUMBERS = count()


class Reader:
    """A person with an agent that only they change, and a connection on which they have read it."""

    def __init__(self, service: Service, stack: ExitStack) -> None:
        self.service = service
        self.name = f"person{next(NUMBERS)}"
        key = service.manage("shell", "--no-imports", "-c", PERSON.format(name=self.name))
        self.api: RemoteApi = stack.enter_context(connected(service, key))
        AGENTS.make(self.api, self.name, autoPublish=True)
        assert [self.read() for _ in range(3)] == [200] * 3

    def read(self) -> int:
        return self.api.get(AGENTS.url(self.name), **SELECTED).status

    def change(self, change: str) -> None:
        """Change something in another process."""
        self.service.manage("shell", "--no-imports", "-c", CHANGE.format(name=self.name, change=change))


@pytest.fixture
def reader(live_service: Service) -> Iterator[Reader]:
    """A new person."""
    with ExitStack() as stack:
        yield Reader(live_service, stack)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("user.is_active = False; user.save()", 401),
        ("key.role = 'viewer'; key.save()", 403),
        ("membership.delete()", 404),
        ("ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())", 401),
        ("Membership.objects.filter(user=user).update(role='viewer')", 403),
    ],
)
def test_a_change_of_rights_by_another_process_takes_effect_immediately(
    reader: Reader, change: str, status: int
) -> None:
    reader.change(change)
    assert reader.read() == status


def test_a_cached_answer_is_not_served_after_the_key_expired(reader: Reader) -> None:
    reader.change("key.expires_at = timezone.now() + timedelta(seconds=2); key.save()")
    deadline = time.monotonic() + 60
    while reader.read() == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert reader.read() == 401


@pytest.mark.parametrize(
    ("change", "member", "value"),
    [
        ("user.username += '-new'; user.save()", "authorId", "{name}-new"),
        ("Favorite.objects.create(user=user, kind='agent', resource_id='{name}')", "favoriteCount", 1),
    ],
)
def test_a_change_of_a_record_by_another_process_is_read_immediately(
    reader: Reader, change: str, member: str, value: object
) -> None:
    reader.change(change.format(name=reader.name))
    expected = value.format(name=reader.name) if isinstance(value, str) else value
    assert reader.api.get(AGENTS.url(reader.name), **SELECTED).body[member] == expected
