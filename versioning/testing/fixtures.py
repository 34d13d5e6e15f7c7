"""Fixtures (pytest) for the tests of projects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from editor_client import Client

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer


@dataclass(frozen=True)
class LiveEditor:
    """The project's own server, in this process, with the editor's API."""

    url: str
    """The address of the server, without the prefix of the API."""
    api_key: str
    """The key of an admin of the workspace `EDITOR_CODE_WORKSPACE`."""
    client: Client
    """A client with that key."""

    def work(self) -> None:
        """Do due work, as a worker does: run experiments, publish scheduled versions, deliver webhooks.

        Raises `RuntimeError` if any of it fails; see the log.
        """
        from versioning.worker.running import Worker  # noqa: PLC0415  pytest imports this before Django is set up

        if not Worker().once():
            raise RuntimeError("a job has failed")


@pytest.fixture(autouse=True)
def isolated_editor() -> Iterator[None]:
    """Clear the editor's in-memory state of an earlier test's database.

    Usage, served versions and recorded streams are written when the next request begins, not by a thread.
    """
    from django.apps import apps  # noqa: PLC0415  pytest imports this before Django is set up
    from django.core.signals import request_started  # noqa: PLC0415

    from versioning.models import log_position  # noqa: PLC0415
    from versioning.models.idempotency import UNWRITTEN  # noqa: PLC0415
    from versioning.serving.followed_log import log  # noqa: PLC0415

    writers: list[Any] = [UNWRITTEN]
    if apps.is_installed("capabilities.rollouts"):
        from capabilities.rollouts.counting import RECORDER  # noqa: PLC0415

        writers.append(RECORDER)

    def write(**_signal: Any) -> None:
        for writer in writers:
            writer.write()

    log.forget()
    intervals = [writer.every for writer in writers]
    for writer in writers:
        writer.forget()
        writer.every = None
    request_started.connect(write)
    try:
        yield
    finally:
        request_started.disconnect(write)
        for writer, every in zip(writers, intervals, strict=True):
            writer.every = every
            writer.forget()
    log_position.close()


@pytest.fixture
def live_editor(
    live_server: LiveServer, transactional_db: None, isolated_editor: None
) -> Iterator[LiveEditor]:
    """Serve the project on a port of this machine; yield its address, and the key and a client of an admin.

    The server shares the test's database, so clients can read objects from factories. It is pytest-django's
    `live_server`, so the database is emptied after the test.
    """
    from django.conf import settings  # noqa: PLC0415  as above

    from versioning.testing.factories import ApiKeyFactory, UserFactory  # noqa: PLC0415

    key: Any = ApiKeyFactory(owner=UserFactory(roles={settings.EDITOR_CODE_WORKSPACE: "admin"}))
    prefix = f"/{settings.EDITOR_API_PREFIX.strip('/')}"
    with Client(live_server.url, api_key=key.text, api_prefix=prefix) as client:
        yield LiveEditor(url=live_server.url, api_key=key.text, client=client)
