"""Notices about webhooks for admins: one was disabled, or its author has left."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from capabilities.delivery.studio.labels import REASONS, title_of
from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.health import left_by_creator
from capabilities.delivery.webhooks.models import Webhook
from studio.extensions import Notice
from studio.named import Place, person
from studio.workspaces.views import address
from versioning.domain.access import Caller, Right


def notices(caller: Caller, workspace_id: str | None) -> Iterator[Notice]:
    """Yield the notices for an admin of a workspace, or of several; none for other people."""
    scope = caller.scope(Right.ADMINISTER)
    is_admin = scope is None or (bool(scope) if workspace_id is None else workspace_id in scope)
    if not is_admin:
        return
    found = administration.listed(by=caller, workspace_id=workspace_id).select_related("workspace")
    webhooks = list(found)
    left = left_by_creator(webhooks) if webhooks else set()
    for webhook in webhooks:
        names = {"title": title_of(webhook), "workspace": webhook.workspace.name}
        if webhook.disabled_reason:
            text = _("The webhook “%(title)s” of %(workspace)s is disabled. %(reason)s") % {
                **names,
                "reason": REASONS[webhook.disabled_reason],
            }
            yield _notice(webhook, text, _("View webhook"))
        elif webhook.pk in left:
            text = _(
                "The webhook “%(title)s” of %(workspace)s was created by %(person)s, who is no longer a "
                "member."
            ) % {**names, "person": person(webhook.created_by, Place.NAMED)}
            yield _notice(webhook, text, _("View webhook"))


def _notice(webhook: Webhook, text: str, link: str) -> Notice:
    return Notice(text=text, address=address("webhook", webhook.workspace_id, str(webhook.pk)), link=link)
