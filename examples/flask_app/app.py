"""A web application that reads its prompt from the editor, and continues when the editor is down.

It reads the prompt for every request, so that published changes apply at once. Without a good answer it uses
the last one, which it also stores on disk, and says so.
"""

from __future__ import annotations

import os

from editor_client import Client, RateLimited, ServerError, Unreachable
from flask import Flask, request

AGENT = "answering"
BUILT_IN = "You answer customers. Say that somebody will call them back."
"""Used if the editor was never reached: good enough to continue."""

client = Client(
    os.environ["EDITOR_URL"],
    api_key=os.environ["EDITOR_API_KEY"],
    timeout=2,  # because a user is waiting for the answer
    cache_dir=os.environ.get("PROMPT_CACHE", "var/prompts"),
)
app = Flask(__name__)


def instructions(topic: str) -> tuple[str, str]:
    """Return the instructions for a topic, and whether they are live, stale or built in.

    Errors of the key or the agent are raised: they are no outage, and need to be fixed.
    """
    try:
        agent = client.get_agent(AGENT).details(request_context={"topic": topic})
    except (Unreachable, ServerError, RateLimited):
        return BUILT_IN, "built in"
    return agent.instructions or "", "stale" if agent.stale else "live"


@app.get("/answer")
def answer() -> dict[str, str]:
    """Answer a question; a real application would call its model here."""
    text, state = instructions(request.args.get("topic", ""))
    return {"state": state, "system": text, "user": request.args["question"]}
