"""Attempts to deliver: send some messages to one receiver, then record the outcomes and their consequences.

Requests are made outside of any transaction. If a worker is killed between a receiver's answer and the end of
the transaction, the rows stay leased. When the leases end, another worker sends the same messages again, with
the same ids. Outcomes are recorded together because under load every statement waits for its turn.
"""

from __future__ import annotations

import datetime
import logging
import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from django.db.models import F
from django.utils import timezone

from capabilities.delivery.webhooks.models import (
    Delivery,
    DeliveryAttempt,
    DisabledReason,
    Outcome,
    State,
    Webhook,
)
from capabilities.delivery.webhooks.signing import RootKey, RootKeyUnreadable, secret_of, signed_headers
from versioning.domain import telemetry
from versioning.models import events, storage
from versioning.models.due_work import LeaseLost

HOUR: Final = 3600.0

WAITS: Final = (0.0, 5.0, 300.0, 1800.0, *(hours * HOUR for hours in (2, 5, 10, 14, 20, 24)))
"""The seconds between an attempt and the one before, as proposed by Standard Webhooks."""
JITTER: Final = 0.2
"""The fraction by which a wait varies, so that deliveries that failed together are not retried together."""
GIVE_UP_AFTER: Final = datetime.timedelta(days=3)
"""How long a receiver may fail without a single success before its webhook is disabled."""


def wait_before(step: int, *, retry_after: float = 0.0) -> float | None:
    """Return the seconds to wait after `step` scheduled attempts; None if there are no more.

    `retry_after` is the receiver's request in seconds; it can only make the wait longer.
    """
    if step >= len(WAITS):
        return None
    wait = WAITS[step] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  no secret
    return max(wait, retry_after)


SECONDS: Final = 1.0
"""How long messages are sent one after the other before the outcomes are recorded."""
WITHOUT_KEY_AGAIN: Final = 60.0
"""The seconds until the next attempt for a delivery whose message could not be signed."""

logger = logging.getLogger(__name__)


def attempt(deliveries: Sequence[Delivery]) -> None:
    """Send leased deliveries of one webhook, and finish or postpone those that were sent.

    A failure, or the end of a second, is the end: others have their turn.
    """
    webhook = Webhook.objects.filter(pk=deliveries[0].webhook_id).first()
    if webhook is None:
        return  # deleted, and the deliveries with it
    if not webhook.enabled:
        for delivery in deliveries:
            with suppress(LeaseLost):
                delivery.finish(state=State.CANCELLED, finished_at=timezone.now())
        return
    try:
        root = RootKey.opened()
    except RootKeyUnreadable as error:
        logger.error("nothing is sent to webhooks: %s", error)  # noqa: TRY400  a traceback adds nothing
        for delivery in deliveries:
            with suppress(LeaseLost):
                delivery.postpone(WITHOUT_KEY_AGAIN)
        return
    storage.give_back()  # it is not needed while the receiver answers
    until, outcomes = time.monotonic() + SECONDS, []
    for delivery in deliveries:
        outcomes.append((delivery, _send(webhook, root, delivery)))
        if not outcomes[-1][1].is_success or time.monotonic() > until:
            break
    with events.transaction():
        ended = _record(outcomes)
    for delivery in ended:
        delivery.leased_by = ""


def _send(webhook: Webhook, root: bytes, delivery: Delivery) -> Outcome:
    # Not at the top: only workers send, and httpx2 takes 6 MiB.
    from capabilities.delivery.webhooks import sending  # noqa: PLC0415

    body = delivery.body.encode()
    generations = webhook.signing_generations(timezone.now())
    secrets = [secret_of(webhook, root, generation=generation) for generation in generations]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "editor-webhooks/1",
        **signed_headers(str(delivery.pk), int(time.time()), body, secrets),
    }
    caller = {telemetry.PARENT: delivery.trace} if delivery.trace else None
    described = {"http.request.method": "POST"}
    with telemetry.span("POST webhook", described, kind="client", caller=caller) as span:
        outcome = sending.send(webhook.url, {**headers, **telemetry.headers()}, body)
        span.set({"http.response.status_code": outcome.status_code})
        if not outcome.is_success:
            span.fail(str(outcome.status_code or "unreachable"))
    return outcome


def _record(outcomes: Sequence[tuple[Delivery, Outcome]]) -> list[Delivery]:
    """Store attempts, and the new state of their deliveries and of the webhook; return those deliveries."""
    webhook = Webhook.objects.locked().filter(pk=outcomes[0][0].webhook_id).first()
    if webhook is None:
        return []
    rows = Delivery.objects.select_for_update().in_bulk([delivery.pk for delivery, _ in outcomes])
    held = []
    for delivery, outcome in outcomes:
        stored = rows.get(delivery.pk)
        if stored is None or (stored.leased_by, stored.attempts) != (delivery.leased_by, delivery.attempts):
            logger.warning("a delivery took longer than its lease", extra={"row": str(delivery.pk)})
        else:
            held.append((delivery, stored, outcome))
    DeliveryAttempt.objects.bulk_create(
        DeliveryAttempt(
            delivery=delivery,
            at=outcome.at,
            status_code=outcome.status_code,
            milliseconds=outcome.milliseconds,
            error=outcome.error,
            response=outcome.response,
        )
        for delivery, _, outcome in held
    )
    for _, _, outcome in held:
        telemetry.count("editor_deliveries_total", result="delivered" if outcome.is_success else "failed")
    reason = _update_health(webhook, [outcome for _, _, outcome in held])
    done = [stored.pk for _, stored, outcome in held if outcome.is_success and not stored.replay_wanted]
    Delivery.objects.filter(pk__in=done).finish(state=State.DELIVERED, step=F("step") + 1)
    for delivery, stored, outcome in held:
        if stored.pk not in done:
            _end_lease(delivery, stored, outcome, is_disabled=reason is not None or not webhook.enabled)
    if reason is not None:
        webhook.disable(reason)
    return [delivery for delivery, *_ in held]


def _update_health(webhook: Webhook, outcomes: Iterable[Outcome]) -> DisabledReason | None:
    """Update what the webhook stores about its receiver; return the reason if it has to be disabled."""
    reason = None
    for outcome in outcomes:
        if outcome.is_success:
            webhook.failing_since, webhook.last_success_at = None, outcome.at
        elif webhook.enabled:
            webhook.failing_since = webhook.failing_since or outcome.at
            if outcome.status_code == HTTPStatus.GONE:
                reason = DisabledReason.GONE
            elif outcome.at - webhook.failing_since >= GIVE_UP_AFTER:
                reason = DisabledReason.FAILING
    webhook.save(update_fields=["failing_since", "last_success_at"])
    return reason


def _end_lease(delivery: Delivery, stored: Delivery, outcome: Outcome, *, is_disabled: bool) -> None:
    """Finish the delivery, or make it due again.

    `delivery` is the row as it was leased, `stored` is the row now. A replay that was requested in between
    is a further attempt.
    """
    step = stored.step if delivery.replay_wanted else stored.step + 1
    wait = None
    if not outcome.is_success:
        wait = wait_before(step, retry_after=outcome.retry_after)
    progress: dict[str, Any] = {"step": step, "replay_wanted": False}
    if stored.replay_wanted and not delivery.replay_wanted and not is_disabled:
        delivery.postpone(0, **{**progress, "replay_wanted": True})
    elif wait is not None and not is_disabled:
        delivery.postpone(wait, **progress)
    else:
        given_up = State.FAILED if wait is None or outcome.status_code == HTTPStatus.GONE else State.CANCELLED
        state = State.DELIVERED if outcome.is_success else given_up
        delivery.finish(state=state, finished_at=timezone.now(), **progress)
