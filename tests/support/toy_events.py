"""Types of events that an application of a test declares."""

from __future__ import annotations

import pytest

from versioning.domain import events
from versioning.domain.events import EventSubject


def declare(monkeypatch: pytest.MonkeyPatch, subject: EventSubject) -> None:
    """Declare the types of events about a subject as long as the test runs."""
    for name in ("_SUBJECTS", "_DECLARED"):
        monkeypatch.setattr(events, name, dict(getattr(events, name)))
    events.declare(subject)
