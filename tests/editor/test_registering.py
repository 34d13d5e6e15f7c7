"""What applications register is checked when they do: a fault shows at the start, and not in a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from releases import automatic
from studio import extensions
from versioning.domain import events as event_types
from versioning.editor import concerns, gate, pins
from versioning.models import events
from versioning.serving import choice, releases
from versioning.worker import jobs

REGISTRIES: dict[str, Callable[[Any], object]] = {
    "automatic": lambda given: automatic.register(given, lambda _release, _by: None),
    "automatic, take_over": lambda given: automatic.register(lambda _: set(), given),
    "choice": choice.register,
    "concerns": concerns.register,
    "event types": lambda given: event_types.register("thing", given, "done"),
    "extensions": extensions.register,
    "gate": gate.register,
    "gate, holds_back": lambda given: gate.register(lambda _: None, holds_back=given),
    "jobs": jobs.register,
    "jobs, run": lambda given: jobs.register(jobs.Periodic(name="broken", run=given, every=1)),
    "pins": pins.register,
    "readers of events": events.register_reader,
    "releases": releases.register,
}


@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize("given", ["x", 5, {}], ids=repr)
def test_what_cannot_be_used_is_refused_with_a_sentence(registry: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"takes|{given!r}") as refused:
        REGISTRIES[registry](given)
    assert repr(given) in str(refused.value)
