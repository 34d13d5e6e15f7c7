"""The gate: checks that must pass before a version becomes readable without the right to drafts.

Every way to publish goes through here, in the transaction that moves the pointer or releases the label:
activate, `autoPublish`, publishing in Python and in the studio, releasing a label, publishing an override
to its file, and `import_overrides`. `tests/test_gate.py` tries each of them and finds code that bypasses
the gate.

An application of Django registers a check in `AppConfig.ready()`. To refuse, a check raises an error of
`versioning.domain.errors`, which the API and the studio answer with, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from versioning.domain.access import Caller, Right
from versioning.domain.registry import Registry
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving.grants import grant, keep_targets
from versioning.serving.reference_checks import refuse_unpublished_blocks


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A version that is about to go live."""

    resource: VersionedResource
    """The resource, locked for this transaction, in its state before the change."""
    version: Snapshot
    caller: Caller
    label: str | None = None
    """The label that releases it; None if it becomes the active version."""


Check = Callable[[Passage], None]
"""Returns where the version may pass, and raises where it may not."""

_checks: list[Check] = []


def register(check: Check) -> None:
    """Add a check, after those already registered."""
    _checks.append(check)


def unregister(check: Check) -> None:
    """Stop asking this check; raises `ValueError` for one that is not registered."""
    _checks.remove(check)


def let_through(passage: Passage, code: Registry) -> None:
    """Raise unless the version may go live; record what it may then run and show.

    First checks the right to publish, then whether every prompt block that the version refers to is
    published, then the registered checks in order. Raises `Forbidden`, `Invalid` with the code
    `unpublished_blocks`, and whatever a check raises.
    """
    resource, version, caller = passage.resource, passage.version, passage.caller
    caller.require(Right.PUBLISH, resource.workspace_id)
    keep_targets(type(resource), version.config)
    refuse_unpublished_blocks(version.config, caller)
    for check in _checks:
        check(passage)
    grant(version, caller, code, anew=version.version_id != resource.active_id)


def grant_more(resource: VersionedResource, version: Snapshot, caller: Caller, code: Registry) -> bool:
    """Extend the grants of a live version by what the caller may read; return whether there was anything new.

    The version passed the gate when it went live, and it becomes readable to nobody else.
    """
    keep_targets(type(resource), version.config)
    return grant(version, caller, code, anew=False)
