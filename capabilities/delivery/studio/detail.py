"""One webhook: its health, its newest deliveries, and its actions."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.delivery.studio.base import PER_PAGE, WebhookPage, show_next, shown_now, state_of_deliveries
from capabilities.delivery.studio.forms import RotateForm
from capabilities.delivery.studio.labels import STATES, Wording, event_in_words, title_of
from capabilities.delivery.studio.views import Item
from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.health import health_of
from capabilities.delivery.webhooks.models import Delivery, DeliveryAttempt
from studio.dates import moment_in_words, time_element
from versioning.domain.errors import Invalid

DISABLED = gettext_lazy("Nothing was sent: the webhook is disabled. Enable it first.")


@dataclass(frozen=True, kw_only=True)
class DeliveryRow:
    """A delivery as the page shows it."""

    delivery: Delivery
    title: str
    state: Wording
    attempts: list[DeliveryAttempt]
    """Newest first."""
    replay_address: str

    @property
    def next_attempt(self) -> str:
        """When the next attempt is, as a sentence; empty if there is none."""
        at = self.delivery.next_attempt_at
        if at is None:
            return ""
        if at - timezone.now() < datetime.timedelta(minutes=1):
            if not self.attempts:
                return _("The message is sent as soon as a worker is free.")
            return _("The next attempt follows soon.")
        return format_html(_("Next attempt in {time}."), time=time_element(at, timeuntil(at)))


class ShowPage(WebhookPage):
    """The health and the deliveries, newest first; the newest page updates itself."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Show a page of deliveries."""
        found = administration.deliveries(self.webhook_id, by=self.caller)
        state = state_of_deliveries(self.webhook)
        page: Page[Delivery] = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        if page.number == 1:
            self.news_address = f"{self.own_address('webhook_live')}?{urlencode({'after': state})}"
        health = health_of([self.webhook])[self.webhook.pk]
        item = Item(webhook=self.webhook, health=health, address=self.own_address())
        return self.page(
            "delivery/webhook.html",
            title=item.title,
            item=item,
            webhook=self.webhook,
            secret=shown_now(request, self.webhook),
            page=page,
            deliveries=[self._row(delivery) for delivery in page.object_list],
            list_of_webhooks=self.address("webhooks"),
            notices=(),
            addresses={
                name: self.own_address(f"webhook_{name}")
                for name in ("change", "delete", "rotate", "ping", "enable", "take_over")
            },
        )

    def _row(self, delivery: Delivery) -> DeliveryRow:
        return DeliveryRow(
            delivery=delivery,
            title=event_in_words(delivery.event),
            state=STATES[delivery.state],
            attempts=list(delivery.made.all())[::-1],
            replay_address=self.own_address("webhook_replay", str(delivery.pk)),
        )


class LivePage(WebhookPage):
    """Returns whether the page of the webhook has changed."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Answer as `studio.activity.live.LivePage` does, with a state instead of a position."""
        now = state_of_deliveries(self.webhook)
        return JsonResponse({"changed": now != request.GET.get("after"), "next": now})


class RotatePage(WebhookPage):
    """Replaces the secret."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Ask how long the previous secret should stay valid."""
        return self.show(RotateForm())

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Replace the secret, and go to the page of the webhook, which shows the new one once."""
        form = RotateForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        _secret, until = administration.rotate(
            self.webhook_id, keep_previous_hours=form.cleaned_data["hours"], by=self.caller
        )
        self.webhook.refresh_from_db()
        message = _("New secret created.")
        if until:
            message = format_html(
                _("New secret created. The old one also signs until {moment}."),
                moment=time_element(until, moment_in_words(until)),
            )
        response = self.go(self.own_address(), message)
        show_next(request, response, self.webhook)
        return response

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        """Return the form."""
        return self.page(
            "delivery/rotate.html",
            title=_("A new secret for %(title)s") % {"title": title_of(self.webhook)},
            status=status,
            form=form,
            back_address=self.own_address(),
        )


class ActionPage(WebhookPage):
    """Performs an action on the webhook and shows it again."""

    http_method_names = ("post",)

    def refused(self) -> HttpResponse:
        """Go back to the webhook, which shows why nothing was done."""
        return self.go(self.own_address(), str(DISABLED), level=messages.ERROR)


class PingPage(ActionPage):
    """Sends a test message."""

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Enqueue it for the worker; the result appears among the deliveries."""
        try:
            administration.ping(self.webhook_id, by=self.caller)
        except Invalid:
            return self.refused()
        return self.go(self.own_address(), _("A test message is on its way. The result is shown below."))


class ReplayPage(ActionPage):
    """Retries a delivery."""

    def post(self, request: HttpRequest, workspace: str, webhook: str, delivery: str) -> HttpResponse:
        """Enqueue it for the worker."""
        try:
            administration.replay(self.webhook_id, delivery, by=self.caller)
        except Invalid:
            return self.refused()
        return self.go(self.own_address(), _("Message queued again under the same id."))


class EnablePage(ActionPage):
    """Enables or disables a webhook."""

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Enable or disable it, with a message about the consequences."""
        wanted = request.POST.get("enabled") == "true"
        changes: dict[str, Any] = {"enabled": wanted}
        administration.change(self.webhook_id, changes, by=self.caller)
        message = (
            _("Webhook enabled. It receives events from now on.")
            if wanted
            else _("Webhook disabled. It receives nothing.")
        )
        return self.go(self.own_address(), message)


class TakeOverPage(ActionPage):
    """Makes the caller responsible for a webhook."""

    def post(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Take over the webhook."""
        administration.take_over(self.webhook_id, by=self.caller)
        return self.go(self.own_address(), _("You are now responsible for this webhook."))
