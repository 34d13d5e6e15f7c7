"""The jobs of workers for signing in."""

from __future__ import annotations

from typing import Final

from capabilities.accounts.models import OpenSession
from capabilities.accounts.sign_in.conf import idle
from versioning.worker.jobs import Periodic


def remove_idle() -> None:
    OpenSession.remove_idle(idle())


JOBS: Final = (Periodic(name="idle sessions", run=remove_idle, every=3600.0),)
