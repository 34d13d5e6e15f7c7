"""The agents as applications use them, and the preview of instructions."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import answers, bodies, parameters, wire
from versioning.api.base import EditorViewSet, tagged
from versioning.conf import get_editor
from versioning.serving.answer_cache import dependencies_of
from versioning.serving.followed_log import AGENT, PROMPT_BLOCK


class ServedAgentViewSet(EditorViewSet):
    """Agents with everything resolved: the version, the conditions, the instructions."""

    subject = "agent"
    query = {
        "list": (parameters.PARTIAL, parameters.CONTEXT),
        "retrieve": (*parameters.SELECTOR, parameters.CONTEXT),
    }
    answers = {"list": answers.AgentsById, "retrieve": answers.ResolvedAgentAnswer}

    def list(self, request: Request) -> Response:
        """Return the published resolution of every agent that the caller may read, by id."""
        context = parameters.context(request.query_params)
        editor = get_editor()
        if not context and editor.log_tells_of(AGENT):
            self.depends_on((AGENT, None), (PROMPT_BLOCK, None))
        agents = editor.agent.serve_all(context=context, by=self.caller)
        found = {agent.id: wire.resolved_agent(agent) for agent in agents}
        if request.query_params.get("partial") == "true":
            for agent in found.values():
                del agent["instructions"], agent["blocks"]
        return Response(found)

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002
        """Return the agent that the selector names; what is published when it names nothing."""
        context = parameters.context(request.query_params)
        selector = parameters.selector(request.query_params)
        editor = get_editor()
        agent = editor.agent.serve(id, selector, context=context, by=self.caller)
        if not context and editor.log_tells_of(AGENT, id):
            self.depends_on(*dependencies_of(agent))
        return tagged(request, wire.resolved_agent(agent))


class PreviewViewSet(EditorViewSet):
    """Instructions that are not saved anywhere yet."""

    subject = "instruction"
    bodies = {"preview": bodies.Preview}
    answers = {"preview": answers.PreviewAnswer}

    def preview(self, request: Request) -> Response:
        """Assemble blocks in a context; referenced blocks are the latest that the caller may read."""
        body = bodies.read(request, bodies.Preview)
        prompts, context = get_editor().prompt, body.get("context")
        text, reports = prompts.preview(body["blocks"], context, by=self.caller)
        answer = {"result": text, "blocks": [wire.block_report(report) for report in reports]}
        warnings = [wire.notice(found) for found in prompts.context_notices(reports, context)]
        return Response({**answer, "warnings": warnings} if warnings else answer)
