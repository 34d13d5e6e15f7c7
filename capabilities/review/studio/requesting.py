"""Requesting a review of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from capabilities.review.reviews.subjects import MAX_TEXT
from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio.links import of_review
from capabilities.review.studio.presenters import open_review_of
from studio.field_words import titles
from studio.forms.inputs import typed_text
from studio.resources.base import ResourcePage
from studio.translation import reference_to, translated
from studio.workspaces.members import people_address
from studio.workspaces.names import role_name
from versioning.domain.access import Right, roles_with
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import Membership
from versioning.models.accounts import normalize_username, username_lookup
from versioning.models.text_keys import ByName

MAX_PEOPLE: Final = 12
"""The maximum number of members that a form lists; others are found by their names."""


@dataclass(frozen=True, kw_only=True)
class ReviewerChoice:
    """A member who can be a reviewer."""

    name: str
    role: str
    may_approve: bool
    is_chosen: bool


def people_to_ask(workspace_id: str, chosen: Sequence[str], but: str | None) -> dict[str, Any]:
    """Return the context of the fields in which people are chosen; takes one query.

    They are the chosen members and the first others who may read drafts, those who may approve first. With
    more members than that, others are found by their names.
    """
    name, approving = username_lookup("user"), roles_with(Right.PUBLISH)
    chosen = [stored for one in chosen if (stored := normalize_username(one)) is not None]
    members = Membership.objects.filter(
        workspace=workspace_id,
        role__in=roles_with(Right.READ_DRAFTS),
        user__is_active=True,
        is_service=False,
    ).exclude(**{name: but or ""})
    rank = Case(When(**{f"{name}__in": chosen}, then=0), When(role__in=approving, then=1), default=2)
    most = MAX_PEOPLE + len(chosen)
    rows = members.select_related("user").order_by(rank, ByName(name), name)[: most + 1]
    found = [
        ReviewerChoice(
            name=row.user.get_username(),
            role=role_name(row.role),
            may_approve=row.role in approving,
            is_chosen=row.user.get_username() in chosen,
        )
        for row in rows
    ]
    return {
        "people": sorted(found[:most], key=lambda one: not one.may_approve),
        "people_address": people_address(workspace_id, persons=True) if len(found) > most else "",
    }


def reviewers_in(given: QueryDict) -> list[str]:
    """Return the people who were chosen in a form, or typed."""
    return [name for one in given.getlist("reviewers") if (name := one.strip())]


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
        message, people = typed_text(request, "message"), reviewers_in(request.POST)
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
        return self.go(of_review(record.resource_kind, record.resource_id, record.id), _("Review requested."))

    @property
    def found(self) -> Any:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to review."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to review.")
        return self.with_history

    def version(self, version_id: str | None) -> Snapshot:
        """Return the version to review, by default the latest."""
        wanted = version_id or self.found.current.version_id
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
            **people_to_ask(self.workspace_id, chosen, self.caller.username),
            max_text=MAX_TEXT,
            compare_address=f"{self.address('compare')}?to={version.version_id}",
            back_address=self.address("history"),
        )
