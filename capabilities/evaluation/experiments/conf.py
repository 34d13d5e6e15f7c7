"""The settings of experiments."""

from __future__ import annotations

from typing import Final

from versioning.conf import DAYS, Setting, at_most, positive

SETTINGS: Final = (
    Setting(
        "EDITOR_EVALUATION_CONCURRENCY",
        4,
        "how many items of [experiments](../guides/run-an-experiment.md) a worker runs at once, by provider",
        check=at_most(1000, positive),
    ),
    Setting(
        "EDITOR_KEEP_RESULTS",
        90,
        "for how many days results of [experiments](../guides/run-an-experiment.md) are kept; 0: unlimited",
        check=at_most(DAYS),
    ),
)
