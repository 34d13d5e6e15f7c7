"""Requesting a review of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from review.reviews.values import MAX_TEXT
from review.reviews.verbs import Reviews
from review.studio.current import open_review_of
from review.studio.links import of_review
from studio.forms.typed import typed_text
from studio.forms.wording import titles
from studio.resources.base import ResourcePage
from studio.translation import translated
from studio.versions import reference_to
from studio.workspaces.roles import role_name
from versioning.domain.access import LEAST_ROLE, Right, Role
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import Membership
from versioning.models.accounts import name_of

MAX_PEOPLE: Final = 200
"""The maximum number of members that a form offers."""


@dataclass(frozen=True, kw_only=True)
class ReviewerChoice:
    """A member who can be a reviewer."""

    name: str
    role: str
    may_approve: bool
    is_chosen: bool


def reviewer_choices(workspace_id: str, chosen: Sequence[str], but: str | None) -> list[ReviewerChoice]:
    """Return the members who may read drafts, those who may approve first; one query."""
    least = LEAST_ROLE[Right.READ_DRAFTS].rank
    roles = {role.value: role for role in Role if role.rank >= least}
    members = Membership.objects.filter(workspace=workspace_id, role__in=roles, user__is_active=True)
    rows = members.select_related("user").order_by(name_of("user"))[:MAX_PEOPLE]
    found = [
        ReviewerChoice(
            name=row.user.get_username(),
            role=role_name(row.role),
            may_approve=roles[row.role].rank >= LEAST_ROLE[Right.PUBLISH].rank,
            is_chosen=row.user.get_username() in chosen,
        )
        for row in rows
    ]
    return sorted((one for one in found if one.name != but), key=lambda one: not one.may_approve)


class AskPage(ResourcePage):
    """A message, and people to choose."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form; or the open review, if there is one."""
        self.require(Right.SAVE)
        review = open_review_of(self.found)
        if review is not None:
            return self.go(of_review(review.kind, review.resource_id, review.pk))
        return self.show(self.version(request.GET.get("version")))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Request the review, and show it; after an error, show the form again."""
        self.require(Right.SAVE)
        version = self.version(request.POST.get("version"))
        message, people = typed_text(request, "message"), request.POST.getlist("reviewers")
        try:
            record = Reviews.current().ask(
                self.kind.slug,
                self.resource_id,
                version_id=version.version_id,
                message=message,
                reviewers=people,
                by=self.caller,
            )
        except Conflict:  # another person has just requested one
            return self.get(request, resource)
        except Invalid as error:
            problems = [translated(issue.message) for issue in error.issues]
            return self.show(version, status=400, message=message, chosen=people, problems=problems)
        return self.go(
            of_review(record.resource_kind, record.resource_id, record.id), _("Asked for a review.")
        )

    @property
    def found(self) -> Any:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to review."""
        if self.with_history is None:
            raise NotFound("Nothing was saved yet, so there is nothing to look at.")
        return self.with_history

    def version(self, version_id: str | None) -> Snapshot:
        """Return the version to review, by default the latest."""
        wanted = version_id or self.found.latest_id
        version: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return version

    def show(
        self,
        version: Snapshot,
        *,
        status: int = 200,
        message: str = "",
        chosen: Sequence[str] = (),
        problems: Sequence[str] = (),
    ) -> HttpResponse:
        """Return the form."""
        live = self.found.active
        schema = self.collection.schema_of(self.resource_id)
        changed = schema.changed(live.config, version.config) if live else ()
        return self.page(
            "review/ask.html",
            title=_("Ask for a review of %(version)s") % {"version": reference_to(version)},
            status=status,
            version=version,
            changed=titles(changed),
            message=message,
            problems=problems,
            people=reviewer_choices(self.workspace_id, chosen, self.caller.username),
            max_text=MAX_TEXT,
            compare_address=f"{self.address('compare')}?to={version.version_id}",
            back_address=self.address("history"),
        )
