"""The additions of reviews to other pages of the studio: panels, lists, notes on the history, For you."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Case, QuerySet, Value, When
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.review.models import (
    MAX_TEXT,
    Comment,
    OtherAuthor,
    Review,
    ReviewPolicy,
    Verdict,
    VerdictValue,
)
from capabilities.review.outcomes import judge_versions, judged_version
from capabilities.review.policy import ReviewRequired, read_policy
from capabilities.review.reviews import ReviewRecord, Reviews, ReviewState, read_standings
from capabilities.review.studio.wording import (
    CHIPS,
    ReviewLine,
    ask_url,
    find_open_review,
    find_version_if_stored,
    has_decided,
    list_people,
    may_decide,
    missing_in_words,
    review_lines,
    review_url,
    state_in_words,
)
from studio.extensions import Action, ChosenOn, Extension, NextStep, VersionButton, WorkspaceTab
from studio.kinds import StudioKind
from studio.named import Place, people, person
from studio.navigation import MainPage
from studio.panels import Panel, Slot, VersionOnPage
from studio.tasks import SHOWN, Task, TaskGroup, Urgency
from studio.workspaces.views import SHOW
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound, VersioningError
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource
from versioning.serving.grants import target_of

BUTTON: Final = "review"
"""The value of `then` that the button of the edit page sends."""


def next_steps(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[NextStep]:
    """Yield the suggested next step for the author of a version: its review."""
    review = find_open_review(resource)
    if review is not None:
        yield NextStep(
            title=_("Open the review"), address=review_url(review.kind, review.resource_id, review.pk)
        )
    elif not caller.may(Right.PUBLISH, resource.workspace_id) or read_policy(resource.workspace_id).required:
        yield NextStep(title=_("Ask for review"), address=ask_url(kind, resource.pk, version.version_id))


def go_on(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> str:
    """Move the open review to the version, as the button requests; return the next address.

    Without an open review, that is the page to request one.
    """
    review = find_open_review(resource)
    if review is None:
        return ask_url(kind, resource.pk, version.version_id)
    if review.version_id != version.version_id:
        with suppress(Conflict, Invalid, NotFound):  # it has just ended, or moved further
            Reviews.current().change(str(review.pk), version_id=version.version_id, by=caller)
    return review_url(review.kind, review.resource_id, review.pk)


ASKING: Final = (
    VersionButton(
        page="review_ask",
        template="review/ask_button.html",
        right=Right.SAVE,
        off={"edit", "since", "review"},
        stylesheets=["review/review.css"],
    ),
    VersionButton(
        page="review_ask",
        template="review/save_and_ask_button.html",
        right=Right.SAVE,
        on={"edit", "since"},
        stylesheets=["review/review.css"],
        for_live=True,
    ),
)
"""The buttons while there is no open review."""
DECIDING = frozenset({"publish", "compare"})
"""The pages with the differences of a version, on which the open review of the version can be decided."""
EDIT: Final = "edit"
EDITING = frozenset({EDIT, "since"})
"""The edit page, and the page that updates its buttons."""
OWN_PAGE = "review"
SAYING_WHY = EDITING | {"history", "version", "publish"}
"""The pages that show publishers why a version cannot be published."""


def open_reviews(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return the open review of a resource, without which there is no panel."""
    return [Review.objects.open().filter(**about)]


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the buttons, and the state of the open review."""
    if shown.page == OWN_PAGE:
        return
    review = find_open_review(shown.resource)
    if review is None:  # it has just ended
        return
    [record] = Reviews.current().records_of([review])
    is_newest = shown.version.version_id == shown.resource.latest_id
    is_deciding = shown.page in DECIDING and shown.version.version_id == record.version_id
    tells_elsewhere = shown.page in SAYING_WHY and Right.PUBLISH in shown.rights
    missing = missing_in_words(record.missing, record.outcome.changes_requested_by)
    address = partial(review_url, review.kind, review.resource_id, review.pk)
    context = {
        "is_editing": shown.page in EDITING,
        "may_save": Right.SAVE in shown.rights,
        "button": BUTTON,
        "version": shown.version,
        "csrf_token": get_token(shown.request),
        "review": record,
        "chip": CHIPS[record.state],
        "state_of_resource": state_in_words(record.state, record.version_number, outdated=record.outdated),
        "missing": "" if tells_elsewhere else missing,
        "address": address(),
        "move_address": address("review_change"),
        "can_move": record.outdated and is_newest,
        "may_decide": is_deciding and may_decide(record, shown.caller),
        "has_said": has_decided(record, shown.caller),
        "verdict_address": address("review_verdict"),
        "max_text": MAX_TEXT,
        "next": shown.request.get_full_path(),
    }
    if shown.page in EDITING:
        yield Panel(slot=Slot.STATE, html=render_to_string("review/state.html", context))
        if context["missing"]:
            yield Panel(slot=Slot.NOTES, html=format_html('<p class="help">{}</p>', context["missing"]))
    html = render_to_string("review/panel.html", context)
    yield Panel(slot=Slot.ACTIONS, html=html, stylesheets=["review/review.css"])
    if shown.page == EDIT:
        yield from requested_changes(shown, record)
    if context["may_decide"]:
        yield Panel(slot=Slot.VERSION, html=render_to_string("review/verdict.html", context))


def requested_changes(shown: VersionOnPage, record: ReviewRecord) -> Iterator[Panel]:
    """Yield the latest requests for changes in the open review, unless they have no effect.

    A request stands below the field that the version under review changed. If it changed several, the
    request stands at the side of the page.
    """
    by_field: dict[str, list[dict[str, Any]]] = {}
    for reviewer in list_people(record, shown.caller):
        verdict = reviewer.verdict
        if verdict is None or verdict.verdict != VerdictValue.REQUEST_CHANGES or verdict.ignored is not None:
            continue
        version = find_version_if_stored(shown.resource, verdict.version_id)  # None if it was deleted
        before = find_version_if_stored(shown.resource, record.base_version_id)
        changed_fields: list[str] = []
        if version is not None and before is not None:
            changed_fields = list(shown.kind.schema.list_changes(before.config, version.config))
        field = changed_fields[0] if len(changed_fields) == 1 and changed_fields[0] in shown.fields else ""
        by_field.setdefault(field, []).append({"verdict": verdict, "version": version})
    address = review_url(record.resource_kind, record.resource_id, record.id)
    for field, requests in by_field.items():
        html = render_to_string("review/requested.html", {"requests": requests, "address": address})
        slot = Slot.FIELD if field else Slot.ASIDE
        yield Panel(slot=slot, field=field, html=html, stylesheets=["review/review.css"])


MAX_OPEN: Final = 500
"""How many open reviews are considered, newest first."""


WAITING: Final = "waiting"
QUERY: Final = urlencode({SHOW: WAITING})
"""The query of the list for the reviews that wait for the person."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The open reviews that wait for a person, newest first."""

    returned: Sequence[ReviewRecord] = ()
    """Reviews that they requested, or of their versions, in which a reviewer requested changes."""
    to_review: Sequence[ReviewRecord] = ()
    """Reviews requested from them, and those that lack an approval that they may give."""

    @property
    def all(self) -> list[ReviewRecord]:
        """All of them, changes to make first."""
        return [*self.returned, *self.to_review]


def waiting_for(caller: Caller, workspace_id: str | None = None) -> Waiting:
    """Return the open reviews that wait for a person, in one workspace or all.

    Authors are not asked to review their own changes. The number of queries is constant.
    """
    if caller.username is None or caller.scope(Right.READ_DRAFTS) == frozenset():
        return Waiting()
    # Every page shows the number, and often no review is open; then the other queries are skipped.
    if not Review.objects.open().exists():
        return Waiting()
    readable: Any = Reviews.current().list(by=caller, workspace_id=workspace_id).open()
    own_first = Case(When(author_id=caller.user_id, then=Value(0)), default=Value(1))
    rows: Sequence[Review] = list(readable.order_by(own_first, "-created_at", "id")[:MAX_OPEN])
    if not rows:
        return Waiting()
    commented = _find_commented(rows, caller)
    records: Sequence[ReviewRecord] = Reviews.current().records_of(rows)
    returned, to_review = [], []
    for row, record in sorted(
        zip(rows, records, strict=True), key=lambda pair: pair[0].created_at, reverse=True
    ):
        # Changes are requested of those who asked for the review, and of those who wrote the version.
        is_own = row.author_id == caller.user_id or caller.user_id in record.outcome.authors
        if is_own and record.state is ReviewState.CHANGES_REQUESTED:
            returned.append(record)
        if row.author_id != caller.user_id and _waits(record, caller, has_commented=row.pk in commented):
            to_review.append(record)
    return Waiting(returned=returned, to_review=to_review)


def count_for(caller: Caller) -> int:
    """Return the number of reviews that wait for a person."""
    return len(waiting_for(caller).all)


def _waits(record: ReviewRecord, caller: Caller, *, has_commented: bool) -> bool:
    if caller.user_id in record.outcome.authors:
        return False
    if any(verdict.account_id == caller.user_id and verdict.counts for verdict in record.verdicts):
        return False
    may_decide = caller.may(Right.PUBLISH, record.workspace_id)
    if caller.username in record.reviewers:
        return may_decide or not has_commented
    return may_decide and record.state is ReviewState.OPEN


def _find_commented(rows: Sequence[Review], caller: Caller) -> Collection[Any]:
    """Return the keys of the reviews on whose resources the person has commented since the request."""
    identities = {row.identity for row in rows}
    own_comments = Comment.objects.filter(author_id=caller.user_id, identity__in=identities)
    latest: dict[Any, Any] = {}
    for *resource, at in own_comments.values_list("kind", "resource_id", "identity", "created_at"):
        latest[tuple(resource)] = max(at, latest.get(tuple(resource), at))
    times = {row.pk: latest.get((row.kind, row.resource_id, row.identity)) for row in rows}
    return {row.pk for row in rows if (last := times[row.pk]) is not None and last >= row.created_at}


def tasks(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the changes that are requested of the person, and the reviews that wait for them."""
    waiting = waiting_for(caller)
    returned, to_review = waiting.returned[:SHOWN], waiting.to_review[:SHOWN]
    lines = {line.record.id: line for line in review_lines([*returned, *to_review], caller)}
    address = f"{reverse('studio:reviews')}?{QUERY}"
    yield TaskGroup(
        key="returned",
        urgency=Urgency.RETURNED,
        title=_("Changes requested of you"),
        tasks=[_returned_task(lines[record.id]) for record in returned],
        count=len(waiting.returned),
        address=address,
    )
    yield TaskGroup(
        key="asked",
        urgency=Urgency.ASKED,
        title=_("Waiting for your review"),
        tasks=[_asked_task(lines[record.id], caller) for record in to_review],
        count=len(waiting.to_review),
        address=address,
    )


def _returned_task(line: ReviewLine) -> Task:
    """Return a review in which a reviewer requested changes, with the comment."""
    requests = [
        verdict
        for verdict in line.record.verdicts
        if verdict.counts and verdict.verdict == VerdictValue.REQUEST_CHANGES
    ]
    reviewers = people(line.record.outcome.changes_requested_by, Place.BEGINNING)
    about = _("{who} asked for changes to version {number}")
    return Task(
        name=line.name,
        address=line.address,
        icon=line.kind.icon,
        chip=(line.state.word, line.state.chip),
        said=requests[-1].body if requests else "",
        about=format_html(about, who=reviewers, number=line.record.version_number),
        at=requests[-1].created_at if requests else None,
        notes=_notes(line),
        workspace_id=line.record.workspace_id,
        action=_("Edit"),
        action_address=line.kind.address("change", line.record.resource_id),
    )


def _asked_task(line: ReviewLine, caller: Caller) -> Task:
    """Return a review that waits for the person."""
    record = line.record
    author = person(record.requested_by, Place.BEGINNING)
    about = (
        _("{who} asked you to look at version {number}")
        if caller.username in record.reviewers
        else _("{who} asked for a review of version {number}")
    )
    return Task(
        name=line.name,
        address=line.address,
        icon=line.kind.icon,
        chip=(line.state.word, line.state.chip),
        said=record.message,
        about=format_html(about, who=author, number=record.version_number),
        at=record.created_at,
        notes=_notes(line),
        workspace_id=record.workspace_id,
        action=_("Review"),
    )


def _notes(line: ReviewLine) -> list[str]:
    return [_("There is now a newer version.")] if line.record.outdated else []


def list_notes(
    caller: Caller, kind: StudioKind, resources: Mapping[str, str]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the state of the open reviews, each with a link to it; for callers with access to drafts."""
    readable: Any = Reviews.current().list(by=caller, kind=kind.slug).open()
    rows = [
        row
        for row in readable.filter(resource_id__in=resources)
        if resources[row.resource_id] == row.workspace_id
    ]
    notes = {}
    for row, standing in zip(rows, read_standings(Reviews.current(), rows) if rows else [], strict=True):
        words = state_in_words(standing.state, row.version_number, outdated=standing.outdated)
        address = review_url(row.kind, row.resource_id, row.pk)
        html = format_html('<a class="chip {}" href="{}">{}</a>', words.chip, address, words.word)
        notes[row.resource_id] = [html]
    return notes


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> Mapping[tuple[str, str], str]:
    """Return the missing approvals of the newest versions, by the slug of the kind and the id.

    Workspaces whose drafts the caller may not read are omitted.
    """
    candidates = [
        resource
        for resource in resources
        if resource.waits and caller.may(Right.READ_DRAFTS, resource.workspace_id)
    ]
    if not candidates:
        return {}
    workspaces = {resource.workspace_id for resource in candidates}
    policies = ReviewPolicy.objects.filter(pk__in=workspaces, required__gt=0)
    strict = set(policies.values_list("pk", flat=True))
    candidates = [resource for resource in candidates if resource.workspace_id in strict]
    code = get_editor().code
    outcomes = judge_versions(
        [judged_version(resource, resource.latest, target_of(resource, code)) for resource in candidates]
    )
    return {
        (resource.kind.slug, resource.pk): missing_in_words(outcome.missing, outcome.changes_requested_by)
        for resource, outcome in zip(candidates, outcomes, strict=True)
        if not outcome.is_allowed
    }


def chosen(caller: Caller, page: ChosenOn) -> Iterator[Action]:
    """Yield the action on waiting drafts for people who can ask for reviews."""
    if page is ChosenOn.WAITING and caller.scope(Right.SAVE) != frozenset():
        yield Action(title=_("Ask for review…"), address=reverse("studio:ask_for_reviews"))


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the notes on each version, by its id; three queries at most."""
    target = target_of(resource, get_editor().code)
    ids = [version.version_id for version in versions]
    notes: defaultdict[str, list[SafeString]] = defaultdict(list)
    verdicts = Verdict.objects.about(target).filter(version_id__in=ids).order_by("pk")
    # The latest verdict of each person on each version.
    latest = {(verdict.version_id, verdict.author_name): verdict for verdict in verdicts.defer("body")}
    by_version: defaultdict[str, list[Verdict]] = defaultdict(list)
    for (version_id, _name), verdict in latest.items():
        by_version[version_id].append(verdict)
    for version_id, latest_verdicts in by_version.items():
        notes[version_id] += _sentences(latest_verdicts)
    by_number = {version.number: version.version_id for version in versions if not version.read_only}
    rows = OtherAuthor.objects.about(target).filter(number__in=by_number, suggestion__isnull=False)
    suggesters: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows.select_related("author").order_by("pk"):
        suggesters[by_number[row.number]].append(row.author.get_username())
    for version_id, names in suggesters.items():
        words = format_html(_("Wording suggested by {people}"), people=people(names))
        notes[version_id].append(words)
    for version_id, words in _bypasses(target, versions):
        notes[version_id].append(words)
    return notes


def _bypasses(target: Target, versions: Sequence[Snapshot]) -> Iterator[tuple[str, SafeString]]:
    """Yield the people and reasons of publications without a review, if still logged; one query."""
    # Versions in a file or in Git have no such column.
    columns = {version.version_id: getattr(version, "bypassed_by", "?") for version in versions}
    names = {version_id: name for version_id, name in columns.items() if name}
    if not names:
        return
    events = Event.objects.filter(
        type="review.bypassed",
        resource_id=target.id,
        resource_uuid=target.identity,
        version_id__in=names,
    ).order_by("position")
    for event in events:
        names.pop(event.version_id, None)
        yield event.version_id, _describe_bypass(event.actor, str(event.detail.get("reason") or ""))
    for version_id, name in names.items():
        if name != "?":
            yield version_id, _describe_bypass(name, "")


def _sentences(verdicts: Sequence[Verdict]) -> Iterable[SafeString]:
    sentences = {
        VerdictValue.APPROVE: _("Approved by {people}"),
        VerdictValue.REQUEST_CHANGES: _("Changes requested by {people}"),
    }
    for verdict, sentence in sentences.items():
        same = [row for row in verdicts if row.verdict == verdict]
        if same:
            last = same[-1]
            address = review_url(last.kind, last.resource_id, last.review_id)
            words = format_html(sentence, people=people(row.author_name for row in same))
            yield format_html('<a class="link" href="{}">{}</a>', address, words)


def _describe_bypass(actor: str, reason: str) -> SafeString:
    sentence = _("{who} published it without a review")
    if reason:
        sentence = _("{who} published it without a review: “{reason}”")
    words = format_html(sentence, who=person(actor, Place.BEGINNING), reason=reason)
    return format_html("<strong>{}</strong>", words)


def find_way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the page of the review, or to ask for one, if approvals are missing; None for other errors."""
    if not isinstance(error, ReviewRequired):
        return None
    if error.review_id is None:
        return Action(title=_("Ask for review"), address=ask_url(kind, resource_id, error.version_id))
    return Action(title=_("To the review"), address=review_url(kind.slug, resource_id, error.review_id))


def find_event_address(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's review; empty for other events."""
    review_id = event.detail.get("reviewId")
    if not review_id or not event.type.startswith("review."):
        return ""
    return kind.address("review", event.resource_id, str(review_id))


STUDIO: Final = Extension(
    urls="capabilities.review.studio.pages",
    own_urls="capabilities.review.studio.many",
    resource_urls="capabilities.review.studio.pages.resource_urls",
    pages=[
        MainPage(
            page="reviews",
            title=gettext_lazy("Reviews"),
            place=10,
            sections=["reviews/"],
            waiting=count_for,
            waiting_query=QUERY,
        )
    ],
    tabs=[
        WorkspaceTab(page="reviews", title=gettext_lazy("Reviews"), right=Right.READ_DRAFTS, place=10),
        WorkspaceTab(
            page="review_policy",
            title=gettext_lazy("Review policy"),
            right=Right.READ_DRAFTS,
            place=10,
            is_setting=True,
        ),
    ],
    panels=panels,
    panels_need=Right.READ_DRAFTS,
    concerns=open_reviews,
    buttons=ASKING,
    next_steps=next_steps,
    after_saving={BUTTON: go_on},
    tasks=tasks,
    notes=notes,
    list_notes=list_notes,
    publish_blockers=publish_blockers,
    chosen=chosen,
    event_address=find_event_address,
    way_out=find_way_out,
    reasons={ReviewRequired.code: gettext_lazy("Publish without a review")},
)
