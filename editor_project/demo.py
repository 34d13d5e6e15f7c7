"""The examples of `make run`, each showing one feature of the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.editor import Editor
from versioning.models import Visibility, caller_for

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ECHO = {"provider": "echo", "name": "echo"}

TONE = """Write plainly and warmly. Short sentences. No exclamation marks.
When you do not know something, say so and say who would."""

TONE_DRAFT = TONE + '\nAddress {{ customer.name || "the customer" }} by name once, in the greeting.'

REFUNDS = """Refunds: within 30 days of delivery, no questions asked.
Later than that, offer a voucher for the same amount."""

TRIAGE = """You sort incoming messages. Answer with one word: billing, technical or other."""


def load(user: User, workspace_id: str) -> None:
    by, editor = caller_for(user), get_editor()
    _load_prompt_blocks(editor, workspace_id, by)
    _load_agents(editor, workspace_id, by)


def _load_prompt_blocks(editor: Editor, workspace_id: str, by: Caller) -> None:
    editor.prompt.create(
        id="tone", name="Tone of voice", content=TONE, workspace=workspace_id, publish=True, by=by
    )
    editor.prompt.update("tone", content=TONE_DRAFT, message="Greet people by name", by=by)
    editor.prompt.create(
        id="policies/refunds",
        name="Refund policy",
        content=REFUNDS,
        rules={
            "operator": "AND",
            "conditions": [{"field": "topic", "operator": "equals", "value": "billing"}],
        },
        workspace=workspace_id,
        publish=True,
        by=by,
    )


def _load_agents(editor: Editor, workspace_id: str, by: Caller) -> None:
    editor.agent.create(
        id="answering",
        name="Answering customers",
        description="Answers with the shared tone; knows the refund policy when the topic is billing.",
        instructions=[
            {"type": "text", "content": "You answer the customers of {{ shop.name || 'our shop' }}."},
            {"type": "prompt_block_ref", "id": "tone"},
            {"type": "prompt_block_ref", "id": "policies/refunds"},
        ],
        model=ECHO,
        workspace=workspace_id,
        by=by,
    )
    editor.agent.create(
        id="triage",
        name="Triage",
        description="Sorts messages; public, so that every team may use it.",
        instructions=TRIAGE,
        model=ECHO,
        visibility=Visibility.PUBLIC,
        workspace=workspace_id,
        by=by,
    )
    editor.agent.update(
        "triage",
        instructions=TRIAGE.replace("billing, technical", "billing, delivery, technical"),
        message="Add delivery",
        publish=False,
        by=by,
    )
    editor.agent.create(
        id="front-desk",
        name="Front desk",
        description="Lets triage sort a message, then has it answered.",
        instructions="Ask triage what the message is about, then let the right colleague answer it.",
        agents={"triage": {}, "answering": {"description": "Writes the answer."}},
        model=ECHO,
        workspace=workspace_id,
        by=by,
    )
