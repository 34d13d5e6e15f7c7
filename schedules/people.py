"""As whom schedules run: the people who made them, with the rights of this moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model

from schedules.models import Schedule
from versioning.domain.access import APPLICATION, Caller, Role, Via
from versioning.domain.errors import Forbidden, Message
from versioning.models import Membership, caller_for
from versioning.models.workspaces import caller_with

_BY_ITSELF: Final = replace(APPLICATION, via=Via.SCHEDULE)
"""As whom schedules run that a program made in nobody's name."""


def person(schedule: Schedule) -> Caller:
    """Return who made the schedule, with the rights of this moment; raises `Forbidden` if they are gone."""
    if not schedule.author_name:
        return _BY_ITSELF
    author = schedule.author
    if author is None or not author.is_active:
        raise Forbidden(Message("The account {name!r} is gone, or switched off.", name=schedule.author_name))
    return caller_for(author, Via.SCHEDULE)


def people(schedules: Sequence[Schedule]) -> Mapping[UUID, Caller | None]:
    """Return who made schedules, as `person` does, by their ids; None for who is gone. Two statements."""
    authors = {one.author_id for one in schedules if one.author_name}
    users = get_user_model()._default_manager.in_bulk(authors - {None})
    roles: defaultdict[Any, dict[str, Role]] = defaultdict(dict)
    if users:
        rows = Membership.objects.filter(user__in=users).order_by()
        for user_id, workspace_id, role in rows.values_list("user_id", "workspace_id", "role"):
            roles[user_id][workspace_id] = Role(role)
    callers = {
        pk: caller_with(
            roles[pk],
            is_superuser=user.is_superuser,
            username=user.get_username(),
            user_id=pk,
            via=Via.SCHEDULE,
        )
        for pk, user in users.items()
        if user.is_active
    }
    return {one.pk: callers.get(one.author_id) if one.author_name else _BY_ITSELF for one in schedules}
