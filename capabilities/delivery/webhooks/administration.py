"""The actions of admins on the webhooks of a workspace, for the API and the studio.

Every verb takes the caller as `by`. It raises `NotFound` if the caller may not read the workspace,
`Forbidden` if the caller may read but not administer it, and `Invalid` for wrong values, with the JSON names
of the fields.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from capabilities.delivery.webhooks import outbox
from capabilities.delivery.webhooks.attempts import WAITS
from capabilities.delivery.webhooks.models import MAX_URL, Delivery, State, Webhook
from capabilities.delivery.webhooks.outbox import delivery_of, ping_of
from capabilities.delivery.webhooks.signing import RootKey, secret_of
from capabilities.delivery.webhooks.targets import Refused, resolve
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Invalid, Issue, Message, NotFound
from versioning.domain.events import matching
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.models.querysets import covered_by

MAX_DESCRIPTION: Final = 500
MAX_EVENT_TYPES: Final = 100
MAX_ID_PREFIX: Final = 200
RESOLVING_SECONDS: Final = 5.0

COLUMNS: Final = {
    "url": "url",
    "eventTypes": "event_types",
    "idPrefix": "id_prefix",
    "description": "description",
    "enabled": "enabled",
}
"""The columns of the fields that a caller can set, by their JSON names."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns for the given fields; raises `Invalid` with every problem.

    The host of a URL is resolved, but only if nothing else is wrong.
    """
    columns = {COLUMNS[name]: "" if value is None else value for name, value in given.items()}
    issues = [
        *_issues_of_types(given.get("eventTypes", ())),
        *_issues_of_text("url", given.get("url"), MAX_URL),
        *_issues_of_text("idPrefix", given.get("idPrefix"), MAX_ID_PREFIX),
        *_issues_of_text("description", given.get("description"), MAX_DESCRIPTION),
    ]
    if "eventTypes" in given and not given["eventTypes"]:
        issues.append(Issue("eventTypes", "must name at least one type of event"))
    if issues:
        raise Invalid(issues)
    if "url" in given:
        try:
            resolve(given["url"], RESOLVING_SECONDS)
        except Refused as refusal:
            raise Invalid.field("url", refusal.args[0]) from None
    return columns


def _issues_of_types(patterns: Sequence[str]) -> Iterator[Issue]:
    if len(patterns) > MAX_EVENT_TYPES:
        yield Issue("eventTypes", Message("must not have more than {limit} items", limit=MAX_EVENT_TYPES))
        return
    for number, pattern in enumerate(patterns):
        try:
            matching([pattern])
        except Invalid as error:
            yield Issue(f"eventTypes.{number}", error.issues[0].message)


def _issues_of_text(name: str, text: str | None, longest: int) -> Iterator[Issue]:
    if text is not None and len(text) > longest:
        yield Issue(name, Message("must not be longer than {limit} characters", limit=longest))
    elif text is not None and "\0" in text:
        yield Issue(name, "must not hold the character NUL")


MAX_WEBHOOKS: Final = 100
"""The maximum number of webhooks of a workspace."""
MAX_KEEP_HOURS: Final = 168
PREVIOUS_AT_MOST: Final = 4
"""How many earlier secrets sign in addition to the newest."""


def listed(*, by: Who, workspace_id: str | None = None) -> QuerySet[Webhook]:
    """Return the webhooks of all workspaces that the caller administers, or of one of them.

    An unreadable workspace has none.
    """
    caller = caller_of(by)
    scope = caller.scope(Right.ADMINISTER)
    found = Webhook.objects.filter(covered_by(caller, "id_prefix"))
    if workspace_id is not None:
        if not caller.may(Right.READ, workspace_id):
            return found.none()
        caller.require(Right.ADMINISTER, workspace_id)
        return found.filter(workspace=workspace_id)
    return found if scope is None else found.filter(workspace__in=scope)


def find(webhook_id: str, *, by: Who) -> Webhook:
    """Return a webhook."""
    caller = caller_of(by)
    webhook = Webhook.objects.filter(pk=parse_uuid(webhook_id)).first()
    if webhook is None or not caller.may(Right.READ, webhook.workspace_id):
        raise NotFound
    if not caller.covers(webhook.id_prefix):
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
    given = {"url": url, "eventTypes": event_types, "idPrefix": id_prefix, "description": description}
    columns = checked(given)
    with get_editor().workspace.administering(workspace_id, caller):
        if Webhook.objects.filter(workspace=workspace_id).count() >= MAX_WEBHOOKS:
            message = Message(
                "this workspace has {limit} webhooks, as many as it can have: delete one first",
                limit=MAX_WEBHOOKS,
            )
            raise Invalid.field("workspaceId", message, code="too_many_webhooks")
        root = RootKey.opened()
        webhook = Webhook.objects.create(
            workspace_id=workspace_id,
            created_by=caller.username or "",
            created_by_id="" if caller.user_id is None else str(caller.user_id),
            after=events.position(),
            **columns,
        )
        webhook.record("created", caller)
    return webhook, secret_of(webhook, root)


@retry_on_conflict
def change(webhook_id: str, changes: Mapping[str, Any], *, by: Who) -> Webhook:
    """Change a webhook; `changes` has JSON names, and absent fields are unchanged.

    Enabling it clears the record of failures and starts with future events. Disabling it cancels the
    pending deliveries.
    """
    caller = caller_of(by)
    find(webhook_id, by=caller)
    columns = checked(changes)
    outbox.fill()  # earlier events are matched against the previous settings
    with _administering(webhook_id, caller) as webhook:
        changed = [name for name, value in columns.items() if getattr(webhook, name) != value]
        if not changed:
            return webhook
        for name in changed:
            setattr(webhook, name, columns[name])
        if "enabled" in changed:
            webhook.disabled_reason = ""
            if webhook.enabled:
                webhook.failing_since, webhook.after = None, events.position()
            else:
                webhook.deliveries.cancel()
        webhook.save()
        names = {column: name for name, column in COLUMNS.items()}
        webhook.record("changed", caller, fields=sorted(names[name] for name in changed))
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
        root, now = RootKey.opened(), timezone.now()
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
    """Send a test event to the receiver; return its delivery, which is pending."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        _refuse_disabled(webhook)
        delivery = delivery_of(webhook, ping_of(webhook, caller))
        delivery.save(force_insert=True)
        delivery.refresh_from_db()
        return delivery


def deliveries(webhook_id: str, *, by: Who) -> QuerySet[Delivery]:
    """Return the deliveries of a webhook with their attempts, newest first.

    The newest events are included even if no worker is running.
    """
    webhook = find(webhook_id, by=by)
    outbox.fill()
    return webhook.deliveries.prefetch_related("made")


def replay(webhook_id: str, delivery_id: str, *, by: Who) -> Delivery:
    """Make one more attempt at a delivery in any state; the message keeps its id."""
    caller = caller_of(by)
    with _administering(webhook_id, caller) as webhook:
        found = webhook.deliveries.filter(pk=parse_uuid(delivery_id))
        delivery = found.select_for_update().first()
        if delivery is None:
            raise NotFound
        _refuse_disabled(webhook)
        # A finished delivery is tried once; a pending one continues its schedule afterwards.
        step = delivery.step if delivery.state == State.PENDING else len(WAITS)
        found.update(state=State.PENDING, due_at=Now(), finished_at=None, replay_wanted=True, step=step)
        return found.prefetch_related("made").get()


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
        webhook = Webhook.objects.locked().filter(pk=webhook_id).first()
        if webhook is None:
            raise NotFound
        yield webhook


def _refuse_disabled(webhook: Webhook) -> None:
    if not webhook.enabled:
        raise Invalid.field("enabled", "is false: enable the webhook first", code="webhook_disabled")
