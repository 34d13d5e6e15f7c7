"""A receiver on this machine, which webhooks may target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.receiver import Receiver, receiving


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]
    with receiving() as found:
        yield found
