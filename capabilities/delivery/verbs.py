"""The actions of admins on the webhooks of a workspace, for the API and the studio.

Every verb takes the caller as `by`. It raises `NotFound` if the caller may not read the workspace,
`Forbidden` if the caller may read but not administer it, and `Invalid` for wrong values, with the JSON names
of the fields.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, QuerySet, TextChoices
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy
from pydantic.alias_generators import to_camel

from capabilities.delivery import running
from capabilities.delivery.models import (
    GIVE_UP_AFTER,
    Delivery,
    DeliveryState,
    RootKey,
    Webhook,
    derive_secret,
)
from capabilities.delivery.running import WAITS, make_delivery, make_ping
from capabilities.delivery.targets import Refused, resolve
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Invalid, Issue, Message, NotFound
from versioning.domain.events import matching
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, events
from versioning.models.accounts import accounts
from versioning.models.querysets import covered_by
from versioning.models.rules import validate

MAX_EVENT_TYPES: Final = 100
RESOLVING_SECONDS: Final = 5.0


def check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of columns, with texts in place of None; raises `Invalid` with every problem.

    The host of a URL is resolved, but only if nothing else is wrong.
    """
    columns = {name: "" if value is None else value for name, value in fields.items()}
    validate(Webhook(**columns), columns, _event_type_issues(fields))
    if "url" in fields:
        try:
            resolve(fields["url"], RESOLVING_SECONDS)
        except Refused as refusal:
            raise Invalid.field("url", refusal.args[0]) from None
    return columns


def _event_type_issues(fields: Mapping[str, Any]) -> Iterator[Issue]:
    patterns = fields.get("event_types")
    if patterns is None:
        return
    if not patterns:
        yield Issue("eventTypes", "must name at least one type of event")
    if len(patterns) > MAX_EVENT_TYPES:
        yield Issue("eventTypes", Message("must not have more than {limit} items", limit=MAX_EVENT_TYPES))
        return
    for number, pattern in enumerate(patterns):
        try:
            matching([pattern])
        except Invalid as error:
            yield Issue(f"eventTypes.{number}", error.issues[0].message)


MAX_WEBHOOKS: Final = 100
"""The maximum number of webhooks of a workspace."""
MAX_KEEP_HOURS: Final = 168
PREVIOUS_AT_MOST: Final = 4
"""The number of earlier secrets that sign in addition to the newest."""


def list_webhooks(*, by: Who, workspace_id: str | None = None) -> QuerySet[Webhook]:
    """Return the webhooks of all workspaces that the caller administers, or of one of them.

    An unreadable workspace has none.
    """
    caller = caller_of(by)
    scope = caller.scope(Right.ADMINISTER)
    webhooks = Webhook.objects.filter(covered_by(caller, "id_prefix"))
    if workspace_id is not None:
        if not caller.may(Right.READ, workspace_id):
            return webhooks.none()
        caller.require(Right.ADMINISTER, workspace_id)
        return webhooks.filter(workspace=workspace_id)
    return webhooks if scope is None else webhooks.filter(workspace__in=scope)


def find(webhook_id: str, *, by: Who) -> Webhook:
    """Return a webhook."""
    caller = caller_of(by)
    webhook = Webhook.objects.filter(pk=parse_uuid(webhook_id)).first()
    if (
        webhook is None
        or not caller.may(Right.READ, webhook.workspace_id)
        or not caller.covers(webhook.id_prefix)
    ):
        raise NotFound
    caller.require(Right.ADMINISTER, webhook.workspace_id)
    return webhook


@retry_on_conflict
def create(
    workspace_id: str,
    *,
    url: str,
    event_types: Sequence[str],
    id_prefix: str | None = None,
    description: str | None = None,
    by: Who,
) -> tuple[Webhook, str]:
    """Create a webhook for future events; return it with its secret, which is not shown again.

    Raises `Invalid` with the code `too_many_webhooks` if the workspace has reached the limit, and
    `RootKeyUnreadable` if no secret can be derived.
    """
    caller = caller_of(by)
    get_editor().workspace.find(workspace_id, by=caller)  # no host is resolved for other callers
    columns = check_fields(
        {"url": url, "event_types": event_types, "id_prefix": id_prefix, "description": description}
    )
    with get_editor().workspace.administering(workspace_id, caller):
        if Webhook.objects.filter(workspace=workspace_id).count() >= MAX_WEBHOOKS:
            message = Message(
                "this workspace has reached the limit of {limit} webhooks: delete one first",
                limit=MAX_WEBHOOKS,
            )
            raise Invalid.field("workspaceId", message, code="too_many_webhooks")
        root = RootKey.load_key()
        webhook = Webhook.objects.create(
            workspace_id=workspace_id,
            created_by=caller.username or "",
            created_by_id="" if caller.user_id is None else str(caller.user_id),
            after=events.position(),
            **columns,
        )
        webhook.record("created", caller)
    return webhook, derive_secret(webhook, root)


@retry_on_conflict
def change(webhook_id: str, changes: Mapping[str, Any], *, by: Who) -> Webhook:
    """Change the given fields of a webhook.

    Enabling it clears the record of failures and starts with future events. Disabling it cancels the
    pending deliveries.
    """
    caller = caller_of(by)
    find(webhook_id, by=caller)
    columns = check_fields(changes)
    running.fill()  # earlier events are matched against the previous settings
    with _administering(webhook_id, caller) as webhook:
        changed_names = [name for name, value in columns.items() if getattr(webhook, name) != value]
        if not changed_names:
            return webhook
        for name in changed_names:
            setattr(webhook, name, columns[name])
        if "enabled" in changed_names:
            webhook.disabled_reason = ""
            if webhook.enabled:
                webhook.failing_since, webhook.after = None, events.position()
            else:
                webhook.deliveries.cancel()
        webhook.save()
        webhook.record("changed", caller, fields=sorted(map(to_camel, changed_names)))
        return webhook


@retry_on_conflict
def delete(webhook_id: str, *, by: Who) -> None:
    """Delete a webhook with its deliveries."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        webhook.deleted_by = caller
        webhook.delete()


@retry_on_conflict
def rotate(webhook_id: str, *, keep_previous_hours: int, by: Who) -> tuple[str, datetime.datetime | None]:
    """Replace the secret; return the new one, and the time until which the previous one signs as well.

    With 0 hours, all earlier secrets stop signing at once. Otherwise each signs until its own time.
    """
    caller = caller_of(by)
    if not 0 <= keep_previous_hours <= MAX_KEEP_HOURS:
        message = Message("must be a whole number from {least} to {most}", least=0, most=MAX_KEEP_HOURS)
        raise Invalid.field("keepPreviousHours", message)
    with _administering(webhook_id, caller) as webhook:
        root, now = RootKey.load_key(), timezone.now()
        until = now + datetime.timedelta(hours=keep_previous_hours) if keep_previous_hours else None
        previous = []
        if until:
            valid = set(webhook.signing_generations(now))
            previous = [pair for pair in webhook.previous if pair[0] in valid]
            previous.insert(0, [webhook.generation, until.isoformat()])
        webhook.previous = previous[:PREVIOUS_AT_MOST]
        webhook.generation += 1
        webhook.save(update_fields=["previous", "generation"])
        webhook.record("changed", caller, fields=["secret"])
        return derive_secret(webhook, root), until


def ping(webhook_id: str, *, by: Who) -> Delivery:
    """Send a test event to the receiver; return its delivery, which is pending."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        webhook.require_enabled()
        delivery = make_delivery(webhook, make_ping(webhook, caller))
        delivery.save(force_insert=True)
        delivery.refresh_from_db()
        return delivery


def deliveries(webhook_id: str, *, by: Who) -> QuerySet[Delivery]:
    """Return the deliveries of a webhook with their attempts, newest first.

    The newest events are included even if no worker is running.
    """
    webhook = find(webhook_id, by=by)
    running.fill()
    return webhook.deliveries.prefetch_related("made")


def replay(webhook_id: str, delivery_id: str, *, by: Who) -> Delivery:
    """Make one more attempt at a delivery in any state; the message keeps its id."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        row = webhook.deliveries.filter(pk=parse_uuid(delivery_id))
        delivery = row.select_for_update().first()
        if delivery is None:
            raise NotFound
        webhook.require_enabled()
        # A finished delivery is tried once; a pending one continues its schedule afterwards.
        step = delivery.step if delivery.state == DeliveryState.PENDING else len(WAITS)
        row.update(state=DeliveryState.PENDING, due_at=Now(), finished_at=None, replay_wanted=True, step=step)
        return row.prefetch_related("made").get()


@retry_on_conflict
def take_over(webhook_id: str, *, by: Who) -> Webhook:
    """Make the caller responsible for a webhook, instead of its creator.

    Raises `Forbidden` if the caller is not a person.
    """
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        if caller.user_id is None:
            raise Forbidden("A webhook needs a person who is responsible for it.")
        if webhook.created_by_id != str(caller.user_id):
            webhook.created_by, webhook.created_by_id = caller.username or "", str(caller.user_id)
            webhook.save(update_fields=["created_by", "created_by_id"])
            webhook.record("changed", caller, fields=["createdBy"])
        return webhook


@contextmanager
def _administering(webhook_id: str, by: Caller) -> Iterator[Webhook]:
    """Yield a webhook, locked until the end of the transaction, if the caller administers it."""
    workspace_id = find(webhook_id, by=by).workspace_id
    with get_editor().workspace.administering(workspace_id, by):
        webhook = Webhook.objects.with_lock().filter(pk=webhook_id).first()
        if webhook is None:
            raise NotFound
        yield webhook


class Condition(TextChoices):
    """The state of a webhook."""

    UNTRIED = "untried", gettext_lazy("Not tried yet")
    WORKING = "working", pgettext_lazy("a webhook", "Working")
    """The last attempt was a success."""
    FAILING = "failing", pgettext_lazy("a webhook", "Failing")
    """The last attempt was a failure."""
    DISABLED = "disabled", pgettext_lazy("a webhook", "Disabled")
    """Disabled by an admin, or by the service: `Webhook.disabled_reason`."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """The state of one webhook in detail."""

    condition: Condition
    pending: int
    """The number of pending deliveries."""
    failed: int
    """The number of stored deliveries that failed for good."""
    disabled_after: datetime.datetime | None
    """The time after which a failure disables it; None unless it is failing."""
    creator_left: bool
    """Whether its creator is no longer a member, so that another admin should take over."""


def read_health(webhooks: Sequence[Webhook]) -> Mapping[Any, Health]:
    """Return the state of each webhook by primary key, with a few queries for any number of webhooks."""
    rows = Delivery.objects.filter(
        webhook__in=webhooks, state__in=(DeliveryState.PENDING, DeliveryState.FAILED)
    ).order_by()
    counts = rows.values_list("webhook", "state").annotate(number=Count("pk"))
    numbers = {(webhook, state): number for webhook, state, number in counts}
    abandoned = abandoned_webhooks(webhooks)
    health = {}
    for webhook in webhooks:
        if not webhook.enabled:
            condition = Condition.DISABLED
        elif webhook.failing_since is not None:
            condition = Condition.FAILING
        else:
            condition = Condition.UNTRIED if webhook.last_success_at is None else Condition.WORKING
        since = webhook.failing_since if webhook.enabled else None
        health[webhook.pk] = Health(
            condition=condition,
            pending=numbers.get((webhook.pk, DeliveryState.PENDING), 0),
            failed=numbers.get((webhook.pk, DeliveryState.FAILED), 0),
            disabled_after=None if since is None else since + GIVE_UP_AFTER,
            creator_left=webhook.pk in abandoned,
        )
    return health


def abandoned_webhooks(webhooks: Sequence[Webhook]) -> set[Any]:
    """Return the primary keys of the webhooks whose creators can no longer sign in to their workspaces."""
    creators = {webhook.created_by_id for webhook in webhooks if webhook.created_by_id}
    active = accounts().filter(pk__in=creators, is_active=True)
    everywhere = {str(pk) for pk in active.filter(is_superuser=True).values_list("pk", flat=True)}
    memberships = Membership.objects.filter(user__in=active).values_list("user", "workspace")
    members = {(str(user), workspace) for user, workspace in memberships}
    return {
        webhook.pk
        for webhook in webhooks
        if webhook.created_by_id
        and webhook.created_by_id not in everywhere
        and (webhook.created_by_id, webhook.workspace_id) not in members
    }
