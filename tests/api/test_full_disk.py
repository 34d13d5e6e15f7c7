"""The disk is full: nothing is saved and the answer says why; reads and runs go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.people import key_of
from versioning.models import IdempotentRequest, storage
from versioning.models.idempotency import UNWRITTEN

LONG: str = "a text that does not fit " * 20_000
"""More than SQLite has left on pages that it has already."""

_FULL = """
CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""


@contextmanager
def full_disk(*tables: str, statements: str = "INSERT OR UPDATE") -> Iterator[None]:
    """Let PostgreSQL refuse these statements for these tables, or for any; let SQLite's file not grow.

    The error is that of the database itself, as on a disk without space. For tests with `committed_db`,
    because SQLite then rolls the whole transaction back.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("VACUUM")  # else pages of deleted rows are used again
            before, size = (
                cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("max_page_count", "page_count")
            )
            cursor.execute(f"PRAGMA max_page_count = {size}")
            try:
                yield
            finally:
                cursor.execute(f"PRAGMA max_page_count = {before}")
            return
        full = tables or connection.introspection.table_names(cursor)
        trigger = f"full_disk BEFORE {statements}"
        cursor.execute(_FULL)
        for table in full:
            cursor.execute(
                f'CREATE TRIGGER {trigger} ON "{table}" FOR EACH ROW EXECUTE FUNCTION disk_is_full()'
            )
        try:
            yield
        finally:
            cursor.execute("DROP FUNCTION disk_is_full() CASCADE")


pytestmark = pytest.mark.usefixtures("committed_db")

ECHO = {"provider": "echo", "name": "echo"}


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Try at every request whether there is space; write what could not be written only when a test does."""
    monkeypatch.setattr(storage, "SECONDS_BETWEEN_TRIES", 0)
    monkeypatch.setattr(UNWRITTEN, "every", None)
    yield
    storage.note_saved()


def create(api: Api, resource_id: str, *, key: str = "once") -> Answer:
    body = AGENTS.body(id=resource_id, instructions=LONG)
    return api.request("POST", AGENTS.path, body, idempotency_key=key)


def readiness() -> Any:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json().get("code")


@pytest.mark.database
def test_a_save_on_a_full_disk_saves_nothing_and_says_so_until_one_succeeds(cast: Cast) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True, model=ECHO)
    before = cast.alice.get(AGENTS.url("writer")).body
    assert readiness() == (200, None)
    with full_disk():
        save = cast.alice.patch(AGENTS.url("writer"), {"instructions": LONG})
        for refused in (save, create(cast.alice, "other")):
            assert (refused.status, refused.code, refused.headers["Retry-After"]) == (
                503,
                "storage_full",
                "10",
            )
        assert cast.alice.get(AGENTS.url("other")).status == 404
        assert cast.alice.get(AGENTS.url("writer")).body == before
        assert readiness() == readiness() == (503, "storage_full")
    assert create(cast.alice, "other").status == 201
    assert readiness() == (200, None)


def test_a_page_leads_back_in_the_browser_to_what_was_typed(cast: Cast) -> None:
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(username="alice"))
    page = "/studio/versioning/agent/add/"
    form = {"name": "Writer", "id": "writer", "workspace": "acme", "text": LONG}
    with full_disk():
        refused = browser.post(page, form, headers={"Referer": f"http://testserver{page}"})
    text = refused.content.decode()
    assert refused.status_code == 503
    assert "Go back in your browser: what you typed is still there." in text
    assert "Open the page again" not in text


@pytest.mark.database
def test_readiness_returns_without_a_save(cast: Cast) -> None:
    with full_disk():
        assert create(cast.alice, "writer").status == 503
        assert readiness() == (503, "storage_full")
    assert readiness() == (200, None)
    assert not IdempotentRequest.objects.filter(caller="readyz").exists()


@pytest.mark.database
def test_reads_and_runs_go_on_on_a_full_disk(cast: Cast, settings: Any) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True, model=ECHO)
    settings.EDITOR_THROTTLE = "1000/min"
    alice = key_of("alice")  # its first use is not recorded yet
    person = Client()
    person.force_login(User.objects.get(username="alice"))
    with full_disk():
        assert alice.get(AGENTS.path).body["total"] == 1
        assert alice.get("/agents/writer").status == 200
        body = {"messages": "Hello"}
        first, again = (
            alice.request("POST", "/agents/writer/generate", body, idempotency_key="run") for _ in range(2)
        )
        assert (first.status, again.status, again.body["text"]) == (200, 200, first.body["text"])
        for path in ("", "versioning/agent/writer/change/", "notifications/"):
            assert person.get(f"/studio/{path}").status_code == 200, path
    assert readiness() == (200, None)


@pytest.mark.postgresql
def test_what_cannot_be_stored_about_a_request_is_stored_later(cast: Cast) -> None:
    table = IdempotentRequest._meta.db_table
    with full_disk(table, statements="UPDATE"):
        first, again = (create(cast.alice, "writer") for _ in range(2))
        assert (first.status, again.status, again.body) == (201, 201, first.body)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert create(cast.alice, "other").code == "idempotency_mismatch"
        assert not UNWRITTEN.write()
    assert UNWRITTEN.write()
    assert IdempotentRequest.objects.get(key="once").status == 201
    with full_disk(table, statements="DELETE"):
        assert create(cast.alice, "writer", key="refused").code == "id_taken"
    assert create(cast.alice, "other", key="refused").status == 201
