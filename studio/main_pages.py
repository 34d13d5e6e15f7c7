"""The applications' pages at the top of the studio, with how much waits there for the person."""

from __future__ import annotations

from typing import Final

from django.urls import reverse

from studio import additions
from studio.navigation import Link, MainPage
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.kinds import KINDS
from versioning.serving.followed_log import RIGHTS, Dependency

_CHANGES: Final[tuple[Dependency, ...]] = tuple((kind.slug, None) for kind in KINDS)


def main_links(caller: Caller, here: str) -> list[Link]:
    """Return the links that the caller may open; `here` is the path of the page that shows them."""
    pages = [page for page in additions.main_pages() if caller.scope(page.right) != frozenset()]
    return [_link(page, caller, here) for page in pages]


def _link(page: MainPage, caller: Caller, here: str) -> Link:
    address, count = reverse(page.route), _waiting(page, caller)
    query = f"?{page.waiting_query}" if count and page.waiting_query else ""
    return Link(title=page.title, address=address + query, is_current=here.startswith(address), count=count)


def _waiting(page: MainPage, caller: Caller) -> int:
    """Return how much waits for the caller, cached until a resource or a person's rights change.

    Every page shows it. Changes without a resource, such as of a policy, make all cached answers outdated.
    """
    key = ("waiting", page.page, caller.user_id, caller.username, caller.rights)
    count: int = get_editor().cache.remembered(key, RIGHTS, lambda: page.waiting(caller), *_CHANGES)
    return count
