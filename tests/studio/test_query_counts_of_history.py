"""How many queries the pages about versions take: as many among hundreds of versions as among a handful."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.serving.test_query_counts import grow, insert_history, versions_to_read
from tests.support.api import Kind
from tests.support.factories import ApiKeyFactory, UserFactory
from tests.support.studio import Visitor, page_of, workspace_page
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.models import Agent, Workspace, events
from versioning.serving.event_visibility import target_of

pytestmark = pytest.mark.database

FEW, MANY = 60, 210
MAX_QUERIES = 22


def pages(kind: Kind) -> dict[str, str]:
    first, second = versions_to_read(kind)
    return {
        "history": page_of(kind, "history", "r0"),
        "second page": page_of(kind, "history", "r0") + "?page=2",
        "of one author": page_of(kind, "history", "r0") + "?author=alice",
        "published only": page_of(kind, "history", "r0") + "?published=on",
        "side by side": page_of(kind, "compare", "r0") + f"?from=previous&to={second}&layout=side-by-side",
        "compare": page_of(kind, "compare", "r0"),
        "compare two": page_of(kind, "compare", "r0") + f"?from={first}&to={second}",
        "publish": page_of(kind, "publish", "r0"),
        "version": page_of(kind, f"versions/{second}", "r0"),
        "delete": page_of(kind, f"versions/{second}/delete", "r0"),
    }


def counts(visitor: Visitor, addresses: dict[str, str]) -> dict[str, int]:
    found = {}
    for name, address in addresses.items():
        with CaptureQueriesContext(connection) as queries:
            answer = visitor.get(address)
        assert answer.status_code == 200, name
        found[name] = len(queries)
    return found


def test_the_pages_about_versions(cast: Cast, kind: Kind) -> None:
    grow(0, 2)
    insert_history(kind, "r0", range(3, FEW + 1))
    paula = Visitor("paula")
    paula.get(page_of(kind, "history", "r0"))
    among_few = counts(paula, pages(kind))
    insert_history(kind, "r0", range(FEW + 1, MANY + 1))
    assert counts(paula, pages(kind)) == among_few
    assert max(among_few.values()) <= MAX_QUERIES


def fill(start: int, stop: int) -> None:
    """Let acme have members, and a log that tells of as many things."""
    acme, alice = Workspace.objects.get(pk="acme"), User.objects.get(username="alice")
    for number in range(start, stop):
        ApiKeyFactory(owner=UserFactory(roles={"acme": "viewer"}), workspace=None)
        ApiKeyFactory(owner=alice, workspace=acme)
        with events.transaction():
            agent = target_of(Agent.objects.get(pk=f"r{number % 2}"), get_editor().code)
            events.record("agent.published", by=APPLICATION, workspace_id="acme", resource=agent)


def test_the_pages_about_a_workspace(cast: Cast) -> None:
    grow(0, 2)
    alice = Visitor("alice")
    addresses = {name: workspace_page(name) for name in ("members", "keys", "activity")}
    addresses["list"] = "/studio/versioning/workspace/"
    addresses["unlimited keys"] = "/studio/versioning/workspace/keys/"
    addresses["activity in all"] = "/studio/activity/"
    fill(0, 10)
    alice.get(addresses["list"])
    among_few = counts(alice, addresses)
    fill(10, 60)
    assert counts(alice, addresses) == among_few
    assert max(among_few.values()) <= MAX_QUERIES
