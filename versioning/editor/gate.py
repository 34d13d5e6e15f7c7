"""The gate: checks that must pass before a version becomes readable without the right to drafts.

Every way to publish goes through here, in the transaction that moves the pointer or releases the label:
activate, `autoPublish`, publishing in Python and in the studio, releasing a label, publishing an override to
its file, and `import_overrides`. `tests/editor/test_gate.py` tests each of them and finds code that bypasses
the gate.

An application declares its check (`EditorApp.checks`). To refuse, a check raises an error of
`versioning.domain.errors`, which the API and the studio answer with; then nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from editor_client.shared.configurations import MAX_MESSAGE

from versioning.domain.access import Right, RightsChanged
from versioning.domain.agents import Registry
from versioning.domain.errors import Forbidden, Invalid, VersioningError
from versioning.domain.registering import require_callable, require_instance
from versioning.domain.texts import checked_text
from versioning.editor.publish_requests import Options, PublishRequest, TakeDownRequest, VisibilityRequest
from versioning.models import Workspace, events
from versioning.models.compiled_queries import ValuesByKeys
from versioning.serving.grants import keep_targets, store_grants
from versioning.serving.reference_checks import refuse_unpublished_blocks, unpublished_blocks


class OptionRefused(Forbidden):
    """The caller may not use an option: the request is at fault, not the version."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """A value that a caller can send along when a version goes live."""

    member: str
    """The name of the member in API request bodies, such as `bypassReview`."""
    schema: Any
    """The member's type, from `versioning.api.schemas`, which validates and documents it."""
    from_body: Callable[[Any], object]
    """Converts a valid member to the Python value."""
    reason_against: str = ""
    """The code of the refusal that a caller overrules with the value, a text that says why; the pages that
    publish ask for it. Empty for an option that is no reason."""
    metavar: str = ""
    """The metavar of the value, a text, in `manage.py import_overrides`; empty: it has no such option."""
    help: str = ""
    """The help text for that command, and for the parameter of deletions."""
    is_for_take_down: bool = False
    """Whether requests to unpublish or to delete accept the option, too."""


Then = Callable[[], object]
"""A step to run in the transaction after all checks have passed."""
CheckFunction = Callable[[PublishRequest], Then | None]
"""Raises where a version may not pass. It changes nothing, because pages ask it too: what is to be done when
the version passes is what it returns."""
TakeDownFunction = Callable[[TakeDownRequest], Then | None]
"""Like a `CheckFunction`, for a resource that is unpublished or deleted."""
VisibilityFunction = Callable[[VisibilityRequest], Then | None]
"""Like a `CheckFunction`, for a resource that is shown to other workspaces, or hidden from them."""
RefusalsFunction = Callable[[Sequence[PublishRequest]], Sequence[VersioningError | None]]
"""Returns for each request the error that a check would raise, or None.

The number of statements does not depend on the number of requests.
"""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check that an application adds for versions about to go live."""

    check: CheckFunction
    refusals: RefusalsFunction | None = None
    """Answers like `check` for many versions at once; without it, `check` is called for each."""
    take_down: TakeDownFunction | None = None
    """Checks whether a resource may be unpublished or deleted."""
    take_down_refusal: Callable[[TakeDownRequest], VersioningError | None] | None = None
    """Returns the error that `take_down` would raise, or None, and locks nothing.

    Without it, `take_down` is called, and must lock nothing either.
    """
    visibility: VisibilityFunction | None = None
    """Checks whether the visibility of a resource may change."""
    needed_by: Callable[[], QuerySet[Any]] | None = None
    """Returns the rows, each with a `workspace`, that make the check necessary.

    The check is not called for a resource in a workspace without such a row, unless the caller has sent one
    of its options. The rows of all checks are looked for in one statement, so that a capability costs nothing
    where it is not used.
    """
    is_needed_anywhere: bool = False
    """Whether a row of `needed_by` in any workspace makes the check necessary for all."""
    drafts_by_default: Callable[[str], bool] | None = None
    """Returns whether new resources of a workspace are drafts, unless the caller asks to publish them."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """The options of a `PublishRequest` that the check reads, by their argument names in Python."""


_registered: list[Check] = []


def register(check: Check) -> None:
    """Add a check, after those already registered; raises `ValueError` for an option that is taken."""
    require_instance(check, Check, by="checks")
    require_callable(check.check, by="Check(check=…)")
    optional = ("refusals", "take_down", "take_down_refusal", "visibility", "needed_by", "drafts_by_default")
    for name in optional:
        if getattr(check, name) is not None:
            require_callable(getattr(check, name), by=f"Check({name}=…)")
    for name, option in check.options.items():
        require_instance(option, Option, by=f"the option {name!r}")
        if name in options():
            raise ValueError(f"the option {name!r} is taken by another check")
    _registered.append(check)


def unregister(check: Check) -> None:
    """Remove a check; raises `ValueError` if it is not registered."""
    _registered.remove(check)


def options(*, for_take_down: bool = False) -> dict[str, Option]:
    """Return the options of all checks, by their argument names in Python.

    With `for_take_down`, returns only those that requests to unpublish or to delete accept.
    """
    return {
        name: option
        for one in _registered
        for name, option in one.options.items()
        if option.is_for_take_down or not for_take_down
    }


def with_reason(reason: str, refusals: Collection[str]) -> Options:
    """Return the options that overrule the refusals with these codes, each set to the reason."""
    return {
        name: reason
        for name, option in options().items()
        if option.reason_against and option.reason_against in refusals
    }


def split_options(named: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Return the options among keyword arguments that are not None, and the other arguments."""
    known = options()
    given = {name: value for name, value in named.items() if name in known and value is not None}
    return given, {name: value for name, value in named.items() if name not in known}


def only_options(named: Mapping[str, Any]) -> Options:
    """Return keyword arguments that are options; raises `TypeError` for any other, as Python does."""
    given, others = split_options(named)
    if others:
        raise TypeError(f"got an unexpected keyword argument {next(iter(others))!r}")
    return given


def require_reason(
    request: PublishRequest | TakeDownRequest | VisibilityRequest, option: str, *, member: str, refusal: str
) -> None:
    """Raise unless the caller may overrule a check with a reason, and the option is one.

    Raises `OptionRefused` with the `refusal` for callers who are no admins, and `Invalid` naming the member.
    """
    if not request.caller.may(Right.ADMINISTER, request.resource.workspace_id):
        raise OptionRefused(refusal)
    reason = reason_of(request, option)
    if not reason:
        raise Invalid.field(f"{member}.reason", "must not be blank")
    checked_text(f"{member}.reason", reason, MAX_MESSAGE)


def reason_of(request: PublishRequest | TakeDownRequest | VisibilityRequest, option: str) -> str:
    """Return the reason that an option holds, without the white space around it."""
    return str(request.options[option] or "").strip()


def drafts_by_default(workspace_id: str) -> bool:
    """Return whether new resources of a workspace are drafts unless the caller asks to publish them."""
    return any(one.drafts_by_default and one.drafts_by_default(workspace_id) for one in _registered)


def refusal(request: PublishRequest, code: Registry) -> VersioningError | None:
    """Return the error with which the gate would refuse the version now, or None.

    Nothing is locked or changed, so the answer may differ a moment later.
    """
    [found] = refusals([request], code)
    return found


def refusals(requests: Sequence[PublishRequest], code: Registry) -> list[VersioningError | None]:
    """Return what `refusal` returns for each version, in order.

    The number of statements does not depend on the number of versions, except that callers with different
    rights take one more each where versions refer to prompt blocks, and versions that are already live a few
    each.
    """
    found: list[VersioningError | None] = [_without_right(one) for one in requests]
    moves = [not one.is_live_already or bool(one.grants(code)) for one in requests]
    for ask in _askers():
        left = [number for number, error in enumerate(found) if error is None and moves[number]]
        if left:
            for number, error in zip(left, ask([requests[one] for one in left]), strict=True):
                found[number] = error
    return found


def further_refusals(request: PublishRequest, first: VersioningError) -> list[VersioningError]:
    """Return with which errors checks after the one with the `first` error would refuse the version, too."""
    found: list[VersioningError] = []
    for ask in reversed(_askers()):
        [error] = ask([request])
        if error is None:
            continue
        if error.code == first.code:
            return found
        found.insert(0, error)
    return []  # the first error is about the caller's rights, which come before all checks


def _askers() -> Sequence[Callable[[Sequence[PublishRequest]], Sequence[VersioningError | None]]]:
    """Return the checks in order, as functions that return the refusals of several versions."""
    return (
        _refusals_of_blocks,
        *(one.refusals or partial(_one_by_one, one.check) for one in _registered),
    )


def check(request: PublishRequest, code: Registry) -> bool:
    """Raise unless the version may go live; record its grants, and return whether anything was checked.

    First checks the right to publish, then whether every prompt block that the version refers to is
    published, then the registered checks in order. Raises `Forbidden`, `Invalid` with the code
    `unpublished_blocks`, and what a check raises. A version that is already live is checked only if it would
    gain grants.
    """
    resource, version = request.resource, request.version
    request.caller.require_publish(resource.workspace_id)  # before locking
    keep_targets(type(resource), version.config)  # before it is found out what they are
    grants = request.grants(code)
    if request.is_live_already and not grants:
        return False
    needed = _needed(request)
    steps = _steps(request, needed)
    events.at_commit(partial(_refuse_what_is_needed_by_now, request, needed))
    store_grants(version, grants)
    for step in steps:
        step()
    return True


def take_down_refusal(request: TakeDownRequest) -> VersioningError | None:
    """Return the error that `check_take_down` would raise now, or None; nothing is locked or changed."""
    try:
        for one in _registered:
            if one.take_down_refusal is not None:
                found = one.take_down_refusal(request)
                if found is not None:
                    return found
            elif one.take_down is not None:
                one.take_down(request)
    except VersioningError as error:
        return error
    return None


def check_take_down(request: TakeDownRequest) -> None:
    """Raise what a check raises unless a resource may be unpublished or deleted."""
    _act(one.take_down(request) for one in _registered if one.take_down is not None)


def check_visibility(request: VisibilityRequest) -> None:
    """Raise what a check raises unless the visibility of a resource may change."""
    _act(one.visibility(request) for one in _registered if one.visibility is not None)


def _act(asked: Iterable[Then | None]) -> None:
    for step in [step for step in asked if step is not None]:
        step()


def _steps(request: PublishRequest, needed: Sequence[Check]) -> list[Then]:
    """Raise unless the version may go live; return the steps of the needed checks, in order."""
    refuse_unpublished_blocks(request.version.config, request.caller, request.blocks)
    steps = (one.check(request) for one in needed)
    return [step for step in steps if step is not None]


def _refuse_what_is_needed_by_now(
    request: PublishRequest, needed: Sequence[Check], rights_position: int
) -> None:
    """Raise `RightsChanged` if a check has become necessary since; then the verb begins again.

    Somebody has made a gate, and was answered, between the check and the position of this transaction. What
    makes a check necessary in one workspace alone, this transaction may have made itself, such as a rollout.
    """
    if rights_position != request.caller.rights_position and any(
        one.is_needed_anywhere and one not in needed for one in _needed(request)
    ):
        raise RightsChanged(request.caller)


def _needed(request: PublishRequest) -> Sequence[Check]:
    """Return the checks that a version has to pass, in order; takes at most one statement."""
    asked = [one for one in _registered if one.needed_by and not one.options.keys() & request.options]
    if not asked:
        return _registered
    rows = _workspaces(tuple((one.needed_by, one.is_needed_anywhere) for one in asked)).get(
        [request.resource.workspace_id]
    )
    if not rows:  # the workspace has been deleted meanwhile, and the commit will be refused
        return _registered
    needless = [one for one, is_needed in zip(asked, rows[0], strict=True) if not is_needed]
    return [one for one in _registered if one not in needless]


@lru_cache(maxsize=32)
def _workspaces(needed_by: tuple[tuple[Callable[[], QuerySet[Any]], bool], ...]) -> ValuesByKeys:
    """Return the query that tells of workspaces which of these rows they have, built once."""
    found = {
        f"has_{number}": Exists(rows() if anywhere else rows().filter(workspace=OuterRef("pk")))
        for number, (rows, anywhere) in enumerate(needed_by)
    }
    return ValuesByKeys(Workspace.objects.order_by().annotate(**found).values_list(*found))


def _without_right(request: PublishRequest) -> VersioningError | None:
    try:
        request.caller.require_publish(request.resource.workspace_id)
    except VersioningError as error:
        return error
    return None


def _refusals_of_blocks(requests: Sequence[PublishRequest]) -> list[VersioningError | None]:
    asked = [(one.version.config, one.caller, one.blocks) for one in requests]
    return list(unpublished_blocks(asked))


def _one_by_one(check: CheckFunction, requests: Sequence[PublishRequest]) -> list[VersioningError | None]:
    found: list[VersioningError | None] = []
    for request in requests:
        try:
            check(request)
        except VersioningError as error:
            found.append(error)
        else:
            found.append(None)
    return found
