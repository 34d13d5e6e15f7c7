"""What admins of a workspace do with its webhooks; the API and the studio call these functions.

Every function takes the caller as `by` and raises `NotFound` for who may not read the workspace, and
`Forbidden` for its members who do not administer it. Wrong values raise `Invalid`, which names the field as
the API does.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from delivery.webhooks import outbox
from delivery.webhooks.messages import body_of, ping_of
from delivery.webhooks.models import Delivery, State, Webhook
from delivery.webhooks.retries import WAITS
from delivery.webhooks.signing_secrets import root_key, secret_of
from delivery.webhooks.values import COLUMNS, checked
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.locking import retried
from versioning.editor.resources import Who, caller_of
from versioning.models import events

MAX_KEEP_HOURS: Final = 168
PREVIOUS_AT_MOST: Final = 4
"""How many older secrets sign beside the newest one."""


def listed(*, by: Who, workspace_id: str | None = None) -> QuerySet[Webhook]:
    """Return the webhooks of all workspaces that the caller administers, or of one of them.

    A workspace that the caller may not read has none. Raises `Forbidden` for one that the caller may read.
    """
    caller = caller_of(by)
    scope = caller.scope(Right.ADMINISTER)
    found = Webhook.objects.all()
    if workspace_id is not None:
        if not caller.may(Right.READ, workspace_id):
            return found.none()
        caller.require(Right.ADMINISTER, workspace_id)
        return found.filter(workspace=workspace_id)
    return found if scope is None else found.filter(workspace__in=scope)


def find(webhook_id: str, *, by: Who) -> Webhook:
    """Return a webhook."""
    caller = caller_of(by)
    webhook = Webhook.objects.filter(pk=_uuid(webhook_id)).first()
    if webhook is None or not caller.may(Right.READ, webhook.workspace_id):
        raise NotFound
    caller.require(Right.ADMINISTER, webhook.workspace_id)
    return webhook


@retried
def create(
    workspace_id: str,
    *,
    url: str,
    event_types: Sequence[str],
    id_prefix: str | None = None,
    description: str | None = None,
    by: Who,
) -> tuple[Webhook, str]:
    """Create a webhook for the events that follow; return it with its secret, which is not shown again.

    Raises `RootKeyUnreadable` if no secret can be made.
    """
    caller = caller_of(by)
    get_editor().workspace.find(workspace_id, by=caller)  # before the host of a stranger is looked up
    given = {"url": url, "eventTypes": event_types, "idPrefix": id_prefix, "description": description}
    columns = checked(given)
    with get_editor().workspace.administering(workspace_id, caller):
        root = root_key()
        webhook = Webhook.objects.create(
            workspace_id=workspace_id,
            created_by=caller.username or "",
            created_by_id="" if caller.user_id is None else str(caller.user_id),
            after=events.position(),
            **columns,
        )
        webhook.record("created", caller)
    return webhook, secret_of(webhook, root)


@retried
def change(webhook_id: str, changes: Mapping[str, Any], *, by: Who) -> Webhook:
    """Change members of a webhook, named as in JSON; what is absent stays.

    Enabling it clears what is known of failures, and it gets the events that follow. Disabling it cancels
    what is pending.
    """
    caller = caller_of(by)
    find(webhook_id, by=caller)
    columns = checked(changes)
    outbox.fill()  # what happened until now is for the webhook as it was
    with _administering(webhook_id, caller) as webhook:
        changed = [name for name, value in columns.items() if getattr(webhook, name) != value]
        if not changed:
            return webhook
        for name in changed:
            setattr(webhook, name, columns[name])
        if "enabled" in changed:
            _enable(webhook)
        webhook.save()
        names = {column: name for name, column in COLUMNS.items()}
        webhook.record("changed", caller, fields=sorted(names[name] for name in changed))
        return webhook


@retried
def delete(webhook_id: str, *, by: Who) -> None:
    """Delete a webhook with its deliveries."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        webhook.deleted_by = caller
        webhook.delete()


@retried
def rotate(webhook_id: str, *, keep_previous_hours: int, by: Who) -> tuple[str, datetime.datetime | None]:
    """Replace the secret; return the new one, and until when the one before signs too.

    With 0 hours no earlier one signs any more. Otherwise those whose time is not over yet go on.
    """
    caller = caller_of(by)
    if not 0 <= keep_previous_hours <= MAX_KEEP_HOURS:
        raise Invalid.field("keepPreviousHours", f"must be a whole number from 0 to {MAX_KEEP_HOURS}")
    with _administering(webhook_id, caller) as webhook:
        root, now = root_key(), timezone.now()
        until = now + datetime.timedelta(hours=keep_previous_hours) if keep_previous_hours else None
        still = set(webhook.signing_generations(now)) if until else set()
        before = [[webhook.generation, until.isoformat()]] if until else []
        before += [one for one in webhook.previous if one[0] in still]
        webhook.previous = before[:PREVIOUS_AT_MOST]
        webhook.generation += 1
        webhook.save(update_fields=["previous", "generation"])
        webhook.record("changed", caller, fields=["secret"])
        return secret_of(webhook, root), until


def ping(webhook_id: str, *, by: Who) -> Delivery:
    """Send an event that says nothing, to try the receiver; return its delivery, which is pending."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        _refuse_disabled(webhook)
        event = ping_of(webhook, caller)
        made = Delivery.objects.create(
            webhook=webhook, event_id=event.uuid, body=body_of(event), due_at=Now()
        )
        return Delivery.objects.get(pk=made.pk)


def deliveries(webhook_id: str, *, by: Who) -> QuerySet[Delivery]:
    """Return the deliveries of a webhook with their attempts, newest first, up to the present."""
    webhook = find(webhook_id, by=by)
    outbox.fill()
    return webhook.deliveries.prefetch_related("made")


def replay(webhook_id: str, delivery_id: str, *, by: Who) -> Delivery:
    """Try a delivery once more, whatever has become of it; it keeps the id of its message."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        found = webhook.deliveries.filter(pk=_uuid(delivery_id))
        delivery = found.select_for_update().first()
        if delivery is None:
            raise NotFound
        _refuse_disabled(webhook)
        # What was done with is tried once; what is pending goes on afterwards as it would have.
        step = delivery.step if delivery.state == State.PENDING else len(WAITS)
        found.update(state=State.PENDING, due_at=Now(), finished_at=None, replay_wanted=True, step=step)
        return found.prefetch_related("made").get()


@contextmanager
def _administering(webhook_id: str, by: Caller) -> Iterator[Webhook]:
    """Yield a webhook, locked until the end of the transaction, to somebody who administers it."""
    workspace_id = find(webhook_id, by=by).workspace_id
    with get_editor().workspace.administering(workspace_id, by):
        webhook = Webhook.objects.locked().filter(pk=webhook_id).first()
        if webhook is None:
            raise NotFound
        yield webhook


def _enable(webhook: Webhook) -> None:
    """Do what belongs to a webhook being enabled, or disabled by an admin."""
    webhook.disabled_reason = ""
    if webhook.enabled:
        webhook.failing_since = None
        webhook.after = events.position()
    else:
        webhook.deliveries.cancel()


def _refuse_disabled(webhook: Webhook) -> None:
    if not webhook.enabled:
        raise Invalid.field("enabled", "is false: enable the webhook first", code="webhook_disabled")


def _uuid(text: str) -> uuid.UUID:
    """Return an id, which has one spelling; raises `NotFound` for anything else."""
    try:
        found = uuid.UUID(text)
    except ValueError:
        raise NotFound from None
    if str(found) != text:
        raise NotFound
    return found
