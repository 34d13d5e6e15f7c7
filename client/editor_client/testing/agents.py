"""The routes of agents in the editor in memory, as applications use them."""

from __future__ import annotations

from editor_client.calls import CONTEXT
from editor_client.shared.errors import Invalid
from editor_client.testing import locks, serving
from editor_client.testing.editor import Editor
from editor_client.testing.protocol import Answer, Json, Request, refuse_unknown, route
from editor_client.testing.rollouts import served_in


@route("GET", "/agents", "partial")
def _agents(editor: Editor, request: Request) -> Answer:
    found = serving.all_resolved(editor, request.context)
    if request.query.get("partial") == "true":
        for agent in found.values():
            del agent["instructions"], agent["blocks"]
    return Answer(found)


@route("GET", "/agents/*", *serving.SELECTORS, "form")
def _agent(editor: Editor, request: Request) -> Answer:
    context = request.context
    parts = serving.parts_of(editor, request.names[0], serving.selector_of(request.query))
    if request.query.get("form", "parts") != "parts":
        raise Invalid.field("form", "must be one of 'parts'")
    return Answer(parts if "form" in request.query else serving.resolved(parts, context))


@route("POST", "/agents/*/generate", *serving.SELECTORS)
def _generate(editor: Editor, request: Request) -> Answer:
    refuse_unknown(request.body, serving.RUN_MEMBERS)
    body: Json = {CONTEXT: request.context, **request.body}
    parts = locks.parts_of_run(editor, request.names[0], request.query, body.get("versions") or {})
    agent, answer = serving.run(parts, body, editor.generate)
    served = served_in(agent)
    for (kind, resource_id), (version_id, arm) in served.items():
        editor.count(editor.named(kind, resource_id), version_id, arm, {"runs": 1})
    editor.served[answer["runId"]] = served
    return Answer(answer)


@route("POST", "/agents/*/stream", *serving.SELECTORS)
def _stream(editor: Editor, request: Request) -> Answer:
    return Answer(serving.events_of(_generate(editor, request).content), is_stream=True)
