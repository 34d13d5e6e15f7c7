"""The gate: checks that must pass before a version becomes readable without the right to drafts.

Every way to publish goes through here, in the transaction that moves the pointer or releases the label:
activate, `autoPublish`, publishing in Python and in the studio, releasing a label, publishing an override
to its file, and `import_overrides`. `tests/editor/test_gate.py` tries each of them and finds
code that bypasses the gate.

An application of Django registers a check in `AppConfig.ready()`. To refuse, a check raises an error of
`versioning.domain.errors`, which the API and the studio answer with, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, VersioningError
from versioning.domain.registering import require_callable
from versioning.domain.registry import Registry
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving.grants import Grants, Targets, grants_for, keep_targets, store_grants, targets_of
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

    @cached_property
    def targets(self) -> Targets:
        """The resources that the version names now: the checks decide about them, and it is granted them."""
        return targets_of(type(self.resource), self.version.config)

    @property
    def is_live_already(self) -> bool:
        """Whether the version is the active one, and no label is about to release it."""
        return self.label is None and self.version.version_id == self.resource.active_id

    def grants(self, code: Registry) -> Grants:
        """Return what the version would be granted that it is not granted now."""
        anew = self.version.version_id != self.resource.active_id
        return grants_for(self.version, self.targets, self.caller, code, anew=anew)


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
    require_callable(check, by="gate.register()")
    for name, given in (("holds_back", holds_back), ("foresee", foresee)):
        if given is not None:
            require_callable(given, by=f"gate.register({name}=…)")
    one_by_one = partial(_foresee_with, check)
    _registered.append(_Registered(check=check, holds_back=holds_back, foresee=foresee or one_by_one))


def unregister(check: Check) -> None:
    """Stop asking this check; raises `ValueError` for one that is not registered."""
    index = [one.check for one in _registered].index(check)
    del _registered[index]


def holds_back(workspace_id: str) -> bool:
    """Say whether new resources of a workspace are drafts unless somebody asks to publish them."""
    return any(one.holds_back is not None and one.holds_back(workspace_id) for one in _registered)


def refusal(passage: Passage, code: Registry) -> VersioningError | None:
    """Return the error with which the gate would refuse the version now; None if it would let it pass.

    Nothing is locked or changed, so the version may be refused or let through all the same a moment later.
    """
    [found] = refusals([passage], code)
    return found


def refusals(passages: Sequence[Passage], code: Registry) -> list[VersioningError | None]:
    """Return for each version what `refusal` does, in their order.

    The number of statements does not depend on how many they are; callers with different rights take one
    more for each, where versions refer to prompt blocks, and versions that are live already a few each.
    """
    found: list[VersioningError | None] = [_without_right(one) for one in passages]
    moves = [not one.is_live_already or bool(one.grants(code)) for one in passages]
    for foresee in (_foresee_blocks, *(one.foresee for one in _registered)):
        left = [number for number, error in enumerate(found) if error is None and moves[number]]
        if left:
            for number, error in zip(left, foresee([passages[one] for one in left]), strict=True):
                found[number] = error
    return found


def let_through(passage: Passage, code: Registry) -> bool:
    """Raise unless the version may go live; record what it may then run and show, and return whether it did.

    First checks the right to publish, then whether every prompt block that the version refers to is
    published, then the registered checks in order. Raises `Forbidden`, `Invalid` with the code
    `unpublished_blocks`, and whatever a check raises. The version that is live already passes as any other
    does if it would be granted a resource that it is not granted now; otherwise nothing happens.
    """
    resource, version = passage.resource, passage.version
    passage.caller.require(Right.PUBLISH, resource.workspace_id)  # before anything is locked
    keep_targets(type(resource), version.config)  # before it is found out what they are
    grants = passage.grants(code)
    if passage.is_live_already and not grants:
        return False
    steps = _check(passage)
    store_grants(version, grants)
    for step in steps:
        step()
    return True


def _check(passage: Passage) -> list[Then]:
    """Raise unless the version may go live: the blocks, then what is registered, in order."""
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
