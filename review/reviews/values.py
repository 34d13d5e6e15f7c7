"""Limits for reviews and verdicts, and who can be a reviewer: one check for all callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from versioning.domain.errors import Invalid, Issue, Message
from versioning.models import Membership
from versioning.models.accounts import name_of, normalized

MAX_TEXT: Final = 10_000
"""The maximum length of a message to reviewers, and of a verdict's text."""
MAX_REVIEWERS: Final = 50


def members_named(workspace_id: str, names: Sequence[str]) -> list[Any]:
    """Return the accounts of members, without duplicates; raises `Invalid` with every other name."""
    if len(names) > MAX_REVIEWERS:
        raise Invalid.field(
            "reviewers", Message("must not have more than {limit} items", limit=MAX_REVIEWERS)
        )
    stored = {name: normalized(name) for name in names}
    wanted = {name for name in stored.values() if name is not None}
    members = Membership.objects.filter(workspace=workspace_id, **{f"{name_of('user')}__in": wanted})
    found = {one.user.get_username(): one.user for one in members.select_related("user")}
    issues = [
        Issue(f"reviewers.{number}", Message("{name!r} is not a member of this workspace", name=name))
        for number, name in enumerate(names)
        if stored[name] not in found
    ]
    if issues:
        raise Invalid(issues)
    return list(found.values())
