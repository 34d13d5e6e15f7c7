"""The gate: checks that must pass before a version becomes readable without the right to drafts.

Every way to publish goes through here, in the transaction that moves the pointer or releases the label:
activate, `autoPublish`, publishing in Python and in the studio, releasing a label, publishing an override to
its file, and `import_overrides`. `tests/editor/test_gate.py` tests each of them and finds code that bypasses
the gate.

An application declares its check (`EditorApp.checks`): one function that decides a list of requests. Pages
show the errors for many versions (`refusals`). A change of one version raises the first error, with which the
API and the studio answer, or runs the steps that the checks return (`check`).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from editor_client.shared.configurations import MAX_MESSAGE

from versioning.domain.access import Caller, Right, RightsChanged
from versioning.domain.agents import Registry
from versioning.domain.errors import Forbidden, Invalid, VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.registering import require_callable, require_instance
from versioning.domain.snapshots import Snapshot
from versioning.domain.texts import checked_text
from versioning.models import VersionedResource, Workspace, events
from versioning.models.statements import ValuesByKeys
from versioning.serving.grants import (
    Grants,
    Names,
    Targets,
    find_targets,
    grants_for,
    keep_targets,
    names_in,
    store_grants,
)
from versioning.serving.overlays import Versions
from versioning.serving.references import unpublished_blocks

Options = Mapping[str, Any]
"""Values of options, by their argument names in Python."""
NO_OPTIONS: Final[Options] = MappingProxyType({})
ALONE: Final[Versions] = MappingProxyType({})
"""No other resource goes live in the same transaction."""


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """A change about which the gate decides."""

    resource: VersionedResource
    """The resource in its state before the change."""
    caller: Caller
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    """The options that the caller has sent, by name; each check reads its own."""
    at: datetime.datetime = field(default_factory=timezone.now)
    """When it changes: now, or the time of its schedule, in UTC."""
    together: Versions = field(default_factory=lambda: ALONE)
    """The resources that go live or are taken down in the same transaction."""
    before: Versions = field(default_factory=lambda: ALONE)
    """The live versions, before the transaction, of the resources that change in it."""
    for_update: bool = False
    """Whether the change is made in this transaction, which has locked the resource; the gate sets it.

    A check then locks the rows that it reads if they could change before the commit.
    """


@dataclass(frozen=True, kw_only=True)
class PublishRequest(GateRequest):
    """A version that is about to go live."""

    version: Snapshot
    label: str | None = None
    """The label that is about to release it; None if it becomes the active version, or `keeps_active`."""
    keeps_active: bool = False
    """Whether the active version stays because only a share of the requests gets this one."""

    @property
    def blocks(self) -> Mapping[str, bool]:
        """The prompt blocks that are published (True) or unpublished (False) in the same transaction."""
        return {
            resource_id: value.version_id is not None
            for (slug, resource_id), value in self.together.items()
            if KINDS_BY_SLUG[slug].is_shown
        }

    @cached_property
    def targets(self) -> Targets:
        """The resources that the version currently names: checks judge them; the version is granted them."""
        return find_targets(self.names)

    @cached_property
    def names(self) -> Names:
        """The ids that the version names."""
        return names_in(type(self.resource), self.version.config)

    @property
    def is_live_already(self) -> bool:
        """Return whether the version is already active, and no label is about to release it."""
        return self.label is None and self.version.version_id == self.resource.active_id

    def grants(self, code: Registry) -> Grants:
        """Return the grants that the version would gain."""
        replaces = self.version.version_id != self.resource.active_id
        return grants_for(self.version, self.names, self.targets, self.caller, code, replaces=replaces)


@dataclass(frozen=True, kw_only=True)
class TakeDownRequest(GateRequest):
    """A resource that is about to be unpublished or deleted, so that none of its versions is served."""


@dataclass(frozen=True, kw_only=True)
class VisibilityRequest(GateRequest):
    """A resource whose live version is about to be shown to other workspaces, or hidden from them."""

    visibility: str
    """The new visibility: a value of `versioning.models.Visibility`."""


R = TypeVar("R")


class OptionRefused(Forbidden):
    """The caller may not use an option: the request is at fault, not the version."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option that a caller can set when a version goes live."""

    member: str
    """The name of the member in API request bodies, such as `bypassReview`."""
    schema: Any
    """The member's type, from `versioning.api.schemas`, which validates and documents it."""
    from_body: Callable[[Any], object]
    """Converts a valid member to the Python value."""
    reason_against: str = ""
    """The code of the refusal that the value overrules: a text with the reason, which the pages that publish
    request. Empty for other options."""
    metavar: str = ""
    """The metavar of the option in `manage.py import_overrides`; empty if the command does not have it."""
    help: str = ""
    """The help text for that command, and for the parameter of deletions."""
    is_for_take_down: bool = False
    """Whether requests to unpublish or to delete accept the option, too."""


Then = Callable[[], object]
"""A step to run in the transaction after all checks have passed."""


@dataclass(frozen=True)
class Decision:
    """The decision of a check about a request; by default it passes."""

    error: VersioningError | None = None
    """The refusal; None if the request passes."""
    then: Then | None = None
    """The step to run if the request passes all checks and the change is made."""


def each(judge: Callable[[R], Then | None]) -> Callable[[Sequence[R]], list[Decision]]:
    """Return a `decide` function that judges one request at a time.

    `judge` raises to refuse a request, and may return a step to run if it passes. A check that queries the
    database needs its own `decide`, so that a list does not take a query for every request.
    """

    def decide(requests: Sequence[R]) -> list[Decision]:
        decisions = []
        for request in requests:
            try:
                decisions.append(Decision(then=judge(request)))
            except VersioningError as error:
                decisions.append(Decision(error))
        return decisions

    return decide


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check that an application adds for versions about to go live.

    Its functions receive one or more requests and return a decision for each, in order. They change nothing.
    The number of statements should not depend on the number of requests. A request that is `for_update` is
    the only one in the list; only then may a check lock rows.
    """

    decide: Callable[[Sequence[PublishRequest]], Sequence[Decision]]
    decide_take_down: Callable[[Sequence[TakeDownRequest]], Sequence[Decision]] | None = None
    """Decides whether resources may be unpublished or deleted."""
    decide_visibility: Callable[[Sequence[VisibilityRequest]], Sequence[Decision]] | None = None
    """Decides whether resources may be shown to other workspaces, or hidden from them."""
    needed_by: Callable[[], QuerySet[Any]] | None = None
    """Returns the rows, each with a `workspace`, that make the check necessary.

    The check is not called for a resource in a workspace without such a row, unless the caller has sent one
    of its options. The rows of all checks are looked for in one statement, so that a capability costs nothing
    where it is not used.
    """
    is_needed_anywhere: bool = False
    """Whether a row of `needed_by` in any workspace makes the check necessary for all."""
    drafts_by_default: Callable[[str], bool] | None = None
    """Returns whether new resources of a workspace are drafts unless the caller publishes them explicitly."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """The options of requests that the check reads, by their argument names in Python."""

    def decisions(self, requests: Sequence[GateRequest]) -> list[Decision]:
        """Return a decision for each request, in order; a kind of request without a function passes."""
        decisions = [Decision()] * len(requests)
        functions: Any = {
            PublishRequest: self.decide,
            TakeDownRequest: self.decide_take_down,
            VisibilityRequest: self.decide_visibility,
        }
        for kind, decide in functions.items():
            numbers = [number for number, request in enumerate(requests) if isinstance(request, kind)]
            if decide is not None and numbers:
                decided = decide([requests[number] for number in numbers])
                for number, decision in zip(numbers, decided, strict=True):
                    decisions[number] = decision
        return decisions


_registered: list[Check] = []


def register(check: Check) -> None:
    """Add a check, after those already registered; raises `ValueError` for an option that is taken."""
    require_instance(check, Check, by="checks")
    require_callable(check.decide, by="Check(decide=…)")
    optional = ("decide_take_down", "decide_visibility", "needed_by", "drafts_by_default")
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
        for check in _registered
        for name, option in check.options.items()
        if option.is_for_take_down or not for_take_down
    }


def with_reason(reason: str, refusals: Collection[str]) -> Options:
    """Return the options that overrule the refusals with these codes, each set to the reason."""
    return {
        name: reason
        for name, option in options().items()
        if option.reason_against and option.reason_against in refusals
    }


def split_options(kwargs: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Return the options among keyword arguments that are not None, and the other arguments."""
    declared = options()
    gate_options = {name: value for name, value in kwargs.items() if name in declared and value is not None}
    return gate_options, {name: value for name, value in kwargs.items() if name not in declared}


def only_options(kwargs: Mapping[str, Any]) -> Options:
    """Return keyword arguments that are options; raises `TypeError` for any other, as Python does."""
    gate_options, unknown = split_options(kwargs)
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {next(iter(unknown))!r}")
    return gate_options


def require_reason(request: GateRequest, option: str, *, member: str, refusal: str) -> None:
    """Raise unless the caller may overrule a check and the option is a valid reason.

    Raises `OptionRefused` with the `refusal` for callers who are not admins, and `Invalid` naming the member.
    """
    if not request.caller.may(Right.ADMINISTER, request.resource.workspace_id):
        raise OptionRefused(refusal)
    reason = reason_of(request, option)
    if not reason:
        raise Invalid.field(f"{member}.reason", "must not be blank")
    checked_text(f"{member}.reason", reason, MAX_MESSAGE)


def reason_of(request: GateRequest, option: str) -> str:
    """Return the reason that an option holds, without the white space around it."""
    return str(request.options[option] or "").strip()


def drafts_by_default(workspace_id: str) -> bool:
    """Return whether new resources of a workspace are drafts unless the caller publishes them explicitly."""
    return any(check.drafts_by_default and check.drafts_by_default(workspace_id) for check in _registered)


def refusal(request: GateRequest, code: Registry) -> VersioningError | None:
    """Return the error with which the gate would refuse the change now, or None.

    Nothing is locked or changed, so the answer may differ a moment later.
    """
    [error] = refusals([request], code)
    return error


def _is_without_effect(request: GateRequest, code: Registry) -> bool:
    """Return whether the version is live already, and would gain no grants."""
    return isinstance(request, PublishRequest) and request.is_live_already and not request.grants(code)


def refusals(requests: Sequence[GateRequest], code: Registry) -> list[VersioningError | None]:
    """Return the result of `refusal` for each request, in order.

    The number of statements does not depend on the number of requests, with two exceptions. Callers with
    different rights take one more each if versions refer to prompt blocks, and versions that are already live
    take a few each.
    """
    errors = [decision.error for decision in _RIGHTS.decisions(requests)]
    pending = [
        number
        for number, request in enumerate(requests)
        if errors[number] is None and not _is_without_effect(request, code)
    ]
    for check in (_BLOCKS, *_find_needed_checks([requests[number] for number in pending])):
        decisions = check.decisions([requests[number] for number in pending])
        for number, decision in zip(pending, decisions, strict=True):
            errors[number] = decision.error
        pending = [number for number in pending if errors[number] is None]
    return errors


def further_refusals(request: PublishRequest, first: VersioningError) -> list[VersioningError]:
    """Return the errors of later checks that would refuse the version in addition to the `first` error."""
    errors: list[VersioningError] = []
    for check in reversed((_BLOCKS, *_find_needed_checks([request]))):
        [decision] = check.decisions([request])
        if decision.error is None:
            continue
        if decision.error.code == first.code:
            return errors
        errors.insert(0, decision.error)
    return []  # the first error is about the caller's rights, which come before all checks


def check(request: PublishRequest, code: Registry) -> bool:
    """Raise unless the version may go live; record its grants, and return whether anything was checked.

    First checks the right to publish, then whether every prompt block that the version refers to is
    published, then the registered checks in order. Raises `Forbidden`, `Invalid` with the code
    `unpublished_blocks`, and the errors of checks. A version that is already live is checked only if it would
    gain grants.
    """
    request = replace(request, for_update=True)
    resource, version = request.resource, request.version
    request.caller.require_publish(resource.workspace_id)  # before locking
    keep_targets(request.names)  # before they are determined
    grants = request.grants(code)
    if request.is_live_already and not grants:
        return False
    needed = _find_needed_checks([request])
    steps = _steps(request, (_BLOCKS, *needed))
    events.at_commit(partial(_refuse_what_is_needed_by_now, request, needed))
    store_grants(version, grants)
    for step in steps:
        step()
    return True


def check_take_down(request: TakeDownRequest) -> None:
    """Raise the error of a check unless a resource may be unpublished or deleted."""
    for step in _steps(replace(request, for_update=True), _registered):
        step()


def check_visibility(request: VisibilityRequest) -> None:
    """Raise the error of a check unless the visibility of a resource may change."""
    for step in _steps(replace(request, for_update=True), _registered):
        step()


def _steps(request: GateRequest, checks: Sequence[Check]) -> list[Then]:
    """Raise the first error of the checks; return the steps to run if there is none."""
    steps = []
    for check in checks:
        [decision] = check.decisions([request])
        if decision.error is not None:
            raise decision.error
        if decision.then is not None:
            steps.append(decision.then)
    return steps


def _refuse_what_is_needed_by_now(
    request: PublishRequest, needed: Sequence[Check], rights_position: int
) -> None:
    """Raise `RightsChanged` if a check has become necessary meanwhile; the verb then starts again.

    Another user has created a gate between the check and this transaction's position in the log. Rows that
    make a check necessary in one workspace only, such as a rollout, may come from this transaction itself.
    """
    if rights_position != request.caller.rights_position and any(
        check.is_needed_anywhere and check not in needed for check in _find_needed_checks([request])
    ):
        raise RightsChanged(request.caller)


def _find_needed_checks(requests: Sequence[GateRequest]) -> Sequence[Check]:
    """Return the checks that one of the requests has to pass, in order; takes at most one statement."""
    options = {name for request in requests for name in request.options}
    optional = [check for check in _registered if check.needed_by and not check.options.keys() & options]
    if not optional or not requests:
        return _registered
    rows = _workspaces(tuple((check.needed_by, check.is_needed_anywhere) for check in optional)).get(
        {request.resource.workspace_id for request in requests}
    )
    if not rows:  # the workspace has been deleted meanwhile, and the commit will be refused
        return _registered
    needless = [check for check, *is_needed in zip(optional, *rows, strict=True) if not any(is_needed)]
    return [check for check in _registered if check not in needless]


@lru_cache(maxsize=32)
def _workspaces(needed_by: tuple[tuple[Callable[[], QuerySet[Any]], bool], ...]) -> ValuesByKeys:
    """Return the query for which of these rows each workspace has, built once."""
    annotations = {
        f"has_{number}": Exists(rows() if anywhere else rows().filter(workspace=OuterRef("pk")))
        for number, (rows, anywhere) in enumerate(needed_by)
    }
    return ValuesByKeys(Workspace.objects.order_by().annotate(**annotations).values_list(*annotations))


def _decide_blocks(requests: Sequence[PublishRequest]) -> list[Decision]:
    references = [(request.version.config, request.caller, request.blocks) for request in requests]
    return [Decision(error) for error in unpublished_blocks(references)]


_RIGHTS: Final = Check(
    decide=each(lambda request: request.caller.require_publish(request.resource.workspace_id))
)
_BLOCKS: Final = Check(decide=_decide_blocks)
