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
from django.db.models import Case, Max, Q, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

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
from capabilities.review.studio.panels import OWN_PAGE, WAITING, waiting_for
from capabilities.review.studio.wording import (
    CHIPS,
    Person,
    explain_missing_reviewers,
    find_open_review,
    find_version_if_stored,
    has_decided,
    list_people,
    may_decide,
    missing_in_words,
    review_lines,
    review_url,
)
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.field_words import titles
from studio.forms.inputs import typed_text
from studio.kinds import StudioKind
from studio.pages import ActionPage, FormPage
from studio.preview.views import Preview
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage, VersionFormPage
from studio.resources.rows import blocks_on_page
from studio.translation import reference_to, title_of, translate
from studio.views import safe_next_url, with_undo
from studio.workspaces.members import people_address
from studio.workspaces.names import role_name
from studio.workspaces.views import ListingPage, WorkspacePage
from versioning.domain.access import Right, roles_with
from versioning.domain.errors import Conflict, Forbidden, Invalid, Issue, Message, NotFound
from versioning.domain.events import Target
from versioning.domain.selectors import Selector
from versioning.domain.snapshots import Snapshot
from versioning.editor.configuration_checks import invisible_characters
from versioning.models import Membership, VersionedResource, storage
from versioning.models.accounts import normalize_username, username_lookup
from versioning.models.text_keys import ByName
from versioning.serving.grants import target_of

MAX_PEOPLE: Final = 12
"""The maximum number of members that a form lists; others are found by their names."""


def people_to_ask(workspace_id: str, selected: Sequence[str], but: str | None) -> dict[str, Any]:
    """Return the context of the fields in which people are chosen; takes one query.

    They are the chosen members and the first others with access to drafts, approvers first. With more
    members, others are found by their names.
    """
    name, approving = username_lookup("user"), roles_with(Right.PUBLISH)
    selected = [stored for name in selected if (stored := normalize_username(name)) is not None]
    members = Membership.objects.filter(
        workspace=workspace_id,
        role__in=roles_with(Right.READ_DRAFTS),
        user__is_active=True,
        is_service=False,
    ).exclude(**{name: but or ""})
    rank = Case(When(**{f"{name}__in": selected}, then=0), When(role__in=approving, then=1), default=2)
    most = MAX_PEOPLE + len(selected)
    rows = members.select_related("user").order_by(rank, ByName(name), name)[: most + 1]
    people = [
        {
            "name": row.user.get_username(),
            "role": role_name(row.role),
            "may_approve": row.role in approving,
            "is_chosen": row.user.get_username() in selected,
        }
        for row in rows
    ]
    return {
        "people": sorted(people[:most], key=lambda choice: not choice["may_approve"]),
        "people_address": people_address(workspace_id, persons=True) if len(people) > most else "",
    }


def reviewers_in(fields: QueryDict) -> list[str]:
    """Return the people who were chosen in a form, or typed."""
    return [name for text in fields.getlist("reviewers") if (name := text.strip())]


class AskPage(VersionFormPage):
    """A message, and people to choose."""

    nothing_stored = Message("Nothing has been saved yet, so there is nothing to review.")

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Show the form; or the open review, if there is one."""
        self.require(Right.SAVE)
        review = find_open_review(self.stored_resource)
        if review is not None:
            return self.go(review_url(review.kind, review.resource_id, review.pk))
        return self.show()

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Request the review, and show it; after an error, show the form again."""
        self.require(Right.SAVE)
        message, reviewers = typed_text(request, "message"), reviewers_in(request.POST)
        try:
            record = Reviews.current().ask(
                self.kind.slug,
                self.resource_id,
                version_id=self.version.version_id,
                message=message,
                reviewers=reviewers,
                by=self.caller,
            )
        except Conflict:  # another person has just requested one
            return self.get(request)
        except Invalid as error:
            problems = [translate(issue.message) for issue in error.issues]
            return self.show(status=400, message=message, reviewers=reviewers, problems=problems)
        return self.go(
            review_url(record.resource_kind, record.resource_id, record.id), _("Review requested.")
        )

    def show(
        self, *, status: int = 200, message: str = "", reviewers: Sequence[str] = (), **context: Any
    ) -> HttpResponse:
        version, live = self.version, self.stored_resource.active
        schema = self.collection.schema_of(self.resource_id)
        changed_fields = schema.list_changes(live.config, version.config) if live else ()
        return self.page(
            "review/ask.html",
            title=_("Ask for a review of %(version)s") % {"version": reference_to(version)},
            status=status,
            version=version,
            changed=titles(changed_fields),
            message=message,
            **people_to_ask(self.workspace_id, reviewers, self.caller.username),
            max_text=MAX_TEXT,
            compare_address=f"{self.address('compare')}?to={version.version_id}",
            back_address=self.address("history"),
            **context,
        )


PER_PAGE: Final = 50


class ReviewsPage(ListingPage):
    """The reviews, newest first; the page updates itself."""

    tab = "reviews"
    parts = {
        "open": pgettext_lazy("reviews", "Open"),
        WAITING: pgettext_lazy("reviews", "Wait for me"),
        "mine": pgettext_lazy("reviews", "Mine"),
        "all": pgettext_lazy("reviews", "All"),
    }

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of open reviews, the person's own, those waiting for the person, or all."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        if self.part == WAITING:
            page = self.paginate(waiting_for(self.caller, workspace_id).all, PER_PAGE)
            records = list(page)
        else:
            author = self.caller if self.part == "mine" else None
            reviews: Any = Reviews.current().list(workspace_id=workspace_id, author=author, by=self.caller)
            page = self.paginate(reviews.open() if self.part == "open" else reviews, PER_PAGE)
            records = list(Reviews.current().records_of(list(page)))
        return self.page(
            "review/reviews.html",
            title=_("Reviews"),
            page=page,
            lines=[
                (line, self.shown_names.get(line.record.workspace_id, ""))
                for line in review_lines(records, self.caller)
            ],
            policy_address="" if self.is_across else self.address("review_policy"),
        )


@dataclass(frozen=True, kw_only=True)
class Since:
    """The news of a review for a person who has looked at it before."""

    at: datetime.datetime
    """The time of the last look."""
    version_id: str
    """The version that they saw; empty if it still is the one under review."""
    verdicts: Sequence[Person]
    """The verdicts that other people have given since."""
    comments: int
    """The number of comments that other people have written since."""

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

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Show the review; the open page polls for changes by others."""
        self.listen(self.scope)
        self.require(Right.READ_DRAFTS)
        return self.show()

    @cached_property
    def review(self) -> ReviewRecord:
        """The review; raises `NotFound` if it is of another resource."""
        self.require(Right.READ_DRAFTS)
        review: ReviewRecord = Reviews.current().find(self.kwargs["review"], by=self.caller)
        if (review.resource_kind, review.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return review

    def own(self, page: str = "review") -> str:
        """Return the address of a page about this review."""
        return self.address(page, self.review.id)

    def show(self, *, status: int = 200, typed: str = "", problems: Sequence[str] = ()) -> HttpResponse:
        """Return the page, with the input and its errors."""
        record, resource = self.review, self.with_history
        if resource is None:
            raise NotFound
        version = find_version_if_stored(resource, record.version_id)
        shown_id = self.request.GET.get(SEEN)
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
            stuck=explain_missing_reviewers(record) if version is not None else "",
            approvals="" if self.is_over else missing_in_words(record.missing, ()),
            people=list_people(record, self.caller),
            may_decide=version is not None and may_decide(record, self.caller),
            is_own=self.is_own,
            has_said=has_decided(record, self.caller),
            typed=typed,
            problems=problems,
            max_text=MAX_TEXT,
            moved_on=shown_id is not None and shown_id != record.version_id,
            obstacle=None if self.is_over else obstacle_to(resource, version, self.caller),
            candidates=people_to_ask(self.workspace_id, record.reviewers, record.requested_by)
            if self.may_change
            else None,
            **self.addresses(),
            **self.news(resource, version),
            **(self.compare(resource, version) if version is not None else {}),
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
        """Return the news since the person last looked, with the changes between the versions.

        An automatic update of the open page is not a new look.
        """
        if self.request.method != "GET" or "X-Live" in self.request.headers:
            return {}
        since: Since | None = read_news(
            self.review, target_of(resource, self.editor.code), self.caller.user_id
        )
        before = find_version_if_stored(resource, since.version_id) if since else None
        if before is None or version is None:
            return {"since": since}
        return {"since": since, "since_version": before, "since_fields": self.effects(before, version)}

    def compare(self, resource: VersionedResource, version: Snapshot) -> dict[str, Any]:
        """Return the changes of the version, and the assembled prompt.

        It is compared with the current live version, which publishing would replace; once the review is over,
        with the version that was live when it was requested.
        """
        began_with = self.review.base_version_id
        is_live = version.version_id == resource.active_id
        before = find_version_if_stored(resource, began_with) if self.is_over or is_live else resource.active
        fields = self.effects(before, version)
        preview, errors = assemble_preview(self, version)
        nothing = _("The code") if self.code_agent else _("Nothing live")
        return {
            "invisible": [translate(notice.message) for notice in invisible_characters(version.config)],
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

    @property
    def title_address(self) -> str:
        """The address of the page, with the focus on the heading of the review."""
        return f"{self.own()}#review-title"


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
        except (Conflict, Forbidden) as error:
            if isinstance(error, Forbidden):
                self.require(Right.PUBLISH)
            return self.go(self.title_address, translate(error.message), level=messages.ERROR)
        except Invalid as error:
            problems = [translate(issue.message) for issue in error.issues]
            return self.show(status=400, typed=body, problems=problems)
        address = safe_next_url(request, self.title_address)
        return self.go(address, messages_by_verdict[VerdictValue(verdict)])


class ChangePage(ActionPage, ReviewPage):
    """Moves a review to a newer version, changes the reviewers, or closes it."""

    http_method_names = ("post",)
    refusals = (Conflict, Invalid)

    @property
    def back_address(self) -> str:
        return self.title_address

    def act(self) -> str:
        """Perform the button's action."""
        self.require(Right.SAVE)
        fields = self.request.POST
        do = fields.get("undo") or fields.get("do", "")
        changes: dict[str, Any]
        match do:
            case "move":
                changes = {"version_id": fields.get("version", "")}
                message = _("Review moved to the newer version.")
            case "people":
                changes = {"reviewers": reviewers_in(fields)}
                message = _("Reviewers added. They are notified.")
            case "close":
                changes = {"is_closed": True}
                message = with_undo(_("Review closed."), self.own("review_change"), "reopen")
            case "reopen":
                changes = {"is_closed": False}
                message = _("Review reopened.")
            case _:
                raise NotFound
        Reviews.current().change(self.review.id, by=self.caller, **changes)
        return message

    def refusal_in_words(self, error: Any) -> str:
        if not isinstance(error, Invalid):
            return super().refusal_in_words(error)
        problem = "; ".join(translate(issue.message) for issue in error.issues)
        return _("Nothing was changed: it %(problem)s.") % {"problem": problem}


def assemble_preview(page: ResourcePage, version: Snapshot) -> tuple[Preview | None, Sequence[Issue]]:
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
    except NotFound:  # the code omits the instructions, and the version has none
        return None, []
    return Preview.of(explanation, blocks_on_page(page.effective(version), page.caller)), []


def unmet_in_words(required: int, reviewers: int) -> str:
    """Return a warning if too few people can approve; empty if they are enough for any author."""
    if reviewers > required:
        return ""
    there = ngettext(
        "Only %(count)s person can approve versions here.",
        "Only %(count)s people can approve versions here.",
        reviewers,
    ) % {"count": reviewers}
    consequence = _("A version that one of them saved cannot get the approvals that it needs.")
    if reviewers < required:
        consequence = _("No version can get the approvals that it needs.")
    return f"{there} {consequence}"


def policy_in_words(required: int, bypass: str) -> list[str]:
    """Return a policy as sentences."""
    if not required:
        return [_("Versions need no approval here: everyone with the right to publish can publish at once.")]
    needs = ngettext(
        "Each version needs one approval from a publisher and no open change requests.",
        "Each version needs %(count)s approvals from publishers and no open change requests.",
        required,
    )
    exempt = (
        _("An admin may publish without a review, and has to say why.")
        if bypass == Bypass.ADMIN
        else _("No one is exempt, admins included.")
    )
    return [
        needs % {"count": required},
        _(
            "People who made one of the changes cannot approve them. "
            "What was live before may go live again at once."
        ),
        exempt,
    ]


BYPASSES: Final = (
    (Bypass.ADMIN.value, gettext_lazy("Admins, who have to say why")),
    (Bypass.NOBODY.value, gettext_lazy("No one")),
)


class PolicyForm(forms.Form):
    """The number of approvals that a version needs, and the people who can bypass them."""

    required = forms.TypedChoiceField(
        label=gettext_lazy("Approvals before a version goes live"),
        coerce=int,
        choices=[(number, str(number)) for number in range(MAX_REQUIRED + 1)],
        help_text=gettext_lazy("0 means that everyone with the right to publish can publish at once."),
    )
    bypass = forms.ChoiceField(label=gettext_lazy("Who may publish without approval"), choices=BYPASSES)


class PolicyPage(FormPage, WorkspacePage):
    """The policy in words, and for admins a form."""

    asks_password_again = True
    tab = "review_policy"
    right = Right.READ_DRAFTS
    form_class = PolicyForm
    template = "review/policy.html"
    title = gettext_lazy("Review policy")

    @cached_property
    def policy(self) -> ReviewPolicy:
        """The policy of the workspace."""
        policy: ReviewPolicy = self.editor.review_policy.get(self.workspace.pk, by=self.caller)
        return policy

    def initial(self) -> dict[str, Any]:
        return {"required": self.policy.required, "bypass": self.policy.bypass}

    def save(self, form: PolicyForm) -> HttpResponse:
        self.editor.review_policy.set(self.workspace_id, by=self.caller, **form.cleaned_data)
        message = _("Saved. It applies to everything that goes live from now on.")
        return self.go(self.address("review_policy"), message)

    def context(self) -> dict[str, Any]:
        policy, warning = self.policy, ""
        if policy.required:
            # Members who can publish can approve, and superusers.
            members = Membership.objects.filter(
                workspace=self.workspace.pk, role__in=roles_with(Right.PUBLISH), is_service=False
            )
            reviewers = Q(pk__in=members.values("user")) | Q(is_superuser=True)
            count = get_user_model()._default_manager.filter(reviewers, is_active=True).count()
            warning = unmet_in_words(policy.required, count)
        return {
            "sentences": policy_in_words(policy.required, policy.bypass),
            "warning": warning,
            "may_change": self.caller.may(Right.ADMINISTER, self.workspace_id),
        }


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
