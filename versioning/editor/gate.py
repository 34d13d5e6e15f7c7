"""The gate: checks that must pass before a version becomes readable without the right to drafts.

Every way to publish goes through here, in the transaction that moves the pointer or releases the label:
activate, `autoPublish`, publishing in Python and in the studio, releasing a label, publishing an override
to its file, and `import_overrides`. `tests/test_gate.py` tries each of them and finds code that bypasses
the gate.

An application of Django registers a check in `AppConfig.ready()`. To refuse, a check raises an error of
`versioning.domain.errors`, which the API and the studio answer with, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, VersioningError
from versioning.domain.registry import Registry
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving.grants import grant, keep_targets
from versioning.serving.reference_checks import NO_BLOCKS, refuse_unpublished_blocks, unpublished_blocks


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A version that is about to go live."""

    resource: VersionedResource
    """The resource, locked for this transaction, in its state before the change."""
    version: Snapshot
    caller: Caller
    label: str | None = None
    """The label that releases it; None if it becomes the active version."""
    bypass_review: str | None = None
    """Why an admin lets it pass without the approvals that it needs; None if nobody does."""
    blocks: Mapping[str, bool] = field(default_factory=lambda: NO_BLOCKS)
    """Prompt blocks that are published (True) or unpublished (False) in the same transaction, by id."""


class BypassRefused(Forbidden):
    """The caller may not do without approvals: a fault of the request, and not of the version."""


Then = Callable[[], object]
"""What is done in the transaction when all checks have let a version pass."""
Check = Callable[[Passage], Then | None]
"""Raises where a version may not pass. It changes nothing, because pages ask it too: what is to be done when
the version passes is what it returns."""
HoldsBack = Callable[[str], bool]
"""Says whether new resources of a workspace are not published by default."""


Foresee = Callable[[Sequence[Passage]], Sequence[VersioningError | None]]
"""Returns for each passage the error that a check would raise, or None.

The number of statements does not depend on how many they are."""


@dataclass(frozen=True, kw_only=True)
class _Registered:
    check: Check
    holds_back: HoldsBack | None
    foresee: Foresee


_registered: list[_Registered] = []


def register(check: Check, *, holds_back: HoldsBack | None = None, foresee: Foresee | None = None) -> None:
    """Add a check, after those already registered; `holds_back` goes with it.

    `foresee` answers what the check would, for many versions at once. Without it the check itself is asked
    about each of them.
    """
    one_by_one = partial(_foresee_with, check)
    _registered.append(_Registered(check=check, holds_back=holds_back, foresee=foresee or one_by_one))


def unregister(check: Check) -> None:
    """Stop asking this check; raises `ValueError` for one that is not registered."""
    index = [one.check for one in _registered].index(check)
    del _registered[index]


def holds_back(workspace_id: str) -> bool:
    """Say whether new resources of a workspace are drafts unless somebody asks to publish them."""
    return any(one.holds_back is not None and one.holds_back(workspace_id) for one in _registered)


def refusal(passage: Passage) -> VersioningError | None:
    """Return the error with which the gate would refuse the version now; None if it would let it pass.

    Nothing is locked or changed, so the version may be refused or let through all the same a moment later.
    """
    [found] = refusals([passage])
    return found


def refusals(passages: Sequence[Passage]) -> list[VersioningError | None]:
    """Return for each version what `refusal` does, in their order.

    The number of statements does not depend on how many they are; callers with different rights take one
    more for each, where versions refer to prompt blocks.
    """
    found: list[VersioningError | None] = [_without_right(one) for one in passages]
    for foresee in (_foresee_blocks, *(one.foresee for one in _registered)):
        left = [number for number, error in enumerate(found) if error is None]
        if left:
            for number, error in zip(left, foresee([passages[one] for one in left]), strict=True):
                found[number] = error
    return found


def let_through(passage: Passage, code: Registry) -> None:
    """Raise unless the version may go live; record what it may then run and show.

    First checks the right to publish, then whether every prompt block that the version refers to is
    published, then the registered checks in order. Raises `Forbidden`, `Invalid` with the code
    `unpublished_blocks`, and whatever a check raises.
    """
    resource, version, caller = passage.resource, passage.version, passage.caller
    caller.require(Right.PUBLISH, resource.workspace_id)  # before anything is locked
    keep_targets(type(resource), version.config)
    steps = _check(passage)
    grant(version, caller, code, anew=version.version_id != resource.active_id)
    for step in steps:
        step()


def _check(passage: Passage) -> list[Then]:
    """Raise unless the version may go live: the rights, the blocks, then what is registered, in order."""
    passage.caller.require(Right.PUBLISH, passage.resource.workspace_id)
    refuse_unpublished_blocks(passage.version.config, passage.caller, passage.blocks)
    steps = (one.check(passage) for one in _registered)
    return [step for step in steps if step is not None]


def _without_right(passage: Passage) -> VersioningError | None:
    try:
        passage.caller.require(Right.PUBLISH, passage.resource.workspace_id)
    except VersioningError as error:
        return error
    return None


def _foresee_blocks(passages: Sequence[Passage]) -> list[VersioningError | None]:
    asked = [(one.version.config, one.caller, one.blocks) for one in passages]
    return list(unpublished_blocks(asked))


def _foresee_with(check: Check, passages: Sequence[Passage]) -> list[VersioningError | None]:
    found: list[VersioningError | None] = []
    for passage in passages:
        try:
            check(passage)
        except VersioningError as error:
            found.append(error)
        else:
            found.append(None)
    return found


def grant_more(resource: VersionedResource, version: Snapshot, caller: Caller, code: Registry) -> bool:
    """Extend the grants of a live version by what the caller may read; return whether there was anything new.

    The version passed the gate when it went live, and it becomes readable to nobody else.
    """
    keep_targets(type(resource), version.config)
    return grant(version, caller, code, anew=False)
