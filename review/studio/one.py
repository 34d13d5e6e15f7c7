"""One review: what would change, the assembled prompt, who has looked, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from review.models import Judgement
from review.reviews.records import ReviewRecord, ReviewState
from review.reviews.values import MAX_REVIEWERS, MAX_TEXT
from review.studio.asking import candidates
from review.studio.assembled import assembled
from review.studio.current import reviews
from review.studio.panels import OWN_PAGE
from review.studio.shown import people_of
from review.studio.words import STATES, missing_in_words
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.domain_messages.translated import translated
from studio.publishing.obstacles import obstacle_to
from studio.versions import title_of
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.serving.resolution import find_version

SEEN = "seen"
"""What an open page says in the address of its news: the version that it shows."""


class ReviewPage(DifferencesPage):
    """The comparison of the version under review with what is live, and all that belongs to it."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Show it; the open page hears what others do."""
        self.require(Right.READ_DRAFTS)
        self.listen({"resource_kind": self.kind.word, "resource_id": self.resource_id})
        return self.show()

    @cached_property
    def review(self) -> ReviewRecord:
        """The review; raises `NotFound` for one of another resource."""
        self.require(Right.READ_DRAFTS)
        found: ReviewRecord = reviews().find(self.kwargs["review"], by=self.caller)
        if (found.resource_kind, found.resource_id) != (self.kind.word, self.resource_id):
            raise NotFound
        return found

    def own(self, page: str = "review") -> str:
        """Return the address of a page about this review."""
        return self.address(page, self.review.id)

    def find(self, version_id: str | None) -> Snapshot | None:
        """Return a version of the resource; None if it has been deleted, or none is named."""
        if not version_id or self.with_history is None:
            return None
        try:
            found: Snapshot = find_version(self.with_history, version_id)
        except NotFound:
            return None
        return found

    def show(
        self, *, status: int = 200, said: str = "", problems: Sequence[str] = ()
    ) -> HttpResponse:
        """Return the page, with what was typed and what is wrong with it."""
        record, resource = self.review, self.with_history
        version = self.find(record.version_id)
        if resource is None:
            raise NotFound
        is_over = record.state in {ReviewState.PUBLISHED, ReviewState.CLOSED}
        before = self.find(record.base_version_id) if is_over else resource.active
        if before is not None and version is not None and before.version_id == version.version_id:
            before = self.find(record.base_version_id)
        self.parameters = {}
        shown: dict[str, Any] = {}
        if version is not None:
            fields = self.effects(before, version)
            preview, errors = assembled(self, version)
            shown = {
                "fields": fields,
                "unchanged": unchanged_titles(fields, self.effective(version)),
                "preview": preview,
                "errors": errors,
                "after_title": title_of(version),
                "panels": self.panels(OWN_PAGE, version),
            }
        seen = self.request.GET.get(SEEN)
        return self.page(
            "review/review.html",
            title=_("Review of %(version)s")
            % {"version": title_of(version) if version else _("a deleted version")},
            status=status,
            review=record,
            version=version,
            before=before,
            before_title=title_of(before)
            if before
            else _("The code")
            if self.code_agent
            else _("Nothing live"),
            base_moved=not is_over and (before.version_id if before else None) != record.base_version_id,
            is_over=is_over,
            state=STATES[record.state],
            missing="" if is_over else missing_in_words(record.missing, record.outcome.changes_requested_by),
            people=people_of(record),
            verdicts=record.verdicts,
            may_decide=self.may_decide(version, is_over),
            is_own=self.caller.username in record.outcome.authors,
            has_said=any(one.by == self.caller.username and one.counts for one in record.verdicts),
            said=said,
            problems=problems,
            max_text=MAX_TEXT,
            latest=resource.latest,
            moved_on=seen is not None and seen != record.version_id,
            obstacle=obstacle_to(resource, version, self.caller) if not is_over else None,
            publish_address=f"{self.address('publish')}?{urlencode({'version': record.version_id})}",
            verdict_address=self.own("review_verdict"),
            change_address=self.own("review_change"),
            link=self.request.build_absolute_uri(self.own()),
            live_source=f"{self.own()}?{urlencode({SEEN: record.version_id})}",
            candidates=candidates(self.workspace_id, record.reviewers, None)
            if self.may(Right.SAVE) and not is_over
            else (),
            max_people=MAX_REVIEWERS,
            preview_address=self.address("preview") if self.kind.has_preview else "",
            **shown,
        )

    def may_decide(self, version: Snapshot | None, is_over: bool) -> bool:
        """Say whether the buttons for a verdict are offered; the verb decides."""
        is_own = self.caller.username in self.review.outcome.authors
        return version is not None and not is_over and not is_own and self.may(Right.PUBLISH)

    def again(self, said: str, *, level: int = messages.SUCCESS) -> HttpResponse:
        """Show the page again, with a message."""
        return self.go(self.own(), said, level=level)


class VerdictPage(ReviewPage):
    """Gives a verdict."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Give it, on the version that the person has looked at."""
        verdict, body = request.POST.get("verdict", ""), request.POST.get("body", "")
        said = {
            Judgement.APPROVE: _("You approved of it."),
            Judgement.REQUEST_CHANGES: _("You asked for changes."),
            Judgement.WITHDRAW: _("What you said does not count any more."),
        }
        try:
            reviews().give_verdict(
                self.review.id,
                version_id=request.POST.get("version", ""),
                verdict=verdict,
                body=body,
                by=self.caller,
            )
        except Conflict as error:
            return self.again(translated(error.message), level=messages.ERROR)
        except Forbidden as error:
            self.require(Right.PUBLISH)
            return self.again(translated(error.message), level=messages.ERROR)
        except Invalid as error:
            problems = [translated(issue.message) for issue in error.issues]
            return self.show(status=400, said=body, problems=problems)
        return self.again(said[Judgement(verdict)])


class ChangePage(ReviewPage):
    """Moves a review to a newer version, asks other people, or closes it."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Do what the button says."""
        self.require(Right.SAVE)
        given = request.POST
        changes: dict[str, dict[str, Any]] = {
            "move": {"version_id": given.get("version", "")},
            "people": {"reviewers": given.getlist("reviewers")},
            "close": {"is_closed": True},
        }
        said = {
            "move": _("The review is about the newer version now."),
            "people": _("Saved. Who is new among them hears of it."),
            "close": _("The review is closed."),
        }
        do = given.get("do", "")
        if do not in changes:
            raise NotFound
        try:
            reviews().change(self.review.id, by=self.caller, **changes[do])
        except Conflict as error:
            return self.again(translated(error.message), level=messages.ERROR)
        except Invalid as error:
            problem = "; ".join(translated(issue.message) for issue in error.issues)
            return self.again(_("Nothing was changed: it %(problem)s.") % {"problem": problem}, level=messages.ERROR)
        return self.again(said[do])
