"""Which agents refer to a resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse

from studio.kinds import AGENT
from studio.limits import shortened
from studio.resources.base import ResourcePage
from versioning.domain.selectors import Status
from versioning.serving.dependents import Dependents

MAX_SHOWN: Final = 50


@dataclass(frozen=True, kw_only=True)
class ShownDependents:
    """The agents that refer to a resource, as many as a page can show."""

    shown: list[tuple[str, str, str]]
    """(id, name, address)."""
    more: int
    hidden: int

    @property
    def count(self) -> int:
        """How many there are, those that the caller may not see with them."""
        return len(self.shown) + self.more + self.hidden


class DependentsPage(ResourcePage):
    """A page that shows which agents refer to the resource."""

    def shown_dependents(self, status: Status) -> ShownDependents:
        """Return the agents whose published (or latest) version refers to the resource."""
        if self.resource is None:
            return ShownDependents(shown=[], more=0, hidden=0)
        found: Dependents = self.collection.dependents(self.resource_id, status=status, by=self.caller)
        agents = found.readable[:MAX_SHOWN]
        return ShownDependents(
            shown=[
                (agent_id, shortened(name or agent_id), AGENT.address("change", agent_id))
                for agent_id, name in agents
            ],
            more=len(found.readable) - len(agents),
            hidden=found.hidden_count,
        )


class UsagePage(DependentsPage):
    """The agents that refer to the resource, in their live versions and in their drafts."""

    tab = "usage"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show them."""
        published = self.shown_dependents(Status.PUBLISHED)
        drafts = self.shown_dependents(Status.DRAFT)
        return self.page("studio/publishing/usage.html", title="Used by", published=published, drafts=drafts)
