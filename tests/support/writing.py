"""Writers at work on a server, and the acknowledged answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from itertools import count
from threading import Condition, Event
from typing import Any

from tests.support.api import Api, Kind
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service

WRITERS = 6
SECONDS = 60
# Text that a careless path through files, encodings or forms would change.
DELICATE = "été 日本 🎉 \u2028 \ttab\r\n two lines  and spaces at the end   \n"

Record = dict[str, Any]
Job = Callable[[RemoteApi, int, int], Record]


class Acknowledged:
    """The saves that the server has acknowledged, collected by all writers."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._changed = Condition()

    def add(self, record: Record) -> None:
        """Note an answer."""
        with self._changed:
            self.records.append(record)
            self._changed.notify()

    def wait_for(self, how_many: int) -> None:
        """Return as soon as there are so many answers."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.records) >= how_many, SECONDS)

    def wait_for_more(self, how_many: int) -> None:
        """Return as soon as so many more answers have come in."""
        self.wait_for(len(self.records) + how_many)


@contextmanager
def writing(service: Service, job: Job) -> Iterator[Acknowledged]:
    """Let writers repeat the job, each on its own connection, until the block ends or the server is gone."""
    acknowledged = Acknowledged()
    is_over = Event()

    def write(writer: int) -> None:
        with connected(service) as api:
            for turn in count():
                try:
                    record = job(api, writer, turn)
                except (OSError, HTTPException):
                    return
                acknowledged.add(record)
                if is_over.is_set():
                    return

    with ThreadPoolExecutor(WRITERS) as threads:
        writers: list[Future[None]] = [threads.submit(write, writer) for writer in range(WRITERS)]
        try:
            yield acknowledged
        finally:
            is_over.set()
        for finished in writers:
            finished.result(SECONDS)


def history(api: Api, kind: Kind, resource_id: str) -> list[Record]:
    """Return every version, oldest first, over as many pages as it takes."""
    versions: list[Record] = []
    for page in count():
        found = api.get(
            kind.url(resource_id, "versions"),
            page=page,
            perPage=1000,
            **{"orderBy[direction]": "ASC"},
        ).body
        versions += found["versions"]
        if not found["hasMore"]:
            return versions
    raise AssertionError
