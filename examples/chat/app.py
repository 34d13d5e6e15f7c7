"""A receiver of webhooks that posts publications to a chat.

It receives messages from the editor, verifies the signature, and posts a line to an "incoming webhook" in the
format of Slack and others: `{"text": "…"}`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import Any

import httpx2
from flask import Flask, request
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

CHAT_URL = os.environ["CHAT_URL"]
SECRETS = [Webhook(secret) for secret in os.environ["WEBHOOK_SECRETS"].split()]
"""The secret of the webhook; two of them while one replaces the other."""
SEEN = os.environ.get("SEEN", "var/chat-seen.sqlite3")
"""The file with the ids of the messages that were posted to the chat."""

app = Flask(__name__)
with closing(sqlite3.connect(SEEN)) as database:
    database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")


@app.post("/events")
def take() -> tuple[str, int]:
    """Post an event to the chat, once; after an unsuccessful answer the editor sends it again."""
    if not any(is_signed(secret) for secret in SECRETS):
        return "The signature does not verify.", 401
    message_id = request.headers["webhook-id"]
    with closing(sqlite3.connect(SEEN)) as database:
        if database.execute("SELECT 1 FROM seen WHERE id = ?", [message_id]).fetchone():
            return "", 204  # the answer was lost on the way
        if not httpx2.post(CHAT_URL, json={"text": line(request.json)}, timeout=5).is_success:
            return "The chat does not take it.", 502
        with database:
            database.execute("INSERT OR IGNORE INTO seen VALUES (?)", [message_id])
    return "", 204


def is_signed(secret: Webhook) -> bool:
    """Return whether the request was recently signed with the secret, over exactly these bytes."""
    try:
        secret.verify(request.get_data(), dict(request.headers), json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def line(event: dict[str, Any]) -> str:
    """Return the chat's line for an event."""
    who = event["actor"]["id"] or "The service"
    what = event["type"].partition(".")[2]
    about = event["resource"]["id"] if event["resource"] else event["workspaceId"]
    version = f" (version {event['versionNumber']})" if event["versionNumber"] else ""
    return f"{who}: {what} {about}{version}"
