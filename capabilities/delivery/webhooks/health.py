"""The state of webhooks, for the pages that show it: a few queries for any number of webhooks."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _

from capabilities.delivery.webhooks.attempts import GIVE_UP_AFTER
from capabilities.delivery.webhooks.models import Delivery, State, Webhook
from versioning.domain.access import Caller, Right
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models import Membership
from versioning.models.accounts import accounts
from versioning.models.querysets import within


class Condition(StrEnum):
    """The state of a webhook."""

    UNTRIED = "untried"
    """Nothing has been sent yet."""
    WORKING = "working"
    """The last attempt was a success."""
    FAILING = "failing"
    """The last attempt was a failure."""
    DISABLED = "disabled"
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


def health_of(webhooks: Sequence[Webhook]) -> Mapping[Any, Health]:
    """Return the state of each webhook by primary key."""
    pending, failed = (_numbers(webhooks, state) for state in (State.PENDING, State.FAILED))
    left = left_by_creator(webhooks)
    return {
        webhook.pk: Health(
            condition=_condition(webhook),
            pending=pending.get(webhook.pk, 0),
            failed=failed.get(webhook.pk, 0),
            disabled_after=_disabled_after(webhook),
            creator_left=webhook.pk in left,
        )
        for webhook in webhooks
    }


def _numbers(webhooks: Sequence[Webhook], state: State) -> dict[Any, int]:
    """Return the number of deliveries in a state, by the primary key of the webhook."""
    found = Delivery.objects.filter(webhook__in=webhooks, state=state).order_by()
    return dict(found.values_list("webhook").annotate(number=Count("pk")))


def _condition(webhook: Webhook) -> Condition:
    if not webhook.enabled:
        return Condition.DISABLED
    if webhook.failing_since is not None:
        return Condition.FAILING
    return Condition.UNTRIED if webhook.last_success_at is None else Condition.WORKING


def _disabled_after(webhook: Webhook) -> datetime.datetime | None:
    since = webhook.failing_since if webhook.enabled else None
    return None if since is None else since + GIVE_UP_AFTER


def left_by_creator(webhooks: Sequence[Webhook]) -> set[Any]:
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


_DISABLED: Final = "webhook.disabled"


def _disabled(caller: Caller) -> Q:
    """Return the condition that a webhook of a workspace that the person administers was disabled."""
    return Q(type=_DISABLED) & within("workspace_id", caller.scope(Right.ADMINISTER))


OF_WEBHOOKS: Final = NotificationRule(condition=_disabled)
TOPIC: Final = NotificationTopic(
    name="webhookDisabled", title=_("webhooks that were disabled, to admins"), types=[_DISABLED]
)
