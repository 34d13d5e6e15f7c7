"""Webhooks, their deliveries, the keys that sign them, and their position in the log.

A delivery is a row of due work; docs/decisions/0022 explains why the log itself is the outbox.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import re
import uuid
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final, Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import pgettext_lazy
from standardwebhooks.webhooks import Webhook as Signer

from versioning.domain import telemetry
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid
from versioning.domain.events import ALL_OF
from versioning.models import DueWork, Event, Workspace, events
from versioning.models.due_work import LEASE_SECONDS, DueWorkQuerySet, Owner
from versioning.models.followers import Follower
from versioning.models.personal_data import PEOPLE_MEMBERS, Erasure, PersonalData, names_in
from versioning.models.rules import LimitedText
from versioning.models.sealed_keys import KeyUnreadable, SealedKey

GIVE_UP_AFTER: Final = datetime.timedelta(days=3)
"""The time without a single success after which a webhook is disabled."""
SENDERS: Final = 2
"""The number of threads of all workers that send to one webhook at the same time, so that a slow receiver
occupies no more."""


class DeliveryState(models.TextChoices):
    """The state of a delivery."""

    PENDING = "pending", pgettext_lazy("a delivery", "Pending")
    DELIVERED = "delivered", pgettext_lazy("a delivery", "Delivered")
    FAILED = "failed", pgettext_lazy("a delivery", "Failed")
    """Every attempt has failed."""
    CANCELLED = "cancelled", pgettext_lazy("a delivery", "Cancelled")
    """Its webhook was disabled first."""


class DisabledReason(models.TextChoices):
    """Why the service has disabled a webhook; empty if it is enabled or an admin has disabled it."""

    GONE = "gone"
    """The receiver answered 410."""
    FAILING = "failing"
    """Three days without a success."""


class WebhookQuerySet(models.QuerySet["Webhook"]):
    """Queries for webhooks."""

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction, in a fixed order that prevents deadlocks.

        Code that enables or disables a webhook, or creates its deliveries, holds this lock. So a disabled
        webhook has no pending deliveries.
        """
        return self.select_for_update(no_key=True).order_by("pk")

    def with_due(self, deliveries: models.QuerySet[Delivery]) -> Self:
        """Return the webhooks of some due deliveries, in the order in which these became due.

        It reads one delivery of each webhook.
        """
        due = deliveries.filter(webhook=OuterRef("pk")).order_by("due_at").values("due_at")[:1]
        return self.annotate(due_at=Subquery(due)).exclude(due_at=None).order_by("due_at", "pk")


class Webhook(models.Model):
    """A URL that receives the events of a workspace."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    url = models.CharField(max_length=2000)
    event_types = models.JSONField()
    """The types and patterns (`agent.*`) of the events, as given."""
    id_prefix = models.CharField(max_length=200, blank=True)
    """The prefix of the resources' ids; empty for events about anything."""
    description = LimitedText(max_length=500, blank=True)
    enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=16, choices=DisabledReason, blank=True)
    created_by = models.TextField(blank=True)
    """The name of the creator's account; the webhook outlives it, and another account may get the name."""
    created_by_id = models.TextField(blank=True)
    """The primary key of that account, as text."""
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    after = models.BigIntegerField()
    """The position in the log when it was created or enabled: it gets later events."""
    failing_since = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    generation = models.PositiveIntegerField(default=1)
    """The number of its newest secret; see `derive_secret`."""
    previous = models.JSONField(default=list)
    """The older generations that still sign, each as `[generation, until]`, newest first."""

    deleted_by: Caller = APPLICATION
    """The caller that deletes it; the application if its workspace is deleted."""

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [models.Index(name="webhook_of_workspace", fields=["workspace", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.pk} of {self.workspace_id}"

    def wants(self, event: Event) -> bool:
        """Return whether this webhook gets an event of the log.

        A webhook gets the events of its workspace that its admins see. If a block of an agent in the same
        workspace changes, it gets the event about the block, not the one about the agent. It does not get the
        event about its own creation.
        """
        if event.workspace_id != self.workspace_id or event.hidden_from == self.workspace_id:
            return False
        if event.position <= self.after or not self.enabled:
            return False
        if event.type == "webhook.created" and event.detail.get("webhookId") == str(self.pk):
            return False
        if self.id_prefix and not event.resource_id.startswith(self.id_prefix):
            return False
        subject = event.type.rpartition(".")[0]
        return bool({event.type, subject + ALL_OF} & set(self.event_types))

    def signing_generations(self, now: datetime.datetime) -> list[int]:
        """Return the generations of secrets that sign a message now, the newest first."""
        still = [
            generation for generation, until in self.previous if datetime.datetime.fromisoformat(until) > now
        ]
        return [self.generation, *still]

    def record(self, change: str, by: Caller, **detail: Any) -> None:
        """Record a change of the webhook in the log, never with its URL, which may contain a secret."""
        about = {"webhookId": str(self.pk), **detail}
        events.record(f"webhook.{change}", by=by, workspace_id=self.workspace_id, **about)

    def record_health(self, attempts: Iterable[DeliveryAttempt]) -> DisabledReason | None:
        """Store the receiver's health from attempts; return the reason if the webhook has to be disabled."""
        reason = None
        for attempt in attempts:
            if attempt.is_success:
                self.failing_since, self.last_success_at = None, attempt.at
            elif self.enabled:
                self.failing_since = self.failing_since or attempt.at
                if attempt.status_code == HTTPStatus.GONE:
                    reason = DisabledReason.GONE
                elif attempt.at - self.failing_since >= GIVE_UP_AFTER:
                    reason = DisabledReason.FAILING
        self.save(update_fields=["failing_since", "last_success_at"])
        return reason

    def require_enabled(self) -> None:
        """Raise `Invalid` with the code `webhook_disabled` unless it is enabled."""
        if not self.enabled:
            raise Invalid.field("enabled", "is false: enable the webhook first", code="webhook_disabled")

    def disable(self, reason: DisabledReason) -> None:
        """Disable it, cancel pending deliveries and record it; the transaction must have locked the row."""
        self.enabled, self.disabled_reason = False, reason
        self.save(update_fields=["enabled", "disabled_reason"])
        Delivery.objects.filter(webhook=self).cancel()
        self.record("disabled", APPLICATION, reason=reason.value)


def record_end_of_webhook(instance: Webhook, **_signal: Any) -> None:
    """Record that a webhook is deleted."""
    with events.transaction():
        instance.record("deleted", instance.deleted_by)


FOLLOWER: Final = Follower(call=record_end_of_webhook, rows="delivery.Webhook", before=True)


class DeliveryQuerySet(DueWorkQuerySet["Delivery"]):
    """Queries for deliveries."""

    def owners(self) -> list[Owner]:
        """Return the workspaces and webhooks with due deliveries, without busy webhooks.

        A webhook is busy while the maximum number of threads send to it: one if its receiver is failing.
        """
        webhooks = Webhook.objects.exclude(pk__in=self._busy()).with_due(self.due())
        return list(webhooks.values_list("workspace", "pk"))

    def lease_of(self, owner: Owner, limit: int, *, by: str) -> list[Delivery]:
        """Lease due deliveries of one webhook, unless it has become busy; one if its receiver is failing.

        Sending threads are counted while the webhook is locked, so that concurrent threads do not all send to
        the same receiver.
        """
        _workspace, webhook_id = owner
        with transaction.atomic(using=self.db):
            webhook = Webhook.objects.with_lock().filter(pk=webhook_id).first()
            if webhook is None or self._busy().filter(webhook=webhook).exists():
                return []
            limit = limit if webhook.failing_since is None else 1
            return super(DeliveryQuerySet, self.filter(webhook=webhook)).lease_of(owner, limit, by=by)

    def _busy(self) -> models.QuerySet[Any, Any]:
        """Return the busy webhooks."""
        # Workers renew a lease when a third of it has passed; with less than half of it left, its worker is
        # gone.
        lease_end = Now() + datetime.timedelta(seconds=LEASE_SECONDS / 2)
        leased = self.model._default_manager.filter(leased_until__gt=lease_end).order_by()
        senders = leased.values("webhook").annotate(number=Count("leased_by", distinct=True))
        busy = senders.filter(Q(number__gte=SENDERS) | Q(webhook__failing_since__isnull=False))
        return busy.values("webhook")

    def finish(self, **changes: Any) -> None:
        """End leases of deliveries that are done."""
        ended = {"leased_by": "", "leased_until": None, "due_at": None, "finished_at": timezone.now()}
        self.update(**ended, **changes)

    def cancel(self) -> None:
        """Cancel pending deliveries; one that is being sent at this moment may still be delivered."""
        pending = self.filter(state=DeliveryState.PENDING)
        pending.update(state=DeliveryState.CANCELLED, due_at=None, finished_at=timezone.now())


class Delivery(DueWork):
    """One event for one webhook, and the state of its delivery."""

    work_name = "webhook deliveries"
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.UUIDField()
    body = models.TextField()
    """The message: the same at every attempt, even if the event has been pruned from the log."""
    trace = models.CharField(max_length=telemetry.MAX_LENGTH, blank=True, default="", db_default="")
    """The `traceparent` of the reported change; empty without traces."""
    state = models.CharField(max_length=16, choices=DeliveryState, default=DeliveryState.PENDING)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, db_index=True)
    """When it stopped being pending."""
    step = models.PositiveSmallIntegerField(default=0)
    """The number of scheduled attempts made so far; replays do not count."""
    replay_wanted = models.BooleanField(default=False)
    """Whether an admin has requested another attempt that has not been made yet."""

    objects = DeliveryQuerySet.as_manager()  # type: ignore[misc]  # narrower than the base class's

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-created_at", "pk"]
        constraints = [
            models.UniqueConstraint(name="delivery_once_per_webhook", fields=["webhook", "event_id"])
        ]
        indexes = [
            models.Index(name="delivery_of_webhook", fields=["webhook", "-created_at"]),
            models.Index(
                name="delivery_due_of_webhook",
                fields=["webhook", "due_at"],
                condition=Q(due_at__isnull=False),
            ),
            models.Index(
                name="delivery_being_sent", fields=["leased_until"], condition=Q(leased_until__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} to {self.webhook_id}: {self.state}"

    @property
    def event(self) -> dict[str, Any]:
        """The event, as it is sent."""
        event: dict[str, Any] = json.loads(self.body)
        return event

    @property
    def next_attempt_at(self) -> datetime.datetime | None:
        """When the next attempt is; None if it is not pending."""
        return self.due_at if self.state == DeliveryState.PENDING else None


class DeliveryAttempt(models.Model):
    """One request to the receiver, and its answer."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="made")
    at = models.DateTimeField()
    status_code = models.PositiveSmallIntegerField(null=True)
    milliseconds = models.PositiveIntegerField()
    error = models.TextField(blank=True)
    """The reason of a failure, in a sentence; empty for a success."""
    response = models.TextField(blank=True)
    """The beginning of the answer's body."""
    retry_after: float = 0.0
    """The seconds that the receiver asks to wait; not stored."""

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.delivery_id} at {self.at}: {self.status_code or self.error}"

    @property
    def is_success(self) -> bool:
        """Whether the message is delivered."""
        return not self.error


class OutboxCursor(models.Model):
    """The single row that holds the position up to which the log has been read for all webhooks."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.position)


SECRET_PREFIX = "whsec_"  # noqa: S105  what every secret begins with


def sign(message_id: str, timestamp: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """Return the id, the time and the signatures of a message: one signature for each secret.

    `timestamp` is in seconds since 1970, `secrets` are `whsec_` and base64.
    """
    time, text = datetime.datetime.fromtimestamp(timestamp, datetime.UTC), body.decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(Signer(secret).sign(message_id, time, text) for secret in secrets),
    }


def derive_secret(webhook: Webhook, root: bytes, *, generation: int | None = None) -> str:
    """Return the secret of a webhook (`whsec_…`), by default of the newest generation."""
    label = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    digest = hmac.new(root, label.encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(digest).decode()


class RootKeyUnreadable(KeyUnreadable):
    """No key in the settings decrypts the root key, so nothing can be signed."""

    code = "webhook_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key of the webhooks cannot be read: EDITOR_WEBHOOK_KEY or SECRET_KEY was changed. Put the "
            "previous SECRET_KEY into SECRET_KEY_FALLBACKS, or the previous EDITOR_WEBHOOK_KEY after "
            "the new one, separated by a comma."
        )


class RootKey(SealedKey):
    """The root key, which the database stores encrypted."""

    purpose = b"the root key of the editor's webhooks"
    unreadable = RootKeyUnreadable

    @classmethod
    def texts(cls) -> list[str]:
        """Return the keys in `EDITOR_WEBHOOK_KEY`, followed by the others."""
        key_texts = [text for part in settings.EDITOR_WEBHOOK_KEY.split(",") if (text := part.strip())]
        return [*key_texts, *super().texts()]


_MEMBERS: Final = "|".join(sorted(PEOPLE_MEMBERS))
_PEOPLE: Final = re.compile(
    rf'((?:"(?:{_MEMBERS})"|"actor"\s*:\s*\{{\s*"id")\s*:\s*)("(?:[^"\\]|\\.)*"|\[[^\[\]{{}}]*)'
)
"""A member of an event with user names, and its value; the event may be truncated."""


def _erase_in_deliveries(erasure: Erasure) -> int:
    """Replace the person in events that are pending or can be replayed."""
    count = 0
    for delivery in Delivery.objects.filter(erasure.found_in("body")).only("pk", "body").iterator():
        event = json.loads(delivery.body)
        event["actor"]["id"] = erasure.replace_name(event["actor"]["id"])
        event["detail"] = erasure.replace_in_detail(event["detail"])
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        if body != delivery.body:
            count += Delivery.objects.filter(pk=delivery.pk).update(body=body)
    return count


def _erase_in_responses(erasure: Erasure) -> int:
    """Replace the person in answers of receivers that repeat the event, or its beginning."""
    count = 0
    for attempt in DeliveryAttempt.objects.filter(erasure.found_in("response")).only("pk", "response"):
        response = _PEOPLE.sub(lambda match: match[1] + erasure.replace_quoted(match[2]), attempt.response)
        if response != attempt.response:
            count += DeliveryAttempt.objects.filter(pk=attempt.pk).update(response=response)
    return count


PERSONAL_DATA: Final = (
    names_in("delivery.Webhook", "created_by"),
    PersonalData(erase=_erase_in_deliveries),
    PersonalData(erase=_erase_in_responses),
)
