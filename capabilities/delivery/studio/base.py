"""The base classes of the pages about webhooks: access rights, and the secret that is shown once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.models import Webhook
from capabilities.delivery.webhooks.signing import RootKey, RootKeyUnreadable, secret_of
from studio import shown_once
from studio.error_pages import error_page
from studio.workspaces.views import WorkspacePage
from versioning.domain.errors import NotFound, VersioningError

PER_PAGE: Final = 20


class WebhooksPage(WorkspacePage):
    """A page about webhooks of a workspace, for its admins."""

    tab = "webhooks"

    def failed(self, error: VersioningError) -> HttpResponse:
        """Return the page about an error; an unreadable key is a fault of the installation."""
        if isinstance(error, RootKeyUnreadable):
            return error_page(self.request, 503, _("Nothing can be signed"), error.message)
        return super().failed(error)

    def webhooks(self) -> QuerySet[Webhook]:
        """Return the webhooks of the workspace, newest first."""
        return administration.listed(by=self.caller, workspace_id=self.workspace.pk)


class WebhookPage(WebhooksPage):
    """A page about the webhook in the address."""

    @cached_property
    def webhook(self) -> Webhook:
        """The webhook; raises `NotFound` if it belongs to another workspace."""
        found = administration.find(self.kwargs["webhook"], by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    @property
    def webhook_id(self) -> str:
        """Its id, once access is checked: it belongs to this workspace, which the caller administers."""
        return str(self.webhook.pk)

    def own_address(self, page: str = "webhook", *rest: str) -> str:
        """Return the address of another page about this webhook."""
        return self.address(page, self.kwargs["webhook"], *rest)


def show_next(request: HttpRequest, response: HttpResponse, webhook: Webhook) -> None:
    """Let the page of a webhook show its secret on the next visit in this session.

    The session holds no secret, only the webhook to show it for: secrets are derived.
    """
    shown_once.show_next(request, response, _name_of(webhook), webhook.generation)


def shown_now(request: HttpRequest, webhook: Webhook) -> str:
    """Return the secret if it is to be shown now, only once; otherwise an empty text."""
    generation = shown_once.shown_now(request, _name_of(webhook))
    return secret_of(webhook, RootKey.opened()) if generation == webhook.generation else ""


def _name_of(webhook: Webhook) -> str:
    return f"webhook {webhook.pk}"


def state_of(webhooks: Iterable[Webhook]) -> str:
    """Return a text that changes with what a page shows of webhooks.

    It is made of the objects on the page, so that any later change gives another text.
    """
    return _digest(
        (
            webhook.pk,
            webhook.url,
            webhook.description,
            webhook.event_types,
            webhook.enabled,
            webhook.disabled_reason,
            webhook.created_by,
            webhook.failing_since,
            webhook.last_success_at,
        )
        for webhook in webhooks
    )


def state_of_deliveries(webhook: Webhook) -> str:
    """Return a text that changes with what the page of a webhook shows, including its newest deliveries."""
    newest = webhook.deliveries.values_list("pk", "state", "due_at", "step", "finished_at")[:PER_PAGE]
    return state_of([webhook]) + _digest(newest)


def _digest(rows: Iterable[Any]) -> str:
    return hashlib.sha256(repr(list(rows)).encode()).hexdigest()[:16]
