"""The worker's part of webhooks: create deliveries from the log, send them, and record the outcomes.

The log is the outbox. A change writes no row for webhooks: a fraction of a second later a worker creates one
delivery for each entry and webhook, and in the same transaction moves a cursor. So a change has no extra
cost, and a rollback leaves nothing behind: docs/decisions/0022.

Requests are made outside of any transaction. If a worker is killed between a receiver's answer and the end of
the transaction, the rows stay leased. When the leases end, another worker sends the same messages again, with
the same ids. Outcomes are recorded together, because statements wait for each other under load.
"""

from __future__ import annotations

import datetime
import logging
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Min
from django.db.models.functions import Now
from django.utils import timezone

from capabilities.delivery.models import (
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    OutboxCursor,
    RootKey,
    RootKeyUnreadable,
    Webhook,
    derive_secret,
    sign,
)
from versioning.api.schemas import CompactJSONRenderer, EventAnswer
from versioning.domain import telemetry
from versioning.domain.access import Caller
from versioning.models import Event, events, storage
from versioning.models.due_work import LeaseLost
from versioning.worker.jobs import Periodic, Queue

PING: Final = "webhook.ping"
"""The type of the event that a ping sends. It is not in the log, so it has no position."""


def make_ping(webhook: Webhook, by: Caller) -> Event:
    """Return the event of a ping, which only tests the webhook."""
    return Event(
        type=PING,
        created_at=timezone.now(),
        workspace_id=webhook.workspace_id,
        actor=by.username or "",
        via=by.via.value,
        key_prefix=by.key_prefix or "",
        detail={"webhookId": str(webhook.pk)},
    )


logger = logging.getLogger(__name__)

CHECK_EVERY: Final = 0.25
"""The interval, in seconds, at which each worker checks whether the log has grown."""
ENTRIES_AT_ONCE: Final = 500
"""The maximum number of entries read in one transaction."""


def fill() -> None:
    """Create the deliveries of all unread entries; several workers may do so at once."""
    while (start := unread_after()) is not None and start != events.position():
        _fill_some()


def unread_after() -> int | None:
    """Return the position after which entries are unread; None if no webhook is enabled.

    Entries before the oldest enabled webhook are skipped. Without an enabled webhook the cursor does not
    move, so an installation without webhooks never writes for them.
    """
    oldest: int | None = Webhook.objects.filter(enabled=True).aggregate(after=Min("after"))["after"]
    if oldest is None:
        return None
    read = OutboxCursor.objects.values_list("position", flat=True).first()
    return max(oldest, read or 0)


@transaction.atomic
def _fill_some() -> None:
    OutboxCursor.objects.bulk_create([OutboxCursor()], ignore_conflicts=True)
    cursor = OutboxCursor.objects.select_for_update().get()
    start = unread_after()  # again: another worker may have moved the cursor, or the webhook is deleted
    newest = events.position()
    if start is None or start == newest:
        return
    entries = []
    if start > newest:  # an earlier state of the log was restored, but not of the webhooks
        logger.warning(
            "the log ends at %s, before the position read for webhooks; they continue from there", newest
        )
        Webhook.objects.filter(after__gt=newest).update(after=newest)
    else:
        entries = events.entries(after=start, limit=ENTRIES_AT_ONCE)
        # After reading the entries, so that a webhook created in the meantime begins after all of them.
        webhooks = list(Webhook.objects.with_lock().filter(enabled=True))
        Delivery.objects.bulk_create(
            make_delivery(webhook, event) for event in entries for webhook in webhooks if webhook.wants(event)
        )
    cursor.position = entries[-1].position if entries else newest  # the positions in between have no entries
    cursor.save(update_fields=["position"])


def make_delivery(webhook: Webhook, event: Event) -> Delivery:
    """Return a new delivery that is due now."""
    body = CompactJSONRenderer().render(EventAnswer.dump(event)).decode()
    trace = event.trace or ""
    return Delivery(webhook=webhook, event_id=event.uuid, body=body, trace=trace, due_at=Now())


WAITS: Final = (0.0, 5.0, 300.0, 1800.0, *(hours * 3600.0 for hours in (2, 5, 10, 14, 20, 24)))
"""The seconds between an attempt and the one before, as proposed by Standard Webhooks."""
JITTER: Final = 0.2
"""The fraction by which a wait varies, so that deliveries that failed together are not retried together."""


def wait_before(step: int, *, retry_after: float = 0.0) -> float | None:
    """Return the seconds to wait after `step` scheduled attempts; None if there are no more.

    `retry_after` is the receiver's request in seconds; it can only make the wait longer.
    """
    if step >= len(WAITS):
        return None
    wait = WAITS[step] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  no secret
    return max(wait, retry_after)


RECORD_AFTER: Final = 1.0
"""The seconds for which messages are sent one after the other before the outcomes are recorded."""
WITHOUT_KEY_AGAIN: Final = 60.0
"""The seconds until the next attempt for a delivery whose message could not be signed."""


def deliver(deliveries: Sequence[Delivery]) -> None:
    """Send leased deliveries of one webhook, and finish or postpone those that were sent.

    It stops after a failure or after a second, so that other webhooks get a turn.
    """
    webhook = Webhook.objects.filter(pk=deliveries[0].webhook_id).first()
    if webhook is None:
        return  # deleted, and the deliveries with it
    if not webhook.enabled:
        for delivery in deliveries:
            with suppress(LeaseLost):
                delivery.finish(state=DeliveryState.CANCELLED, finished_at=timezone.now())
        return
    try:
        root = RootKey.load_key()
    except RootKeyUnreadable as error:
        logger.error("nothing is sent to webhooks: %s", error)  # noqa: TRY400  a traceback adds nothing
        for delivery in deliveries:
            with suppress(LeaseLost):
                delivery.postpone(WITHOUT_KEY_AGAIN)
        return
    storage.give_back()  # it is not needed while the receiver answers
    until, attempts = time.monotonic() + RECORD_AFTER, []
    for delivery in deliveries:
        attempts.append(_send(webhook, root, delivery))
        if not attempts[-1].is_success or time.monotonic() > until:
            break
    with events.transaction():
        ended = _record(attempts)
    for delivery in ended:
        delivery.leased_by = ""


def _send(webhook: Webhook, root: bytes, delivery: Delivery) -> DeliveryAttempt:
    # Not at the top: only workers send, and httpx2 takes 6 MiB.
    from capabilities.delivery import sending  # noqa: PLC0415

    message = delivery.body.encode()
    generations = webhook.signing_generations(timezone.now())
    secrets = [derive_secret(webhook, root, generation=generation) for generation in generations]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "editor-webhooks/1",
        **sign(str(delivery.pk), int(time.time()), message, secrets),
    }
    caller = {telemetry.PARENT: delivery.trace} if delivery.trace else None
    described = {"http.request.method": "POST"}
    with telemetry.span("POST webhook", described, kind="client", caller=caller) as span:
        attempt = sending.send(webhook.url, {**headers, **telemetry.headers()}, message)
        span.set({"http.response.status_code": attempt.status_code})
        if not attempt.is_success:
            span.fail(str(attempt.status_code or "unreachable"))
    attempt.delivery = delivery
    return attempt


def _record(attempts: Sequence[DeliveryAttempt]) -> list[Delivery]:
    """Store attempts, and the new state of their deliveries and of the webhook; return those deliveries."""
    webhook = Webhook.objects.with_lock().filter(pk=attempts[0].delivery.webhook_id).first()
    if webhook is None:
        return []
    rows = Delivery.objects.select_for_update().in_bulk([attempt.delivery.pk for attempt in attempts])
    leased = []
    for attempt in attempts:
        delivery = attempt.delivery
        row = rows.get(delivery.pk)
        if row is None or (row.leased_by, row.attempts) != (delivery.leased_by, delivery.attempts):
            logger.warning("a delivery took longer than its lease", extra={"row": str(delivery.pk)})
        else:
            leased.append(attempt)
            telemetry.count("editor_deliveries_total", result="delivered" if attempt.is_success else "failed")
    DeliveryAttempt.objects.bulk_create(leased)
    reason = webhook.record_health(leased)
    delivered = [
        attempt.delivery.pk
        for attempt in leased
        if attempt.is_success and not rows[attempt.delivery.pk].replay_wanted
    ]
    Delivery.objects.filter(pk__in=delivered).finish(state=DeliveryState.DELIVERED, step=F("step") + 1)
    is_disabled = reason is not None or not webhook.enabled
    for attempt in leased:
        if attempt.delivery.pk not in delivered:
            _end_lease(attempt, rows[attempt.delivery.pk], is_disabled=is_disabled)
    if reason is not None:
        webhook.disable(reason)
    return [attempt.delivery for attempt in leased]


def _end_lease(attempt: DeliveryAttempt, row: Delivery, *, is_disabled: bool) -> None:
    """Finish the delivery, or make it due again.

    The attempt has the delivery as it was leased, `row` is the delivery now. A replay that was requested in
    between is a further attempt.
    """
    delivery = attempt.delivery
    step = row.step if delivery.replay_wanted else row.step + 1
    wait = None if attempt.is_success else wait_before(step, retry_after=attempt.retry_after)
    progress: dict[str, Any] = {"step": step, "replay_wanted": False}
    if row.replay_wanted and not delivery.replay_wanted and not is_disabled:
        delivery.postpone(0, **{**progress, "replay_wanted": True})
    elif wait is not None and not is_disabled:
        delivery.postpone(wait, **progress)
    else:
        state = DeliveryState.CANCELLED
        if attempt.is_success:
            state = DeliveryState.DELIVERED
        elif wait is None or attempt.status_code == HTTPStatus.GONE:
            state = DeliveryState.FAILED
        delivery.finish(state=state, finished_at=timezone.now(), **progress)


THREADS: Final = 16
"""The number of deliveries that each worker sends at the same time, at most half of them for one workspace.
"""
AT_ONCE: Final = 20
"""The number of deliveries of one webhook that a thread sends before it records the outcomes."""
KEPT_FOR: Final = datetime.timedelta(days=30)
"""The time for which finished deliveries can be read and replayed."""
REMOVED_AT_ONCE: Final = 1000


def keep_up() -> None:
    """Delete old deliveries, and encrypt the root key again if the settings have a newer key."""
    old = Delivery.objects.filter(finished_at__lt=timezone.now() - KEPT_FOR).order_by("finished_at")
    # In batches, so that no other transaction waits long for a lock.
    while keys := list(old.values_list("pk", flat=True)[:REMOVED_AT_ONCE]):
        Delivery.objects.filter(pk__in=keys).delete()
    RootKey.keep_up()


JOBS: Final = (
    Periodic(name="webhook outbox", run=fill, every=CHECK_EVERY, in_each_worker=True),
    Queue(
        name="webhook deliveries",
        model="delivery.Delivery",
        run=deliver,
        threads=THREADS,
        at_once=AT_ONCE,
        in_batches=True,
    ),
    Periodic(name="webhook upkeep", run=keep_up, every=3600.0),
)
