"""The pages that ask before something stops being there for others, and say for whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from studio.kinds import AGENT
from studio.limits import shortened
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot, subject_of, title_of
from versioning.editor.discarding import discard_draft, discardable
from versioning.models import VersionedResource, Visibility
from versioning.serving.dependents import Dependents

SHOWN_DEPENDENTS: Final = 50


@dataclass(frozen=True, kw_only=True)
class Users:
    """The agents that refer to a resource, as many as a page can show."""

    shown: list[tuple[str, str, str]]
    """(id, name, address)."""
    more: int
    hidden: int

    @property
    def count(self) -> int:
        """How many there are, those that the caller may not see with them."""
        return len(self.shown) + self.more + self.hidden


class WithUsers(ResourcePage):
    """A page that shows which agents refer to the resource."""

    def users(self, status: Status) -> Users:
        """Return the agents whose published (or latest) version refers to the resource."""
        if self.resource is None:
            return Users(shown=[], more=0, hidden=0)
        found: Dependents = self.collection.dependents(self.resource_id, status=status, by=self.caller)
        agents = found.readable[:SHOWN_DEPENDENTS]
        return Users(
            shown=[
                (agent_id, shortened(name or agent_id), AGENT.address("change", agent_id))
                for agent_id, name in agents
            ],
            more=len(found.readable) - len(agents),
            hidden=found.hidden_count,
        )


class UsagePage(WithUsers):
    """Who refers to the resource: what is live, and what is being drafted."""

    tab = "usage"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show them."""
        published = self.users(Status.PUBLISHED)
        drafts = self.users(Status.DRAFT)
        return self.page("studio/publishing/usage.html", title="Used by", published=published, drafts=drafts)


class ConfirmPage(WithUsers, ABC):
    """Asks once, shows what it would mean, and does it.

    Whoever changed the resource since the page was opened is shown, and nothing is done.
    """

    right = Right.PUBLISH

    @property
    @abstractmethod
    def title(self) -> str:
        """What would be done; the button says it too."""

    @property
    def shows_users(self) -> bool:
        """Whether agents that refer to the resource would notice."""
        return True

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Ask."""
        return self._ask()

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Do it, unless the resource is another one by now."""
        try:
            return self.act({request.POST.get("tag", "")})
        except EditConflict as conflict:
            for known in ("resource", "summary", "record", "drafts"):
                self.__dict__.pop(known, None)
            return self._ask(status=409, conflict=conflict.current)
        except Invalid as fault:
            return self._ask(status=400, faults=[issue.message for issue in fault.issues])

    @abstractmethod
    def act(self, expect: set[str]) -> HttpResponseRedirect:
        """Do it when one of the expected tags holds, and return where to go then."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return what it would mean, a sentence each."""

    @cached_property
    def record(self) -> VersionedResource:
        """The stored resource; raises `NotFound` for an agent that only code defines."""
        if self.resource is None:
            raise NotFound("This agent is as its code says: nothing of it is stored here.")
        return self.resource

    def _ask(self, *, status: int = 200, **context: Any) -> HttpResponse:
        self.require(self.right)
        return self.page(
            "studio/publishing/confirm.html",
            title=self.title,
            status=status,
            tag=self.record.tag,
            sentences=self.sentences(),
            users=self.users(Status.PUBLISHED) if self.shows_users else None,
            back_address=self.address("change"),
            **context,
        )


class UnpublishPage(ConfirmPage):
    """Takes what is published out of service; every version stays."""

    title = "Unpublish"

    def sentences(self) -> list[str]:
        """Say what is served then."""
        if self.record.active is None:
            raise NotFound("Nothing is published.")
        if self.code_agent is not None:
            return ["The agent is served as its code says again. Every version stays in the history."]
        return [
            f"{title_of(self.record.active)} is not served any more.",
            "Applications that ask for what is published find nothing.",
            "Every version stays in the history and can be published again.",
        ]

    def act(self, expect: set[str]) -> HttpResponseRedirect:
        """Serve no version."""
        self.collection.unpublish(self.resource_id, by=self.caller, expect=expect)
        return self.back("change", "Unpublished. Nothing was deleted.")


class DeletePage(ConfirmPage):
    """Deletes a resource with everything that belongs to it."""

    @property
    def title(self) -> str:
        """What is deleted."""
        return "Delete the override" if self.code_agent else f"Delete this {self.kind.singular}"

    def sentences(self) -> list[str]:
        """Say what is gone then."""
        versions = self.record.versions.count()
        count = f"{versions} version{'' if versions == 1 else 's'}"
        sentences = [f"{count} and all labels are deleted with it. This cannot be undone."]
        if self.code_agent is not None:
            sentences.append("The agent itself stays, as its code says.")
        elif self.record.active is not None:
            sentences.append(f"{title_of(self.record.active)} is live at the moment.")
        return sentences

    def act(self, expect: set[str]) -> HttpResponseRedirect:
        """Delete it."""
        name = self.summary.name
        self.collection.delete(self.resource_id, by=self.caller, expect=expect)
        return self.go(self.kind.address("changelist"), f"“{name}” is deleted.")


class VisibilityPage(ConfirmPage):
    """Makes an agent public, or private again."""

    @property
    def other(self) -> Visibility:
        """What the agent would be; raises `NotFound` for what has no visibility of its own."""
        if not self.kind.has_visibility or self.code_agent is not None:
            raise NotFound("The visibility of this cannot be changed here.")
        is_public = self.summary.visibility == Visibility.PUBLIC
        return Visibility.PRIVATE if is_public else Visibility.PUBLIC

    @property
    def title(self) -> str:
        """What it would be."""
        return f"Make {self.other.value}"

    @property
    def shows_users(self) -> bool:
        """Nobody loses anything by more being shown."""
        return self.other is Visibility.PRIVATE

    def sentences(self) -> list[str]:
        """Say who gains or loses it."""
        if self.other is Visibility.PUBLIC:
            return [
                "Everybody who is signed in, in every workspace, may read and run what is published of it.",
                "Drafts and history stay with the workspace.",
            ]
        return [
            "Only members of its workspace may read and run it then.",
            "Published agents that have it as a sub-agent go on running it as a part of themselves.",
        ]

    def act(self, expect: set[str]) -> HttpResponseRedirect:
        """Change it."""
        other = self.other
        self.collection.edit(self.resource_id, visibility=other.value, by=self.caller, expect=expect)
        return self.back("change", f"It is {other.value} now.")


class DiscardPage(ConfirmPage):
    """Deletes what was saved since the live version was published; of what never was, the latest."""

    title = "Discard draft"
    right = Right.SAVE
    shows_users = False

    @cached_property
    def drafts(self) -> list[Snapshot]:
        """The versions that would go, newest first; raises `NotFound` when there are none."""
        return discardable(self.record)

    def sentences(self) -> list[str]:
        """Say which versions go, and what is the newest then."""
        named = [
            f"{title_of(draft)}, saved by {draft.author_name or 'the application'}: "
            f"{subject_of(draft.change_message)}"
            for draft in self.drafts[:SHOWN_DEPENDENTS]
        ]
        more = len(self.drafts) - len(named)
        end = [f"And {more} more."] if more else []
        return ["These versions are deleted. This cannot be undone.", *named, *end]

    def act(self, expect: set[str]) -> HttpResponseRedirect:
        """Delete them, the newest first, so that each is the draft when its turn comes."""
        discard_draft(self.collection, self.resource_id, self.drafts, by=self.caller, expect=expect)
        return self.back("change", "The draft is discarded.")
