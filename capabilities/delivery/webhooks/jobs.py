"""The jobs of workers for webhooks."""

from __future__ import annotations

import datetime
from typing import Final

from django.utils import timezone

from capabilities.delivery.webhooks import attempts, outbox
from capabilities.delivery.webhooks.models import Delivery
from capabilities.delivery.webhooks.signing import RootKey
from versioning.worker.jobs import Periodic, Queue

THREADS: Final = 16
"""How many deliveries each worker sends at the same time, at most half of them for one workspace."""
AT_ONCE: Final = 20
"""How many deliveries of one webhook a thread sends before it records what came of them."""
KEPT_FOR: Final = datetime.timedelta(days=30)
"""How long finished deliveries can be read and replayed."""
REMOVED_AT_ONCE: Final = 1000


def keep_up() -> None:
    """Delete old deliveries, and encrypt the root key again if the settings have a newer key."""
    remove_old()
    RootKey.keep_up()


def remove_old() -> None:
    """Delete old deliveries, in batches so that no other transaction waits long for a lock."""
    old = Delivery.objects.filter(finished_at__lt=timezone.now() - KEPT_FOR).order_by("finished_at")
    while some := list(old.values_list("pk", flat=True)[:REMOVED_AT_ONCE]):
        Delivery.objects.filter(pk__in=some).delete()


JOBS: Final = (
    Periodic(name="webhook outbox", run=outbox.fill, every=outbox.SECONDS, in_each_worker=True),
    Queue(
        name="webhook deliveries",
        model="delivery.Delivery",
        run=attempts.attempt,
        threads=THREADS,
        at_once=AT_ONCE,
        in_batches=True,
    ),
    Periodic(name="webhook upkeep", run=keep_up, every=3600.0),
)
