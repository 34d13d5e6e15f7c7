"""One attempt to deliver: send, then record what came of it together with what follows from it.

The request is made outside of any transaction. A worker that is killed between the receiver's answer and
the end of the transaction leaves the row leased; when the lease is over, another one sends the same message
again, with the same id.
"""

from __future__ import annotations

import logging
import time
from http import HTTPStatus
from typing import Any, Final

from django.utils import timezone

from delivery.webhooks import retries
from delivery.webhooks.models import (
    Delivery,
    DeliveryAttempt,
    DisabledReason,
    Outcome,
    State,
    Webhook,
)
from delivery.webhooks.root_key import RootKeyUnreadable
from delivery.webhooks.signatures import signed_headers
from delivery.webhooks.signing_secrets import root_key, secret_of
from versioning.models import connections, events

WITHOUT_KEY_AGAIN: Final = 60.0
"""The seconds before the next look whether the messages can be signed."""

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
        headers = _headers(webhook, delivery, body)
    except RootKeyUnreadable as error:
        logger.error("nothing is sent to webhooks: %s", error)  # noqa: TRY400  the sentence says all
        delivery.postpone(WITHOUT_KEY_AGAIN)
        return
    connections.give_back()  # so that others can have it while the receiver thinks
    # Not at the top: of all processes only a worker sends, and httpx takes 6 MiB.
    from delivery.webhooks import sending  # noqa: PLC0415

    outcome = sending.send(webhook.url, headers, body)
    with events.transaction():
        _record(delivery, outcome)


def _headers(webhook: Webhook, delivery: Delivery, body: bytes) -> dict[str, str]:
    root = root_key()
    generations = webhook.signing_generations(timezone.now())
    secrets = [secret_of(webhook, root, generation=generation) for generation in generations]
    return {
        "Content-Type": "application/json",
        "User-Agent": "editor-webhooks/1",
        **signed_headers(str(delivery.pk), int(time.time()), body, secrets),
    }


def _record(delivery: Delivery, outcome: Outcome) -> None:
    """Store the attempt, the new state of the delivery, and what follows for the webhook."""
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
    reason = _note(webhook, outcome)
    _end(delivery, stored, outcome, is_disabled=reason is not None or not webhook.enabled)
    if reason is not None:
        webhook.disable(reason)


def _note(webhook: Webhook, outcome: Outcome) -> DisabledReason | None:
    """Update what the webhook says of its receiver; return the reason if it has to be disabled."""
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
    if outcome.at - webhook.failing_since >= retries.GIVE_UP_AFTER:
        return DisabledReason.FAILING
    return None


def _end(delivery: Delivery, stored: Delivery, outcome: Outcome, *, is_disabled: bool) -> None:
    """End the lease: the delivery is finished or due again.

    `delivery` is the row as it was leased, `stored` is the row now. If somebody has asked for a replay in
    between, that is a further attempt.
    """
    step = stored.step if delivery.replay_wanted else stored.step + 1
    wait = None
    if not outcome.is_success:
        wait = retries.wait_before(step, retry_after=outcome.retry_after)
    progress: dict[str, Any] = {"step": step, "replay_wanted": False}
    if stored.replay_wanted and not delivery.replay_wanted and not is_disabled:
        delivery.postpone(0, **{**progress, "replay_wanted": True})
    elif wait is not None and not is_disabled:
        delivery.postpone(wait, **progress)
    else:
        given_up = State.FAILED if wait is None or outcome.status_code == HTTPStatus.GONE else State.CANCELLED
        state = State.DELIVERED if outcome.is_success else given_up
        delivery.finish(state=state, finished_at=timezone.now(), **progress)
