"""People whom comments mention by `@` and their user name."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any, Final
from uuid import UUID

import regex
from django.db.models import Q

from capabilities.review.comments.suggestions import parts_of
from capabilities.review.models import Comment, Mention
from versioning.domain.access import Right, roles_with
from versioning.models import Membership
from versioning.models.accounts import accounts, accounts_alike, accounts_named

MAX_MENTIONED: Final = 20
"""The maximum number of people whom a comment notifies."""
MENTION: Final = regex.compile(r"(?<![\w\p{M}@.+/-])@([\w\p{M}@.+-]+)")
"""An `@` and what follows it, in a text that is `composed`; a mark belongs to the letter before it."""
_MAX_PUNCTUATION: Final = 3
"""How many signs at the end can belong to a name; each is looked up."""


def composed(text: str) -> str:
    """Return a text with letters and marks composed, as in user names."""
    return unicodedata.normalize("NFC", text)


def possible_names(mentioned: str) -> list[str]:
    """Return the names that what follows an `@` can mean, longest first: punctuation may end a sentence."""
    shortest = max(len(mentioned.rstrip(".+-@")), 1)
    longest = min(len(mentioned), shortest + _MAX_PUNCTUATION)
    return [mentioned[:end] for end in range(longest, shortest - 1, -1)]


def update_mentions(comment: Comment, event: UUID) -> None:
    """Store whom a comment mentions; those whom it did not mention before are notified of the event.

    Names in a suggested wording mention no one.
    """
    found = {user.pk: user for user in _people_in(parts_of(comment.body).remark, comment.workspace_id)}
    known = Mention.objects.filter(comment=comment)
    known.exclude(user__in=found).delete()
    new = found.keys() - set(known.values_list("user_id", flat=True))
    Mention.objects.bulk_create(Mention(comment=comment, user_id=pk, event=event) for pk in sorted(new))


def _people_in(text: str, workspace_id: str) -> Collection[Any]:
    """Return the mentioned people who may read comments in the workspace."""
    mentioned = list(islice(dict.fromkeys(MENTION.findall(composed(text))), MAX_MENTIONED))
    if not mentioned:
        return ()
    names = {one: possible_names(one) for one in mentioned}
    exact = {
        one.get_username(): one for one in accounts_named({name for some in names.values() for name in some})
    }
    found = {}
    for some in names.values():
        user = next((exact[name] for name in some if name in exact), None) or _alike(some)
        if user is not None:
            found[user.pk] = user
    allowed = set(_readers(found, workspace_id))
    return [user for pk, user in found.items() if pk in allowed]


def _alike(names: Iterable[str]) -> Any:
    """Return the only account with one of the names in upper or lower case, or None."""
    for name in names:
        alike = list(accounts_alike(name)[:2])
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None


def _readers(accounts_by_key: Collection[Any], workspace_id: str) -> Iterable[Any]:
    """Return the keys of those who may read drafts in a workspace, and are people."""
    members = Membership.objects.filter(
        workspace=workspace_id, role__in=roles_with(Right.READ_DRAFTS), is_service=False
    )
    may = Q(is_superuser=True) | Q(pk__in=members.values("user"))
    found = accounts().filter(may, pk__in=list(accounts_by_key), is_active=True)
    return found.values_list("pk", flat=True)
