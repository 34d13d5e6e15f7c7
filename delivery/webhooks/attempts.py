"""One attempt to deliver: send, then record the outcome and its consequences.

The request is made outside of any transaction. If a worker is killed between the receiver's answer and the
end of the transaction, the row stays leased. When the lease ends, another worker sends the same message
again, with the same id.
"""

from __future__ import annotations

import datetime
import logging
import random
import time
from http import HTTPStatus
from typing import Any, Final

from django.utils import timezone

from delivery.webhooks.models import (
    Delivery,
    DeliveryAttempt,
    DisabledReason,
    Outcome,
    State,
    Webhook,
)
from delivery.webhooks.root_key import RootKey, RootKeyUnreadable
from delivery.webhooks.signing import secret_of, signed_headers
from versioning.domain import measuring, tracing
from versioning.models import connections, events

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


WITHOUT_KEY_AGAIN: Final = 60.0
"""The seconds until the next attempt for a delivery whose message could not be signed."""

logger = logging.getLogger(__name__)


def attempt(delivery: Delivery) -> None:
    """Send a leased delivery and finish or postpone it; raises `LeaseLost` if that took too long."""
    webhook = Webhook.objects.filter(pk=delivery.webhook_id).first()
    if webhook is None:
        return  # deleted, and the delivery with it
    if not webhook.enabled:
        delivery.finish(state=State.CANCELLED, finished_at=timezone.now())
        return
    body = delivery.body.encode()
    try:
        root = RootKey.opened()
    except RootKeyUnreadable as error:
        logger.error("nothing is sent to webhooks: %s", error)  # noqa: TRY400  a traceback adds nothing
        delivery.postpone(WITHOUT_KEY_AGAIN)
        return
    connections.give_back()  # it is not needed while the receiver answers
    # Not at the top: only workers send, and httpx takes 6 MiB.
    from delivery.webhooks import sending  # noqa: PLC0415

    generations = webhook.signing_generations(timezone.now())
    secrets = [secret_of(webhook, root, generation=generation) for generation in generations]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "editor-webhooks/1",
        **signed_headers(str(delivery.pk), int(time.time()), body, secrets),
    }
    caller = {tracing.PARENT: delivery.trace} if delivery.trace else None
    described = {"http.request.method": "POST"}
    with tracing.span("POST webhook", described, kind="client", caller=caller) as span:
        outcome = sending.send(webhook.url, {**headers, **tracing.headers()}, body)
        span.set({"http.response.status_code": outcome.status_code})
        if not outcome.is_success:
            span.fail(str(outcome.status_code or "unreachable"))
    with events.transaction():
        _record(delivery, outcome)


def _record(delivery: Delivery, outcome: Outcome) -> None:
    """Store the attempt and the new state of the delivery and of the webhook."""
    webhook = Webhook.objects.locked().filter(pk=delivery.webhook_id).first()
    stored = Delivery.objects.select_for_update().filter(pk=delivery.pk).first()
    if webhook is None or stored is None:
        return
    DeliveryAttempt.objects.create(
        delivery=delivery,
        at=outcome.at,
        status_code=outcome.status_code,
        milliseconds=outcome.milliseconds,
        error=outcome.error,
        response=outcome.response,
    )
    measuring.count("editor_deliveries_total", result="delivered" if outcome.is_success else "failed")
    reason = _update_health(webhook, outcome)
    _end_lease(delivery, stored, outcome, is_disabled=reason is not None or not webhook.enabled)
    if reason is not None:
        webhook.disable(reason)


def _update_health(webhook: Webhook, outcome: Outcome) -> DisabledReason | None:
    """Update what the webhook stores about its receiver; return the reason if it has to be disabled."""
    if outcome.is_success:
        webhook.failing_since, webhook.last_success_at = None, outcome.at
        webhook.save(update_fields=["failing_since", "last_success_at"])
        return None
    if not webhook.enabled:
        return None
    if webhook.failing_since is None:
        webhook.failing_since = outcome.at
        webhook.save(update_fields=["failing_since"])
    if outcome.status_code == HTTPStatus.GONE:
        return DisabledReason.GONE
    if outcome.at - webhook.failing_since >= GIVE_UP_AFTER:
        return DisabledReason.FAILING
    return None


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
