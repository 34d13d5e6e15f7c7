"""One review: the changes, the assembled prompt, the reviewers, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from capabilities.review.models import VerdictValue
from capabilities.review.reviews.records import ReviewRecord, ReviewState
from capabilities.review.reviews.subjects import MAX_TEXT
from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio.panels import OWN_PAGE
from capabilities.review.studio.presenters import has_decided, may_decide, people_of, stuck
from capabilities.review.studio.requesting import people_to_ask, reviewers_in
from capabilities.review.studio.since import Since, news_of
from capabilities.review.studio.wording import STATES, missing_in_words
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.forms.inputs import typed_text
from studio.preview.views import Preview
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.resources.rows import blocks_on_page
from studio.translation import reference_to, title_of, translated
from studio.views import safe_next_url, with_undo
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, Issue, NotFound
from versioning.domain.selectors import Selector
from versioning.domain.snapshots import Snapshot
from versioning.editor.configuration_checks import invisible_characters
from versioning.models import VersionedResource
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version

SEEN: Final = "seen"
"""The query parameter with which an open page names the version that it shows."""


class ReviewPage(DifferencesPage):
    """The comparison of the version under review with the live one, and the actions."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Show the review; the open page polls for changes by others."""
        self.listen({"resource_kind": self.kind.slug, "resource_id": self.resource_id})
        self.require(Right.READ_DRAFTS)
        return self.show()

    @cached_property
    def review(self) -> ReviewRecord:
        """The review; raises `NotFound` if it is of another resource."""
        self.require(Right.READ_DRAFTS)
        found: ReviewRecord = Reviews.current().find(self.kwargs["review"], by=self.caller)
        if (found.resource_kind, found.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return found

    def own(self, page: str = "review") -> str:
        """Return the address of a page about this review."""
        return self.address(page, self.review.id)

    def find(self, version_id: str | None) -> Snapshot | None:
        """Return a version of the resource; None if it was deleted, or none is given."""
        if not version_id or self.with_history is None:
            return None
        try:
            found: Snapshot = find_version(self.with_history, version_id)
        except NotFound:
            return None
        return found

    def show(self, *, status: int = 200, typed: str = "", problems: Sequence[str] = ()) -> HttpResponse:
        """Return the page, with the input and its errors."""
        record, resource = self.review, self.with_history
        if resource is None:
            raise NotFound
        version = self.find(record.version_id)
        seen = self.request.GET.get(SEEN)
        return self.page(
            "review/review.html",
            title=_("Review of %(version)s")
            % {"version": reference_to(version) if version else _("a deleted version")},
            status=status,
            review=record,
            version=version,
            latest=resource.latest,
            is_over=self.is_over,
            state=STATES[record.state],
            missing=""
            if self.is_over
            else missing_in_words(record.missing, record.outcome.changes_requested_by),
            stuck=stuck(record) if version is not None else "",
            approvals="" if self.is_over else missing_in_words(record.missing, ()),
            people=people_of(record, self.caller),
            may_decide=version is not None and may_decide(record, self.caller),
            is_own=self.is_own,
            has_said=has_decided(record, self.caller),
            typed=typed,
            problems=problems,
            max_text=MAX_TEXT,
            moved_on=seen is not None and seen != record.version_id,
            obstacle=None if self.is_over else obstacle_to(resource, version, self.caller),
            candidates=people_to_ask(self.workspace_id, record.reviewers, record.requested_by)
            if self.may_change
            else None,
            **self.addresses(),
            **self.news(resource, version),
            **(self.compared(resource, version) if version is not None else {}),
        )

    def addresses(self) -> dict[str, str]:
        """Return the addresses of the page's buttons."""
        version_id = self.review.version_id
        return {
            "publish_address": f"{self.address('publish')}?{urlencode({'version': version_id})}",
            "verdict_address": self.own("review_verdict"),
            "change_address": self.own("review_change"),
            "preview_address": self.address("preview") if self.kind.has_preview else "",
            "link": self.request.build_absolute_uri(self.own()),
            "live_source": f"{self.own()}?{urlencode({SEEN: version_id})}",
        }

    def news(self, resource: VersionedResource, version: Snapshot | None) -> dict[str, Any]:
        """Return what has happened since the person last looked, with the changes between the versions.

        An update of the open page is no new look.
        """
        if self.request.method != "GET" or "X-Live" in self.request.headers:
            return {}
        since: Since | None = news_of(self.review, target_of(resource, self.editor.code), self.caller.user_id)
        before = self.find(since.version_id) if since else None
        if before is None or version is None:
            return {"since": since}
        return {"since": since, "since_version": before, "since_fields": self.effects(before, version)}

    def compared(self, resource: VersionedResource, version: Snapshot) -> dict[str, Any]:
        """Return the changes of the version, and the assembled prompt.

        It is compared with the current live version, which publishing would replace; once the review is over,
        with the version that was live when it was requested.
        """
        began_with = self.review.base_version_id
        is_live = version.version_id == resource.active_id
        before = self.find(began_with) if self.is_over or is_live else resource.active
        fields = self.effects(before, version)
        preview, errors = assembled(self, version)
        nothing = _("The code") if self.code_agent else _("Nothing live")
        return {
            "invisible": [translated(notice.message) for notice in invisible_characters(version.config)],
            "before": before,
            "before_title": title_of(before) if before else nothing,
            "in_code": self.code_agent is not None,
            "after_title": title_of(version),
            "base_moved": not self.is_over and (before.version_id if before else None) != began_with,
            "fields": fields,
            "unchanged": unchanged_titles(fields, self.effective(version)),
            "preview": preview,
            "errors": errors,
            "panels": self.panels(OWN_PAGE, version, [field.name for field in fields]),
        }

    @property
    def is_over(self) -> bool:
        """Whether the review is published or closed."""
        return self.review.state in {ReviewState.PUBLISHED, ReviewState.CLOSED}

    @property
    def is_own(self) -> bool:
        """Whether the person saved one of the versions under review."""
        return self.caller.user_id in self.review.outcome.authors

    @property
    def may_change(self) -> bool:
        """Whether the person can move the review, change the reviewers, or close it."""
        return not self.is_over and self.may(Right.SAVE)

    def again(self, message: str, *, level: int = messages.SUCCESS) -> HttpResponse:
        """Show the page again, with a message; the keyboard goes on from the heading of the review."""
        return self.go(f"{self.own()}#review-title", message, level=level)


class VerdictPage(ReviewPage):
    """Gives a verdict."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Give the verdict on the version that the person has seen."""
        verdict, body = request.POST.get("verdict", ""), typed_text(request, "body")
        if verdict == VerdictValue.REQUEST_CHANGES and not body.strip():
            return self.show(status=400, typed=body, problems=[_("Describe the changes you want.")])
        messages_by_verdict = {
            VerdictValue.APPROVE: _("Version approved."),
            VerdictValue.REQUEST_CHANGES: _("Changes requested."),
            VerdictValue.WITHDRAW: _("Your decision was withdrawn."),
        }
        try:
            Reviews.current().give_verdict(
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
            return self.show(status=400, typed=body, problems=problems)
        # The focus goes on at the beginning of the review, and not of the page; or on the page with the form.
        address = safe_next_url(request, f"{self.own()}#review-title")
        return self.go(address, messages_by_verdict[VerdictValue(verdict)])


class ChangePage(ReviewPage):
    """Moves a review to a newer version, changes the reviewers, or closes it."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, resource: str, review: str) -> HttpResponse:
        """Perform the button's action."""
        self.require(Right.SAVE)
        given = request.POST
        changes: dict[str, dict[str, Any]] = {
            "move": {"version_id": given.get("version", "")},
            "people": {"reviewers": reviewers_in(given)},
            "close": {"is_closed": True},
            "reopen": {"is_closed": False},
        }
        done = {
            "move": _("Review moved to the newer version."),
            "people": _("Reviewers added. They are notified."),
            "close": _("Review closed."),
            "reopen": _("Review reopened."),
        }
        do = given.get("undo") or given.get("do", "")
        if do not in changes:
            raise NotFound
        try:
            Reviews.current().change(self.review.id, by=self.caller, **changes[do])
        except Conflict as error:
            return self.again(translated(error.message), level=messages.ERROR)
        except Invalid as error:
            problem = "; ".join(translated(issue.message) for issue in error.issues)
            return self.again(
                _("Nothing was changed: it %(problem)s.") % {"problem": problem}, level=messages.ERROR
            )
        if do == "close":
            return self.again(with_undo(done[do], self.own("review_change"), "reopen"))
        return self.again(done[do])


def assembled(page: ResourcePage, version: Snapshot) -> tuple[Preview | None, Sequence[Issue]]:
    """Return the prompt that publishing the version would serve, or its errors."""
    try:
        if page.kind.is_shown:
            config = version.config
            block = {"type": "prompt_block", "content": config["content"], "rules": config.get("rules")}
            return Preview.of(page.editor.prompt.explain([block], {}, by=page.caller)), []
        selector = Selector(version_id=version.version_id)
        explanation = page.editor.agent.explain(page.resource_id, selector, context={}, by=page.caller)
    except Invalid as error:
        return None, error.issues
    except NotFound:  # code leaves the instructions to the editor, and the version has none
        return None, []
    return Preview.of(explanation, blocks_on_page(page.effective(version), page.caller)), []
