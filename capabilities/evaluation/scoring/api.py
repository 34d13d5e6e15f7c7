"""The routes of scorers that other kinds do not have."""

from __future__ import annotations

from typing import Final, NamedTuple

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.scoring.naming import Dependent, naming
from capabilities.evaluation.scoring.outcomes import MISSING, Attempt
from capabilities.evaluation.scoring.schemas import (
    AgreementAnswer,
    RegisteredAnswer,
    RegisteredById,
    ScorerDependents,
    ScorerOutcome,
    ScorerTry,
)
from capabilities.evaluation.scoring.verbs import Scoring
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.limits import waits_for_models
from versioning.api.schemas import Json
from versioning.api.versions import ResourceViewSet
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.selectors import Status

_COUNTED: Final = ("inputTokens", "outputTokens")


class Named(NamedTuple):
    """Those that the caller may read, and the number of others."""

    dependents: list[Dependent]
    hidden_count: int


class ScorerViews(ResourceViewSet):
    """Scorers."""

    actions = {**ResourceViewSet.actions, "try_out": Action.RUN}
    own_routes = {"try": {"post": "try_out"}, "agreement": {"get": "agreement"}}
    own_requests = {"try_out": ScorerTry}
    own_responses = {"try_out": ScorerOutcome, "dependents": ScorerDependents, "agreement": AgreementAnswer}

    def dependents(self, request: Request, id: str) -> Response:
        """List what names it."""
        status = Status(request.query_params.get("status", Status.PUBLISHED))
        self._depends_on(id, (AGENT.slug, None))
        agents = self.collection.dependents(id, status=status, by=self.caller)
        named = [Dependent(agent_id, name, AGENT.slug) for agent_id, name in agents.readable]
        return Response(self.dump(Named([*named, *naming(id, self.caller)], agents.hidden_count)))

    def agreement(self, request: Request, id: str) -> Response:
        """Compare what it says with the labels of people under its id."""
        return Response(self.dump(get_editor().experiments.agreement(id, by=self.caller)))

    @waits_for_models
    def try_out(self, request: Request, id: str) -> Response:
        """Score an answer with a version of this scorer; nothing is stored."""
        given = ScorerTry.read(request)
        outcome = Scoring.current().try_out(
            id, attempt_of(given), version_id=given.get("versionId"), by=self.caller
        )
        return Response(self.dump(outcome))


class RegisteredViewSet(EditorViewSet):
    """Scorers as other runtimes list them."""

    job = "Evaluate"
    subject = "registered scorer"
    responses = {"list": RegisteredById, "retrieve": RegisteredAnswer}
    paths = {"id": (parameters.TEXT, "The id of the scorer.")}

    def list(self, _request: Request) -> Response:
        """Return every scorer that the caller may read, by id."""
        found = Scoring.current().registered(by=self.caller)
        return Response({one.id: RegisteredAnswer.dump(one) for one in found})

    def retrieve(self, request: Request, id: str) -> Response:
        """Return a scorer, with the agents that name it."""
        return with_etag(request, self.dump(Scoring.current().registered_one(id, by=self.caller)))


def attempt_of(given: Json) -> Attempt:
    """Return the attempt that the body of a request describes."""
    usage = given.get("usage")
    return Attempt(
        input=given["input"],
        output=given["output"],
        ground_truth=given.get("groundTruth", MISSING),
        metadata=given.get("metadata", {}),
        tool_calls=given.get("toolCalls"),
        tokens=None if usage is None else sum(usage[name] for name in _COUNTED),
        milliseconds=given.get("milliseconds"),
    )
