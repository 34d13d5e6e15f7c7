"""A web application that reads its prompt from the editor, and goes on when the editor is down.

It asks at every request, so that what is published is used at once. When there is no good answer it
uses the last one, which it also keeps on disk, and says so.
"""

from __future__ import annotations

import os

from editor_client import Client, RateLimited, ServerError, Unreachable
from flask import Flask, request

AGENT = "answering"
BUILT_IN = "You answer customers. Say that somebody will call them back."
"""What is used when the editor has never been reached: good enough to go on with."""

client = Client(
    os.environ["EDITOR_URL"],
    api_key=os.environ["EDITOR_API_KEY"],
    timeout=2,  # of a request that somebody waits for
    cache_dir=os.environ.get("PROMPT_CACHE", "var/prompts"),
)
app = Flask(__name__)


def instructions(topic: str) -> tuple[str, str]:
    """Return the instructions for a topic, and whether they are live, stale or built in.

    What is wrong with the key or the agent is raised: that is no outage, and somebody has to mend it.
    """
    try:
        agent = client.get_agent(AGENT).details(request_context={"topic": topic})
    except (Unreachable, ServerError, RateLimited):
        return BUILT_IN, "built in"
    return agent.instructions or "", "stale" if agent.stale else "live"


@app.get("/answer")
def answer() -> dict[str, str]:
    """Answer a question; the model of your choice would be asked here."""
    text, state = instructions(request.args.get("topic", ""))
    return {"state": state, "system": text, "user": request.args["question"]}
