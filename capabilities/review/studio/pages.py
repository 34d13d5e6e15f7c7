"""The pages of reviews, and of the review policy."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db.models import Case, Max, Q, TextChoices, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.review.models import (
    MAX_REQUIRED,
    MAX_TEXT,
    Bypass,
    Comment,
    Look,
    ReviewPolicy,
    VerdictValue,
)
from capabilities.review.reviews import ReviewRecord, Reviews, ReviewState
from capabilities.review.studio.panels import OWN_PAGE, SHOW, waiting_for
from capabilities.review.studio.panels import WAITING as WAITING_FOR_ME
from capabilities.review.studio.wording import (
    CHIPS,
    Person,
    find_open_review,
    has_decided,
    list_people,
    may_decide,
    missing_in_words,
    policy_in_words,
    review_lines,
    review_url,
    stuck,
    unmet_in_words,
)
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.field_words import titles
from studio.forms.inputs import typed_text
from studio.kinds import StudioKind
from studio.preview.views import Preview
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.resources.rows import blocks_on_page
from studio.translation import reference_to, title_of, translated
from studio.views import safe_next_url, with_undo
from studio.workspaces.members import people_address
from studio.workspaces.names import role_name
from studio.workspaces.views import ListingPage, WorkspacePage, add_errors
from versioning.domain.access import Right, roles_with
from versioning.domain.errors import Conflict, Forbidden, Invalid, Issue, NotFound
from versioning.domain.events import Target
from versioning.domain.selectors import Selector
from versioning.domain.snapshots import Snapshot
from versioning.editor.configuration_checks import invisible_characters
from versioning.models import Membership, VersionedResource, storage
from versioning.models.accounts import normalize_username, username_lookup
from versioning.models.text_keys import ByName
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version

MAX_PEOPLE: Final = 12
"""The maximum number of members that a form lists; others are found by their names."""


def people_to_ask(workspace_id: str, chosen: Sequence[str], but: str | None) -> dict[str, Any]:
    """Return the context of the fields in which people are chosen; takes one query.

    They are the chosen members and the first others who may read drafts, those who may approve first. With
    more members than that, others are found by their names.
    """
    name, approving = username_lookup("user"), roles_with(Right.PUBLISH)
    chosen = [stored for name in chosen if (stored := normalize_username(name)) is not None]
    members = Membership.objects.filter(
        workspace=workspace_id,
        role__in=roles_with(Right.READ_DRAFTS),
        user__is_active=True,
        is_service=False,
    ).exclude(**{name: but or ""})
    rank = Case(When(**{f"{name}__in": chosen}, then=0), When(role__in=approving, then=1), default=2)
    most = MAX_PEOPLE + len(chosen)
    rows = members.select_related("user").order_by(rank, ByName(name), name)[: most + 1]
    people = [
        {
            "name": row.user.get_username(),
            "role": role_name(row.role),
            "may_approve": row.role in approving,
            "is_chosen": row.user.get_username() in chosen,
        }
        for row in rows
    ]
    return {
        "people": sorted(people[:most], key=lambda choice: not choice["may_approve"]),
        "people_address": people_address(workspace_id, persons=True) if len(people) > most else "",
    }


def reviewers_in(given: QueryDict) -> list[str]:
    """Return the people who were chosen in a form, or typed."""
    return [name for text in given.getlist("reviewers") if (name := text.strip())]


class AskPage(ResourcePage):
    """A message, and people to choose."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form; or the open review, if there is one."""
        self.require(Right.SAVE)
        review = find_open_review(self.found)
        if review is not None:
            return self.go(review_url(review.kind, review.resource_id, review.pk))
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
        return self.go(
            review_url(record.resource_kind, record.resource_id, record.id), _("Review requested.")
        )

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


PER_PAGE: Final = 50


class Show(TextChoices):
    """The filters of the list."""

    OPEN = "open", pgettext_lazy("reviews", "Open")
    WAITING = WAITING_FOR_ME, pgettext_lazy("reviews", "Wait for me")
    MINE = "mine", pgettext_lazy("reviews", "Mine")
    ALL = "all", pgettext_lazy("reviews", "All")


class ReviewsPage(ListingPage):
    """The reviews, newest first; the page updates itself."""

    tab = "reviews"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of open reviews, the person's own, those waiting for the person, or all."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        text = request.GET.get(SHOW, "")
        show = Show(text) if text in Show.values else Show.OPEN
        if show is Show.WAITING:
            listed: Any = waiting_for(self.caller, workspace_id).all
        else:
            author = self.caller if show is Show.MINE else None
            listed = Reviews.current().list(workspace_id=workspace_id, author=author, by=self.caller)
            listed = listed.open() if show is Show.OPEN else listed
        page: Any = Paginator(listed, PER_PAGE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        records = shown if show is Show.WAITING else Reviews.current().records_of(shown)
        lines, names = review_lines(records, self.caller), self.shown_names
        return self.page(
            "review/reviews.html",
            title=_("Reviews"),
            show=show.value,
            choices=[
                (choice.label, f"?{self.query(**_narrowed(choice))}", choice is show) for choice in Show
            ],
            page=page,
            query=self.query(**_narrowed(show)),
            kept=_narrowed(show),
            lines=[(line, names.get(line.record.workspace_id, "")) for line in lines],
            policy_address="" if self.is_across else self.address("review_policy"),
        )


def _narrowed(show: Show) -> dict[str, str]:
    return {} if show is Show.OPEN else {SHOW: show.value}


@dataclass(frozen=True, kw_only=True)
class Since:
    """The news of a review for a person who has looked at it before."""

    at: datetime.datetime
    """When they last looked."""
    version_id: str
    """The version that they saw; empty if it still is the one under review."""
    verdicts: Sequence[Person]
    """The verdicts that other people have given since."""
    comments: int
    """How many comments other people have written since."""

    def __bool__(self) -> bool:
        """Whether there is any news."""
        return bool(self.version_id or self.verdicts or self.comments)


def read_news(record: ReviewRecord, resource: Target, user_id: Any) -> Since | None:
    """Record that a person looks at a review, and return the news since their last visit.

    Returns None at their first visit, if there is no news, and while the disk is full.
    """
    verdicts = [verdict for verdict in record.verdicts if verdict.account_id != user_id]
    comments = Comment.objects.about(resource).exclude(author=user_id).order_by()
    times = [*(verdict.created_at for verdict in verdicts), comments.aggregate(at=Max("created_at"))["at"]]
    latest = max((at for at in times if at is not None), default=None)
    look = Look()
    with storage.optional():
        look = Look.objects.note(record.id, user_id, record.version_id, latest=latest)
    if look.before is None:
        return None
    since = Since(
        at=look.before,
        version_id=look.version_before if look.version_before != record.version_id else "",
        verdicts=[
            Person(name=verdict.by, verdict=verdict)
            for verdict in verdicts
            if verdict.created_at > look.before
        ],
        comments=comments.filter(created_at__gt=look.before).count(),
    )
    return since or None


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
            chip=CHIPS[record.state],
            missing=""
            if self.is_over
            else missing_in_words(record.missing, record.outcome.changes_requested_by),
            stuck=stuck(record) if version is not None else "",
            approvals="" if self.is_over else missing_in_words(record.missing, ()),
            people=list_people(record, self.caller),
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
        since: Since | None = read_news(
            self.review, target_of(resource, self.editor.code), self.caller.user_id
        )
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


BYPASSES: Final = (
    (Bypass.ADMIN.value, gettext_lazy("Admins, who have to say why")),
    (Bypass.NOBODY.value, gettext_lazy("No one")),
)


class PolicyForm(forms.Form):
    """How many approvals a version needs, and who may bypass them."""

    required = forms.TypedChoiceField(
        label=gettext_lazy("Approvals before a version goes live"),
        coerce=int,
        choices=[(number, str(number)) for number in range(MAX_REQUIRED + 1)],
        help_text=gettext_lazy("0 means that everyone with the right to publish can publish at once."),
    )
    bypass = forms.ChoiceField(label=gettext_lazy("Who may publish without approval"), choices=BYPASSES)


class PolicyPage(WorkspacePage):
    """The policy in words, and for admins a form."""

    asks_password_again = True
    tab = "review_policy"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the policy."""
        policy = self._policy()
        return self.show(PolicyForm(initial={"required": policy.required, "bypass": policy.bypass}), policy)

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Change the policy, and show it again."""
        form = PolicyForm(request.POST)
        if not form.is_valid():
            return self.show(form, self._policy(), status=400)
        try:
            self.editor.review_policy.set(self.workspace_id, by=self.caller, **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
            return self.show(form, self._policy(), status=400)
        message = _("Saved. It applies to everything that goes live from now on.")
        return self.go(self.address("review_policy"), message)

    def _policy(self) -> ReviewPolicy:
        found: ReviewPolicy = self.editor.review_policy.get(self.workspace.pk, by=self.caller)
        return found

    def _reviewers(self) -> int:
        """Return how many people may approve here: members who may publish, and superusers."""
        members = Membership.objects.filter(
            workspace=self.workspace.pk, role__in=roles_with(Right.PUBLISH), is_service=False
        )
        people = Q(pk__in=members.values("user")) | Q(is_superuser=True)
        return get_user_model()._default_manager.filter(people, is_active=True).count()

    def show(self, form: forms.Form, policy: ReviewPolicy, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        context: dict[str, Any] = {
            "form": form,
            "sentences": policy_in_words(policy.required, policy.bypass),
            "warning": unmet_in_words(policy.required, self._reviewers()) if policy.required else "",
            "may_change": self.caller.may(Right.ADMINISTER, self.workspace_id),
        }
        return self.page("review/policy.html", title=_("Review policy"), status=status, **context)


urlpatterns = [
    path("reviews/", ReviewsPage.as_view(), name="versioning_workspace_reviews"),
    path("review-policy/", PolicyPage.as_view(), name="versioning_workspace_review_policy"),
]


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the URLs below those of a resource."""
    for name, route, view in (
        ("review_ask", "ask/", AskPage),
        ("review", "<str:review>/", ReviewPage),
        ("review_verdict", "<str:review>/verdict/", VerdictPage),
        ("review_change", "<str:review>/change/", ChangePage),
    ):
        yield path(f"<str:resource>/reviews/{route}", view.as_view(kind=kind), name=kind.url_name(name))
