"""What applications declare is checked at the start: a fault shows there, and not in a request."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from versioning.capabilities import EditorApp

FAULTS: dict[str, Any] = dict.fromkeys(
    (
        "settings",
        "events",
        "checks",
        "choice",
        "keeps_versions",
        "follows",
        "jobs",
        "notifications",
        "studio",
    ),
    "builtins.int",
)


@pytest.mark.parametrize(
    ("attribute", "path"),
    [*FAULTS.items(), ("checks", "review.policy.none.CHECK"), ("jobs", "review.NONE"), ("needs", "nothing")],
)
def test_what_cannot_be_used_stops_the_start_with_a_sentence(attribute: str, path: str) -> None:
    app = type("Faulty", (EditorApp,), {attribute: path})("faulty", sys.modules["review"])
    with pytest.raises(ImproperlyConfigured, match=f"faulty declares {attribute} = '{path}': ."):
        app.ready()
