"""The pages about the webhooks of a workspace, for its admins, and their additions to other pages."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.text import capfirst, format_lazy
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.delivery import verbs
from capabilities.delivery.models import (
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    DisabledReason,
    RootKey,
    RootKeyUnreadable,
    Webhook,
    derive_secret,
)
from capabilities.delivery.running import PING
from capabilities.delivery.verbs import (
    MAX_KEEP_HOURS,
    Condition,
    Health,
    abandoned_webhooks,
    read_health,
)
from studio import one_time_secrets
from studio.activity.sentences import TypeGroup, group_types, name_of, subject_noun
from studio.dates import moment_in_words, time_element
from studio.error_pages import error_page
from studio.extensions import Extension, NamedInEvent, Notice, WorkspaceTab, rows_in_events
from studio.limits import shorten
from studio.named import Place, person
from studio.pages import ActionPage, FormPage
from studio.views import StudioPage
from studio.workspaces.views import WorkspacePage, address
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound, VersioningError
from versioning.domain.events import types
from versioning.models import Event

CHIPS: Final[Mapping[str, str]] = {
    Condition.WORKING: "chip-published",
    Condition.FAILING: "chip-changed",
    Condition.DISABLED: "chip-danger",
    DeliveryState.PENDING: "chip-changed",
    DeliveryState.DELIVERED: "chip-published",
    DeliveryState.FAILED: "chip-danger",
}
"""The classes of the chips of states; others are plain."""
REASONS: Final[Mapping[str, str | Promise]] = {
    "": gettext_lazy("An admin disabled it."),
    DisabledReason.GONE: gettext_lazy("The receiver answered 410: it wants no more messages."),
    DisabledReason.FAILING: gettext_lazy("No delivery succeeded for three days."),
}
"""Why a webhook is disabled."""


def webhook_title(webhook: Webhook) -> str:
    """Return the title of a webhook: its description, or the host that it sends to."""
    return shorten(webhook.description or urlsplit(webhook.url).hostname or webhook.url, 80)


def type_in_words(event_type: str) -> str:
    """Return a type, or a pattern, in words."""
    if event_type == PING:
        return _("Test message")
    subject, _dot, name = event_type.rpartition(".")
    about = {"subject": capfirst(subject_noun(subject)), "what": name_of(event_type)}
    if name == "*":
        return _("%(subject)s: anything") % about
    return _("%(subject)s: %(what)s") % about


def event_in_words(event: Mapping[str, Any]) -> str:
    """Return the event of a message in words: `Agent: published, writer, version 3`."""
    parts = [type_in_words(event["type"]), (event.get("resource") or {}).get("id")]
    if event.get("versionNumber") is not None:
        parts.append(_("version %(number)s") % {"number": event["versionNumber"]})
    return ", ".join(filter(None, parts))


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the webhooks that the caller administers, by position and ordinal of the events; one query."""
    webhooks = rows_in_events(events, "webhookId", verbs.list_webhooks(by=caller))
    return {
        key: NamedInEvent(
            title=webhook_title(webhook), address=address("webhook", webhook.workspace_id, str(webhook.pk))
        )
        for key, webhook in webhooks.items()
    }


class WebhookForm(forms.Form):
    """A webhook: its URL and events."""

    url = forms.CharField(
        label=gettext_lazy("URL"),
        max_length=Webhook.url.field.max_length,
        help_text=gettext_lazy(
            "Receiver URL, e.g. https://hooks.example.com/editor. Must be publicly reachable unless an "
            "administrator allows more."
        ),
    )
    description = forms.CharField(
        label=gettext_lazy("Purpose (optional)"),
        required=False,
        max_length=Webhook.description.field.max_length,
        help_text=gettext_lazy("Helps people recognize the webhook."),
    )
    id_prefix = forms.CharField(
        label=gettext_lazy("Only ids that begin with (optional)"),
        required=False,
        max_length=Webhook.id_prefix.field.max_length,
        help_text=gettext_lazy(
            "For example support/. Only events about matching agents and prompt blocks are sent."
        ),
    )
    event_types = forms.MultipleChoiceField(
        label=gettext_lazy("Events to send"),
        error_messages={"required": gettext_lazy("Choose at least one event.")},
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.groups = [(group, {group.pattern, *dict(group.types)}) for group in group_types(types())]
        declared = {name for _group, names in self.groups for name in names}
        stored_types = self.initial.get("event_types", ())
        self.unknown = [event_type for event_type in stored_types if event_type not in declared]
        """Stored types that no application declares any more."""
        choices = [(name, name) for name in (*sorted(declared), *self.unknown)]
        self.fields["event_types"].choices = choices  # type: ignore[attr-defined]

    @property
    def choices(self) -> Iterator[tuple[TypeGroup, frozenset[str]]]:
        """The types by subject, each with the names that are chosen."""
        chosen_types = frozenset(self["event_types"].value() or ())
        return ((group, chosen_types & names) for group, names in self.groups)

    @property
    def values(self) -> dict[str, Any]:
        """The input, without event types that a chosen pattern already matches."""
        names = self.cleaned_data["event_types"]
        event_types = [
            name for name in names if name.endswith(".*") or f"{name.rpartition('.')[0]}.*" not in names
        ]
        return {**self.cleaned_data, "event_types": event_types}


class RotateForm(forms.Form):
    """The time for which the previous secret stays valid."""

    hours = forms.IntegerField(
        label=gettext_lazy("Hours for which the old secret also signs"),
        min_value=0,
        max_value=MAX_KEEP_HOURS,
        initial=24,
        help_text=format_lazy(
            gettext_lazy("0 to {most}: until the receiver has the new one. With 0 the old one ends at once."),
            most=MAX_KEEP_HOURS,
        ),
    )


DELIVERIES_PER_PAGE: Final = 20
WEBHOOKS_PER_PAGE: Final = 50


class WebhooksPage(WorkspacePage):
    """A page about webhooks of a workspace, for its admins."""

    tab = "webhooks"

    def handle_error(self, error: VersioningError) -> HttpResponse:
        """Return the page about an error; an unreadable key is a fault of the installation."""
        if isinstance(error, RootKeyUnreadable):
            return error_page(self.request, 503, _("Nothing can be signed"), error.message)
        return super().handle_error(error)

    def webhooks(self) -> QuerySet[Webhook]:
        """Return the webhooks of the workspace, newest first."""
        return verbs.list_webhooks(by=self.caller, workspace_id=self.workspace.pk)

    def state(self) -> str:
        """Return a text that changes whenever the content of the page changes."""
        return webhooks_digest(self.webhooks())

    def show_secret(self, message: str, webhook: Webhook) -> HttpResponse:
        """Go to the page of a webhook, which shows its secret once in this session.

        The session contains only the webhook, not the secret, which is derived again.
        """
        response = self.go(self.address("webhook", str(webhook.pk)), message)
        one_time_secrets.show_next(self.request, response, f"webhook {webhook.pk}", webhook.generation)
        return response


class WebhookPage(WebhooksPage):
    """A page about the webhook in the address."""

    @cached_property
    def webhook(self) -> Webhook:
        """The webhook; raises `NotFound` if it belongs to another workspace."""
        webhook = verbs.find(self.kwargs["webhook"], by=self.caller)
        if webhook.workspace_id != self.workspace.pk:
            raise NotFound
        return webhook

    @property
    def webhook_id(self) -> str:
        """Its id, once access is checked: it belongs to this workspace, which the caller administers."""
        return str(self.webhook.pk)

    def own_address(self, page: str = "webhook", *rest: str) -> str:
        """Return the address of another page about this webhook."""
        return self.address(page, self.kwargs["webhook"], *rest)

    def state(self) -> str:
        """Return a text that changes with the content of the page, including the newest deliveries."""
        newest = self.webhook.deliveries.values_list("pk", "state", "due_at", "step", "finished_at")
        return webhooks_digest([self.webhook]) + _digest(newest[:DELIVERIES_PER_PAGE])


def webhooks_digest(webhooks: Iterable[Webhook]) -> str:
    """Return a text that changes with a page's information about webhooks.

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


def _digest(rows: Iterable[Any]) -> str:
    return hashlib.sha256(repr(list(rows)).encode()).hexdigest()[:16]


def webhook_in_words(webhook: Webhook, health: Health) -> dict[str, Any]:
    """Return a webhook in the form for templates."""
    return {
        "webhook": webhook,
        "health": health,
        "title": webhook_title(webhook),
        "types": [type_in_words(event_type) for event_type in webhook.event_types],
        "chip": CHIPS.get(health.condition, ""),
        "reason": "" if webhook.enabled else REASONS[webhook.disabled_reason],
        "address": address("webhook", webhook.workspace_id, str(webhook.pk)),
    }


class ListPage(WebhooksPage):
    """All webhooks with their health; the page updates itself."""

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the webhooks."""
        webhooks = self.webhooks()
        self.news_address = (
            f"{self.address('webhooks_live')}?{urlencode({'after': webhooks_digest(webhooks)})}"
        )
        page = self.paginate(webhooks, WEBHOOKS_PER_PAGE)
        health = read_health(list(page.object_list))
        return self.page(
            "delivery/webhooks.html",
            title=_("Webhooks"),
            page=page,
            items=[webhook_in_words(webhook, health[webhook.pk]) for webhook in page.object_list],
            add_address=self.address("webhook_add"),
        )


class ListLivePage(WebhooksPage):
    """Returns whether the page has changed."""

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Answer as `studio.activity.live.LivePage` does, with a state instead of a position."""
        now = self.state()
        return JsonResponse({"changed": now != request.GET.get("after"), "next": now})


class CreatePage(FormPage, WebhooksPage):
    """A new webhook; its page shows the secret once."""

    form_class = WebhookForm
    template = "delivery/form.html"

    @property
    def title(self) -> str:
        return _("New webhook")

    def save(self, form: WebhookForm) -> HttpResponse:
        webhook, _secret = verbs.create(self.workspace.pk, **form.values, by=self.caller)
        return self.show_secret(_("The webhook was created."), webhook)

    def context(self) -> dict[str, Any]:
        return {"button": _("Create webhook"), "back_address": self.address("webhooks")}


class ChangePage(FormPage, WebhookPage):
    """The fields of a webhook."""

    template = "delivery/form.html"

    @property
    def title(self) -> str:
        return _("Edit %(title)s") % {"title": webhook_title(self.webhook)}

    def form(self, data: Any = None) -> WebhookForm:
        """Return the form, which knows the stored types that no application declares any more."""
        initial = {name: getattr(self.webhook, name) for name in WebhookForm.base_fields}
        return WebhookForm(data, initial=initial)

    def save(self, form: WebhookForm) -> HttpResponse:
        changes = form.values
        if changes["url"] == self.webhook.url:
            del changes["url"]  # the host would be resolved, which may fail
        verbs.change(self.webhook_id, changes, by=self.caller)
        return self.go(self.own_address(), _("Webhook saved. The change applies to events from now on."))

    def context(self) -> dict[str, Any]:
        return {"button": _("Save webhook"), "back_address": self.own_address()}


class DeletePage(ActionPage, WebhookPage):
    """Asks for confirmation before a webhook is deleted."""

    template = "delivery/delete.html"
    done_page = "webhooks"

    @property
    def title(self) -> str:
        return _("Delete %(title)s?") % {"title": webhook_title(self.webhook)}

    @property
    def back_address(self) -> str:
        return self.own_address()

    def context(self) -> dict[str, Any]:
        return {"webhook": self.webhook}

    def act(self) -> str:
        verbs.delete(self.webhook_id, by=self.caller)
        return _("Webhook “%(title)s” deleted.") % {"title": webhook_title(self.webhook)}


def next_attempt_in_words(delivery: Delivery, attempts: Sequence[DeliveryAttempt]) -> str:
    """Return when the next attempt is, as a sentence; empty if there is none."""
    at = delivery.next_attempt_at
    if at is None:
        return ""
    if at - timezone.now() >= datetime.timedelta(minutes=1):
        return format_html(_("Next attempt in {time}."), time=time_element(at, timeuntil(at)))
    if attempts:
        return _("The next attempt follows soon.")
    return _("The message is sent as soon as a worker is free.")


class ShowPage(WebhookPage):
    """The health and the deliveries, newest first; the newest page updates itself."""

    def get(self, request: HttpRequest, workspace: str, webhook: str) -> HttpResponse:
        """Show a page of deliveries."""
        deliveries = verbs.deliveries(self.webhook_id, by=self.caller)
        state = self.state()
        page = self.paginate(deliveries, DELIVERIES_PER_PAGE)
        if page.number == 1:
            self.news_address = f"{self.own_address('webhook_live')}?{urlencode({'after': state})}"
        health = read_health([self.webhook])[self.webhook.pk]
        rows = []
        for delivery in page.object_list:
            attempts = list(delivery.made.all())[::-1]
            rows.append(
                {
                    "delivery": delivery,
                    "title": event_in_words(delivery.event),
                    "chip": CHIPS.get(delivery.state, ""),
                    "attempts": attempts,
                    "next_attempt": next_attempt_in_words(delivery, attempts),
                    "replay_address": self.own_address("webhook_replay", str(delivery.pk)),
                }
            )
        generation = one_time_secrets.shown_now(request, f"webhook {self.webhook.pk}")
        is_shown = generation == self.webhook.generation
        return self.page(
            "delivery/webhook.html",
            title=webhook_title(self.webhook),
            item=webhook_in_words(self.webhook, health),
            webhook=self.webhook,
            secret=derive_secret(self.webhook, RootKey.load_key()) if is_shown else "",
            page=page,
            deliveries=rows,
            list_of_webhooks=self.address("webhooks"),
            notices=(),
            addresses={
                name: self.own_address(f"webhook_{name}")
                for name in ("change", "delete", "rotate", "ping", "enable", "take_over")
            },
        )


class LivePage(ListLivePage, WebhookPage):
    """Returns whether the page of the webhook has changed."""


class RotatePage(FormPage, WebhookPage):
    """Replaces the secret; the page of the webhook shows the new one once."""

    form_class = RotateForm
    template = "delivery/rotate.html"

    @property
    def title(self) -> str:
        return _("A new secret for %(title)s") % {"title": webhook_title(self.webhook)}

    def save(self, form: RotateForm) -> HttpResponse:
        hours = form.cleaned_data["hours"]
        _secret, until = verbs.rotate(self.webhook_id, keep_previous_hours=hours, by=self.caller)
        self.webhook.refresh_from_db()
        message = _("New secret created.")
        if until:
            message = format_html(
                _("New secret created. The old one also signs until {moment}."),
                moment=time_element(until, moment_in_words(until)),
            )
        return self.show_secret(message, self.webhook)

    def context(self) -> dict[str, Any]:
        return {"back_address": self.own_address()}


class WebhookAction(ActionPage, WebhookPage):
    """Performs an action on the webhook, then shows the webhook with a message about the outcome."""

    http_method_names = ("post",)
    refusals = (Invalid,)

    @property
    def back_address(self) -> str:
        return self.own_address()

    def refusal_in_words(self, error: Any) -> str:
        return _("Nothing was sent: the webhook is disabled. Enable it first.")


class PingPage(WebhookAction):
    """Sends a test message; the result appears among the deliveries."""

    def act(self) -> str:
        verbs.ping(self.webhook_id, by=self.caller)
        return _("A test message is on its way. The result is shown below.")


class ReplayPage(WebhookAction):
    """Retries a delivery."""

    def act(self) -> str:
        verbs.replay(self.webhook_id, self.kwargs["delivery"], by=self.caller)
        return _("Message queued again under the same id.")


class EnablePage(WebhookAction):
    """Enables or disables a webhook."""

    def act(self) -> str:
        is_enabled = self.request.POST.get("enabled") == "true"
        verbs.change(self.webhook_id, {"enabled": is_enabled}, by=self.caller)
        if is_enabled:
            return _("Webhook enabled. It receives events from now on.")
        return _("Webhook disabled. It receives nothing.")


class TakeOverPage(WebhookAction):
    """Makes the caller responsible for a webhook."""

    def act(self) -> str:
        verbs.take_over(self.webhook_id, by=self.caller)
        return _("You are now responsible for this webhook.")


def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
    """Return a route with the name that `WorkspacePage.address` expects."""
    return path(route, view.as_view(), name=f"versioning_workspace_{name}")


urlpatterns = [
    page("webhooks/", ListPage, "webhooks"),
    page("webhooks/add/", CreatePage, "webhook_add"),
    page("webhooks/live/", ListLivePage, "webhooks_live"),
    page("webhooks/<str:webhook>/", ShowPage, "webhook"),
    page("webhooks/<str:webhook>/live/", LivePage, "webhook_live"),
    page("webhooks/<str:webhook>/change/", ChangePage, "webhook_change"),
    page("webhooks/<str:webhook>/delete/", DeletePage, "webhook_delete"),
    page("webhooks/<str:webhook>/rotate/", RotatePage, "webhook_rotate"),
    page("webhooks/<str:webhook>/ping/", PingPage, "webhook_ping"),
    page("webhooks/<str:webhook>/enable/", EnablePage, "webhook_enable"),
    page("webhooks/<str:webhook>/take-over/", TakeOverPage, "webhook_take_over"),
    page("webhooks/<str:webhook>/deliveries/<str:delivery>/replay/", ReplayPage, "webhook_replay"),
]


def notices(caller: Caller, workspace_id: str | None) -> Iterator[Notice]:
    """Yield the notices for an admin of a workspace, or of several; none for other people.

    They are about webhooks that were disabled, or whose creator has left.
    """
    scope = caller.scope(Right.ADMINISTER)
    is_admin = scope is None or (bool(scope) if workspace_id is None else workspace_id in scope)
    if not is_admin:
        return
    webhooks = list(verbs.list_webhooks(by=caller, workspace_id=workspace_id).select_related("workspace"))
    abandoned = abandoned_webhooks(webhooks) if webhooks else set()
    for webhook in webhooks:
        words = {"title": webhook_title(webhook), "workspace": webhook.workspace.name}
        if webhook.disabled_reason:
            words["reason"] = str(REASONS[webhook.disabled_reason])
            text = _("The webhook “%(title)s” of %(workspace)s is disabled. %(reason)s") % words
        elif webhook.pk in abandoned:
            words["person"] = person(webhook.created_by, Place.NAMED)
            text = (
                _(
                    "The webhook “%(title)s” of %(workspace)s was created by %(person)s, who is no longer a "
                    "member."
                )
                % words
            )
        else:
            continue
        link = address("webhook", webhook.workspace_id, str(webhook.pk))
        yield Notice(text=text, address=link, link=_("View webhook"))


tab = WorkspaceTab(page="webhooks", title=gettext_lazy("Webhooks"), is_setting=True)
STUDIO: Final = Extension(
    urls="capabilities.delivery.studio", tabs=[tab], notices=notices, named_in_events=named_in_events
)
