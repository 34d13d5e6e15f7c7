"""The jobs of workers for mail."""

from __future__ import annotations

from typing import Final

from capabilities.mail import outbox, sending
from versioning.worker.jobs import Periodic, Queue

JOBS: Final = (
    Periodic(name="mail outbox", run=outbox.fill, every=outbox.SECONDS, in_each_worker=True),
    Queue(name="mail", model="mail.Mail", run=sending.send, threads=2, at_once=1),
)
