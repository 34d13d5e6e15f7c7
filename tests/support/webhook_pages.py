"""The pages about webhooks: their URLs and contents."""

from __future__ import annotations

import html
import re
from typing import Any

from django.contrib.auth.models import User

from capabilities.delivery.models import Webhook
from tests.support.studio import workspace_page
from tests.support.webhooks import WebhookFactory
from versioning.models import Workspace

LIST = workspace_page("webhooks")
NEW = workspace_page("webhooks/add")


TYPED = {"description": "Chat", "id_prefix": "support/", "event_types": ["agent.published", "promptBlock.*"]}
"""What is typed for a new webhook, but for its URL."""


def page(webhook: Webhook, name: str = "", workspace_id: str = "acme") -> str:
    """Return the URL of a page about a webhook."""
    return workspace_page(f"webhooks/{webhook.pk}/{name}".rstrip("/"), workspace_id)


def make(workspace_id: str = "acme", **columns: Any) -> Webhook:
    made: Webhook = WebhookFactory(workspace=Workspace.objects.get(pk=workspace_id), **columns)
    return made


def made_by(name: str, **columns: Any) -> Webhook:
    """Make a webhook as a member of the cast."""
    user = User.objects.get(username=name)
    return make(created_by=name, created_by_id=str(user.pk), **columns)


def secret_on(answer: Any) -> str | None:
    """Return the secret that a page shows, if it shows one."""
    found = re.search(r'id="once" value="([^"]+)"', answer.markup)
    return html.unescape(found[1]) if found else None
