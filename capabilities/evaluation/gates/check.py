"""The check of a version: every evaluation gate has its evidence, or an admin bypasses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, Final
from uuid import UUID

from editor_client.shared.configurations import MAX_MESSAGE
from editor_client.shared.gates import GateState, Rule
from pydantic import Field

from capabilities.evaluation.experiments.models import public_id
from capabilities.evaluation.gates.evidence import Judgement, judge_request, known_to
from capabilities.evaluation.gates.models import Bypass, Gate
from versioning.api.schemas import RequestSchema
from versioning.conf import get_editor
from versioning.domain.access import Right, RightsChanged
from versioning.domain.agents import AGENT
from versioning.domain.config import NotBlank
from versioning.domain.errors import Forbidden, Message, ResourceId
from versioning.editor import gate
from versioning.editor.gate import GateRequest, PublishRequest
from versioning.models import events
from versioning.serving.grants import target_of

_OPTION: Final = "bypass_evaluation"
_MEMBER: Final = "bypassEvaluation"


class EvaluationRequired(Forbidden):
    """A version may not go live: the evidence that a gate requires is missing or negative."""

    code = "evaluation_required"

    def __init__(self, judgements: Sequence[Judgement], hidden_gates: int) -> None:
        super().__init__(sentence(judgements[0]) if judgements else _HIDDEN)
        self.judgements = tuple(judgements)
        """The judgements of unsatisfied gates, about agents that the caller may know of."""
        self.hidden_gates = hidden_gates
        """The number of other unsatisfied gates."""

    def details(self) -> dict[str, Any]:
        """Return the judgements of the unsatisfied gates."""
        return {
            "evaluation": [
                {
                    "gateId": str(judgement.gate.pk),
                    "resource": {"kind": AGENT.slug, "id": judgement.affected.id},
                    "state": judgement.state,
                    "rule": judgement.rule,
                    "experimentId": judgement.experiment_id and public_id(judgement.experiment_id),
                }
                for judgement in self.judgements
            ],
            "hiddenGates": self.hidden_gates,
        }


_HIDDEN: Final = Message("An agent that uses this block lacks the evidence that a gate requires.")


def sentence(judgement: Judgement) -> str:
    """Return why a gate is not satisfied, in a sentence."""
    is_of_live = judgement.state is GateState.MISSING and judgement.rule is not None
    return Message(
        _NO_EVIDENCE_OF_LIVE if is_of_live else _SENTENCES[judgement.state or GateState.MISSING],
        id=ResourceId(AGENT.slug, judgement.affected.id),
        dataset=judgement.gate.dataset.name,
        rule=rule_in_words(judgement.rule) if judgement.rule else "",
    )


_NO_EVIDENCE_OF_LIVE: Final = Message(
    "The last live version of {id} has not been tested on “{dataset}”, and a gate compares with it."
)
_SENTENCES: Final = {
    GateState.SCORER_GONE: Message(
        "The gate for {id} on “{dataset}” can’t be checked: a scorer, or the prompt block of a judge, was "
        "deleted. A new one with the same id does not count."
    ),
    GateState.RUNNING: Message("{id} is being tested on “{dataset}”. Wait for the result."),
    GateState.INCOMPLETE: Message(
        "The test of {id} on “{dataset}” is incomplete: it has errors, was stopped, or has too few attempts."
    ),
    GateState.FAILED: Message("{id} was tested on “{dataset}” and failed the rule “{rule}”."),
    GateState.TOO_FEW: Message(
        "{id} was tested on “{dataset}”, which has too few items to show the rule “{rule}”."
    ),
    GateState.STALE: Message(
        "The test of {id} on “{dataset}” is out of date: items or scorers have changed, or it is too old."
    ),
    GateState.MISSING: Message("{id} has not been tested on “{dataset}” with this change."),
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
    """An admin's reason to change the live state without the evidence of gates; the log records it."""

    reason: Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]


def decide(requests: Sequence[GateRequest]) -> list[gate.Decision]:
    """Refuse changes with `EvaluationRequired` unless every gate has its evidence.

    Changes are made one after the other, so that each sees the live state of the others: all gates stay
    locked until the transaction ends, and so do the datasets of the checked ones. Refuses a forbidden bypass
    with `OptionRefused`, needed or not, and one without a reason with `Invalid`. With gates, the number of
    statements grows with the number of agents.
    """
    gates = Gate.objects.enabled()
    gates = gates.in_turn() if any(request.for_update for request in requests) else gates.only("pk")
    return gate.each(partial(_judge, enabled=gates))(requests)


def _judge(request: GateRequest, enabled: Collection[Gate]) -> gate.Then:
    """Raise the refusal of the enabled gates; return the step to run if there is none."""
    if _OPTION in request.options:
        gate.require_reason(
            request,
            _OPTION,
            member=_MEMBER,
            refusal=Message("Only admins of the workspace may publish without evidence."),
        )
    failing = [judgement for judgement in judge_request(request) if not judgement.ok] if enabled else []
    if failing and _OPTION not in request.options:
        visible = [judgement for judgement in failing if known_to(request.caller, judgement)]
        hidden = {judgement.gate.pk for judgement in failing if judgement not in visible}
        raise EvaluationRequired(visible, len(hidden))
    if any(judgement.gate.bypass == Bypass.NOBODY for judgement in failing):
        raise gate.OptionRefused("One of the gates lets no one publish without evidence.")
    workspaces = {judgement.gate.workspace_id for judgement in failing}
    if not all(request.caller.may(Right.ADMINISTER, workspace_id) for workspace_id in workspaces):
        raise gate.OptionRefused(
            "One of the gates belongs to a workspace that you do not administer: you cannot bypass it."
        )
    return partial(_pass, request, {gate.pk for gate in enabled}, failing)


def _pass(request: GateRequest, checked_ids: Collection[UUID], failing: Sequence[Judgement]) -> None:
    """Record the bypassed gates with the caller and the reason; make sure that the commit finds no others."""
    events.at_commit(partial(_refuse_new_gates, request, checked_ids))
    target = target_of(request.resource, get_editor().code)
    publishes = request if isinstance(request, PublishRequest) else None
    for bypassed in {judgement.gate.pk: judgement.gate for judgement in failing}.values():
        events.record(
            "gate.bypassed",
            by=request.caller,
            workspace_id=target.workspace_id,
            resource=target,
            version=None if publishes is None else publishes.version,
            label=None if publishes is None else publishes.label,
            gateId=str(bypassed.pk),
            dataset=bypassed.dataset.name,
            reason=gate.reason_of(request, _OPTION),
        )


def _refuse_new_gates(request: GateRequest, checked_ids: Collection[UUID], rights_position: int) -> None:
    """Raise `RightsChanged` if a gate was not checked; the verb then starts again.

    The checked gates are locked until the commit, but another one can be created meanwhile.
    """
    if rights_position != request.caller.rights_position and not set(
        Gate.objects.enabled().order_by().values_list("pk", flat=True)
    ) <= set(checked_ids):
        raise RightsChanged(request.caller)


EVIDENCE: Final = gate.Check(
    decide=decide,
    decide_take_down=decide,
    decide_visibility=decide,
    needed_by=Gate.objects.enabled,
    is_needed_anywhere=True,
    options={
        _OPTION: gate.Option(
            member=_MEMBER,
            schema=BypassEvaluation,
            from_body=itemgetter("reason"),
            reason_against=EvaluationRequired.code,
            metavar="REASON",
            help="change the live state without evidence, for this reason, which the log records",
            is_for_take_down=True,
        )
    },
)
