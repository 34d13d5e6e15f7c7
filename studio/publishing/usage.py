"""Which agents refer to a resource."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from studio.kinds import AGENT
from studio.limits import shortened
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.selectors import Status
from versioning.serving.dependents import Dependents

MAX_SHOWN: Final = 50


@dataclass(frozen=True, kw_only=True)
class ShownDependents:
    """A page of the agents that refer to a resource."""

    shown: list[tuple[str, str, str]]
    """(id, name, address)."""
    total: int
    """How many the caller may see."""
    hidden: int
    """How many the caller may not see."""
    more: int = 0
    """How many follow after this page."""
    more_address: str = ""
    """The address of the next page."""

    @property
    def count(self) -> int:
        """The total number, including agents that the caller may not see."""
        return self.total + self.hidden


class DependentsPage(ResourcePage):
    """A page with the agents that refer to the resource."""

    def shown_dependents(self, status: Status, page: str | None = None) -> ShownDependents:
        """Return a page (`2`) of the agents whose published, or latest, version refers to the resource."""
        if self.resource is None:
            return ShownDependents(shown=[], total=0, hidden=0)
        make = partial(self._dependents, status, page)
        names, number, end, total, hidden = self.known_of_users(f"{status.value} {page}", make)
        if status is Status.PUBLISHED:
            self.used_by = total + hidden  # so that the head of the page need not query it again
        return ShownDependents(
            shown=[
                (agent_id, shortened(name or agent_id), AGENT.address("change", agent_id))
                for agent_id, name in names
            ],
            total=total,
            hidden=hidden,
            more=total - end,
            more_address=f"{self.address('usage')}?page={number + 1}",
        )

    def _dependents(
        self, status: Status, page: str | None
    ) -> tuple[list[tuple[str, str]], int, int, int, int]:
        """Return the ids and names on a page, its number and its end; how many there are, and hidden ones."""
        found: Dependents = self.collection.dependents(self.resource_id, status=status, by=self.caller)
        agents = Paginator(found.ids, MAX_SHOWN).get_page(page)
        names = list(found.named(list(agents.object_list)))
        return names, agents.number, agents.end_index(), len(found.ids), found.hidden_count


class UsagePage(DependentsPage):
    """The agents that refer to the resource, in their live versions and in their drafts."""

    tab = "usage"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show a page of each list that the caller may read."""
        requested = request.GET.get("page")
        # Everyone else sees only live versions.
        reads_some_drafts = self.caller.scope(Right.READ_DRAFTS) != frozenset()
        return self.page(
            "studio/publishing/usage.html",
            title=_("Used by"),
            published=self.shown_dependents(Status.PUBLISHED, requested),
            drafts=self.shown_dependents(Status.DRAFT, requested) if reads_some_drafts else None,
            is_first=requested in {None, "", "1"},
        )
