"""The gate's check of a version: every evaluation gate has its evidence, or an admin bypasses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from editor_client.shared.configurations import MAX_MESSAGE
from editor_client.shared.gates import Rule, State
from pydantic import Field

from evaluation.experiments.models import public_id
from evaluation.gates.affected import Move, concerned_by
from evaluation.gates.judging import Judgement, Request, judged, known_to
from evaluation.gates.models import Bypass, Gate
from versioning.api.schemas.base import RequestSchema
from versioning.conf import get_editor
from versioning.domain.access import Right, RightsChanged
from versioning.domain.agents import AGENT
from versioning.domain.config import NotBlank
from versioning.domain.errors import Forbidden, Message, ResourceId, VersioningError
from versioning.editor import gate
from versioning.editor.publish_requests import PublishRequest, TakeDownRequest
from versioning.models import events
from versioning.serving.grants import target_of

_OPTION: Final = "bypass_evaluation"
_MEMBER: Final = "bypassEvaluation"


class EvaluationRequired(Forbidden):
    """A version may not go live: the evidence that a gate asks for is missing, or speaks against it."""

    code = "evaluation_required"

    def __init__(self, judgements: Sequence[Judgement], hidden_gates: int) -> None:
        super().__init__(sentence(judgements[0]) if judgements else _HIDDEN)
        self.judgements = tuple(judgements)
        """What the gates say that are not satisfied, about agents that the caller may know of."""
        self.hidden_gates = hidden_gates
        """How many others are not satisfied."""

    def details(self) -> dict[str, Any]:
        """Return what each gate says that is not satisfied."""
        return {
            "evaluation": [as_json(one) for one in self.judgements],
            "hiddenGates": self.hidden_gates,
        }


_HIDDEN: Final = Message("An agent that uses this block lacks the evidence that a gate requires.")


def as_json(judgement: Judgement) -> dict[str, Any]:
    """Return what a gate says as a JSON object."""
    return {
        "gateId": str(judgement.gate.pk),
        "resource": {"kind": AGENT.slug, "id": judgement.affected.id},
        "state": judgement.state,
        "rule": judgement.rule,
        "experimentId": judgement.experiment_id and public_id(judgement.experiment_id),
    }


def sentence(judgement: Judgement) -> str:
    """Return why a gate is not satisfied, in a sentence."""
    is_of_live = judgement.state is State.MISSING and judgement.rule is not None
    return Message(
        _NO_EVIDENCE_OF_LIVE if is_of_live else _SENTENCES[judgement.state or State.MISSING],
        id=ResourceId(AGENT.slug, judgement.affected.id),
        dataset=judgement.gate.dataset.name,
        rule=rule_in_words(judgement.rule) if judgement.rule else "",
    )


_NO_EVIDENCE_OF_LIVE: Final = Message(
    "The last live version of {id} has not been tested on “{dataset}”, and a gate compares with it."
)
_SENTENCES: Final = {
    State.SCORER_GONE: Message(
        "The gate for {id} on “{dataset}” can’t be checked: a scorer, or the prompt block of a judge, was "
        "deleted. A new one with the same id does not count."
    ),
    State.RUNNING: Message("{id} is being tested on “{dataset}”. Wait for the result."),
    State.INCOMPLETE: Message(
        "The test of {id} on “{dataset}” is incomplete: it has errors, was stopped, or has too few attempts."
    ),
    State.FAILED: Message("{id} was tested on “{dataset}” and failed the rule “{rule}”."),
    State.TOO_FEW: Message(
        "{id} was tested on “{dataset}”, which has too few items to show the rule “{rule}”."
    ),
    State.STALE: Message(
        "The test of {id} on “{dataset}” is out of date: items or scorers have changed, or it is too old."
    ),
    State.MISSING: Message("{id} has not been tested on “{dataset}” with this change."),
}
_RULES: Final = {
    "notWorse": Message("not worse than live"),
    "noNewFailures": Message("no new failures compared with live"),
    "allPass": Message("every item passes"),
}


def rule_in_words(rule: Rule) -> Message:
    """Return a rule of a gate in a few words, for sentences."""
    match rule["rule"]:
        case "nonInferior":
            return Message("at most {number} worse than live", number=f"{rule['margin']:g}")
        case "passRate":
            return Message("at least {number}% of the items pass", number=f"{100 * rule['min']:g}")
        case "maxTokens":
            return Message("at most {number} times the tokens of live", number=f"{rule['ratio']:g}")
        case name:
            return _RULES[name]


class BypassEvaluation(RequestSchema):
    """An admin's reason to change what is live without the evidence of gates; the log records it."""

    reason: Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]


def check(request: Request) -> gate.Then | None:
    """Raise `EvaluationRequired` unless every gate has its evidence; see `versioning.editor.gate`.

    Changes are judged one after the other, so that each sees what the others make live: the gates stay locked
    until the transaction ends, and so do the datasets of those that are asked. Raises `OptionRefused` for a
    bypass that the caller may not use, needed or not, and `Invalid` for one without a reason.
    """
    _require_bypass(request)
    known = {gate.pk for gate in Gate.objects.enabled().in_turn()}
    events.at_commit(partial(_refuse_new_gates, request, known))
    if not known:
        return None
    concerned = concerned_by(Move.of(request))
    if not concerned or not list(Gate.objects.asking(concerned).locked().only("id", "dataset__id")):
        return None
    failing = [one for one in judged(request, concerned) if not one.ok]
    if not failing:
        return None
    if _OPTION not in request.options:
        raise _required(request, failing)
    _refuse_where_the_caller_may_not(request, failing)
    return partial(_record_bypass, request, failing)


def _refuse_new_gates(request: Request, known: Collection[UUID], rights_position: int) -> None:
    """Raise `RightsChanged` if there is a gate that was not asked; then the verb begins again.

    The gates that were asked are locked until the commit, and another one can be made meanwhile.
    """
    if rights_position != request.caller.rights_position and not set(
        Gate.objects.enabled().order_by().values_list("pk", flat=True)
    ) <= set(known):
        raise RightsChanged(request.caller)


def refusals(requests: Sequence[PublishRequest]) -> list[VersioningError | None]:
    """Return for each request the error that `check` would raise, or None.

    Takes one statement where there is no gate; where there is one, a number that rises with the agents.
    """
    has_gates = bool(requests) and Gate.objects.enabled().exists()
    return [_refusal(request, has_gates=has_gates) for request in requests]


def _take_down_refusal(request: TakeDownRequest) -> VersioningError | None:
    return _refusal(request, has_gates=Gate.objects.enabled().exists())


def _refusal(request: Request, *, has_gates: bool) -> VersioningError | None:
    try:
        _require_bypass(request)
        failing = [one for one in judged(request) if not one.ok] if has_gates else []
        if failing and _OPTION in request.options:
            _refuse_where_the_caller_may_not(request, failing)
        elif failing:
            return _required(request, failing)
    except VersioningError as error:
        return error
    return None


def _required(request: Request, failing: Sequence[Judgement]) -> EvaluationRequired:
    """Return the error, which names no agent that the caller may not read, or their key does not reach."""
    known = [one for one in failing if known_to(request.caller, one)]
    hidden = {one.gate.pk for one in failing if not known_to(request.caller, one)}
    return EvaluationRequired(known, len(hidden))


def _require_bypass(request: Request) -> None:
    if _OPTION in request.options:
        gate.require_reason(
            request,
            _OPTION,
            member=_MEMBER,
            refusal=Message("Only admins of the workspace may publish without evidence."),
        )


def _refuse_where_the_caller_may_not(request: Request, failing: Sequence[Judgement]) -> None:
    """Raise `OptionRefused` unless the caller is an admin wherever the gates are, and these let admins."""
    if any(one.gate.bypass == Bypass.NOBODY for one in failing):
        raise gate.OptionRefused("One of the gates lets no one publish without evidence.")
    if not all(request.caller.may(Right.ADMINISTER, one.gate.workspace_id) for one in failing):
        raise gate.OptionRefused(
            "One of the gates belongs to a workspace of which you are no admin: it is not bypassed from here."
        )


def _record_bypass(request: Request, failing: Sequence[Judgement]) -> None:
    """Record who published a version without evidence, or took one down, and why."""
    target = target_of(request.resource, get_editor().code)
    for one in {judgement.gate.pk: judgement.gate for judgement in failing}.values():
        events.record(
            "gate.bypassed",
            by=request.caller,
            workspace_id=target.workspace_id,
            resource=target,
            version=request.version if isinstance(request, PublishRequest) else None,
            label=request.label if isinstance(request, PublishRequest) else None,
            gateId=str(one.pk),
            dataset=one.dataset.name,
            reason=gate.reason_of(request, _OPTION),
        )


def _reason(member: Any) -> object:
    return member["reason"]


EVIDENCE: Final = gate.Check(
    check=check,
    refusals=refusals,
    take_down=check,
    visibility=check,
    take_down_refusal=_take_down_refusal,
    needed_by=Gate.objects.enabled,
    is_needed_anywhere=True,
    options={
        _OPTION: gate.Option(
            member=_MEMBER,
            schema=BypassEvaluation,
            from_body=_reason,
            reason_against=EvaluationRequired.code,
            metavar="REASON",
            help="change what is live without evidence, for this reason, which the log records",
            is_for_take_down=True,
        )
    },
)
