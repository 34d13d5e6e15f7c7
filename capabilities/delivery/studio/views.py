"""The webhooks of a workspace: the list, creating, changing and deleting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from capabilities.delivery.studio.base import WebhookPage, WebhooksPage, show_next, state_of
from capabilities.delivery.studio.forms import NAMES, WebhookForm
from capabilities.delivery.studio.labels import CONDITIONS, REASONS, Wording, title_of, type_in_words
from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.health import Health, health_of
from capabilities.delivery.webhooks.models import Webhook
from studio.workspaces.views import add_errors
from versioning.domain.errors import Invalid

PER_PAGE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Item:
    """A webhook as the templates show it."""

    webhook: Webhook
    health: Health
    address: str

    @property
    def title(self) -> str:
        """Its title."""
        return title_of(self.webhook)

    @property
    def types(self) -> list[str]:
        """The events that it sends, in words."""
        return [type_in_words(event_type) for event_type in self.webhook.event_types]

    @property
    def condition(self) -> Wording:
        """Its health, in words."""
        return CONDITIONS[self.health.condition]

    @property
    def reason(self) -> str:
        """Why it is disabled; empty if it is not."""
        return "" if self.webhook.enabled else str(REASONS[self.webhook.disabled_reason])


class ListPage(WebhooksPage):
    """All webhooks with their health; the page updates itself."""

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the webhooks."""
        webhooks = self.webhooks()
        self.news_address = f"{self.address('webhooks_live')}?{urlencode({'after': state_of(webhooks)})}"
        page = Paginator(webhooks, PER_PAGE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        health = health_of(shown)
        return self.page(
            "delivery/webhooks.html",
            title=_("Webhooks"),
            page=page,
            items=[
                Item(
                    webhook=webhook,
                    health=health[webhook.pk],
                    address=self.address("webhook", str(webhook.pk)),
                )
                for webhook in shown
            ],
            add_address=self.address("webhook_add"),
        )


class ListLivePage(WebhooksPage):
    """Returns whether the list has changed."""

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Answer as `studio.activity.live.LivePage` does, with a state instead of a position."""
        now = state_of(self.webhooks())
        return JsonResponse({"changed": now != request.GET.get("after"), "next": now})


class CreatePage(WebhooksPage):
    """A new webhook."""

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the empty form."""
        return self.show(WebhookForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Create it, and go to its page, which shows the secret once; after an error, show the form again."""
        form = WebhookForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        given = form.given
        try:
            webhook, _secret = administration.create(
                self.workspace.pk,
                url=given["url"],
                event_types=given["eventTypes"],
                id_prefix=given["idPrefix"],
                description=given["description"],
                by=self.caller,
            )
        except Invalid as error:
            add_errors(form, error, **NAMES)
            return self.show(form, status=400)
        response = self.go(self.address("webhook", str(webhook.pk)), _("The webhook was created."))
        show_next(request, response, webhook)
        return response

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        """Return the form."""
        return self.page(
            "delivery/form.html",
            title=_("New webhook"),
            status=status,
            form=form,
            button=_("Create webhook"),
            back_address=self.address("webhooks"),
        )


class ChangePage(WebhookPage):
    """The fields of a webhook."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Show the fields in a form."""
        return self.show(WebhookForm(webhook=self.webhook))

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Save the fields; after an error, show the form again."""
        form = WebhookForm(request.POST, webhook=self.webhook)
        if not form.is_valid():
            return self.show(form, status=400)
        # A given URL is resolved, which may fail although it was not changed.
        changed = {
            name: value for name, value in form.given.items() if name != "url" or value != self.webhook.url
        }
        try:
            administration.change(self.webhook_id, changed, by=self.caller)
        except Invalid as error:
            add_errors(form, error, **NAMES)
            return self.show(form, status=400)
        return self.go(self.own_address(), _("Webhook saved. The change applies to events from now on."))

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        """Return the form."""
        return self.page(
            "delivery/form.html",
            title=_("Edit %(title)s") % {"title": title_of(self.webhook)},
            status=status,
            form=form,
            button=_("Save webhook"),
            back_address=self.own_address(),
        )


class DeletePage(WebhookPage):
    """Asks for confirmation before a webhook is deleted."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Ask for confirmation."""
        return self.page(
            "delivery/delete.html",
            title=_("Delete %(title)s?") % {"title": title_of(self.webhook)},
            webhook=self.webhook,
            back_address=self.own_address(),
        )

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Delete the webhook, and show the list."""
        title = title_of(self.webhook)
        administration.delete(self.webhook_id, by=self.caller)
        return self.go(self.address("webhooks"), _("Webhook “%(title)s” deleted.") % {"title": title})
