"""The history of a resource: all its versions, by day."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from editor_client.shared import canonical, ids

from studio import additions
from studio.dates import (
    day_in_words,
    day_of,
    exactly,
    moment_in_words,
    range_in_words,
    time_in_words,
    zone_note,
)
from studio.diff.fields import Condition, as_text, is_reference, readable
from studio.diff.views import PREVIOUS
from studio.extensions import Action
from studio.field_words import in_reading_order, titles, words_of
from studio.limits import PageBudget
from studio.named import Place, person_name
from studio.pages import ActionPage
from studio.publishing.views import obstacle_to, reasons
from studio.resources.base import ResourcePage
from studio.resources.rows import blocks_on_page
from studio.translation import reference_to, title_of, translate
from versioning.domain.access import Right
from versioning.domain.errors import EditConflict, Forbidden, Invalid, NotFound
from versioning.domain.selectors import Selector, VersionState
from versioning.domain.snapshots import Snapshot
from versioning.editor.timeline import (
    Entry,
    LivePeriods,
    Period,
    Timeline,
    find_labels,
    find_oldest,
    find_previous,
    list_authors,
    live_periods,
    make_entry,
)
from versioning.models import VersionedResource
from versioning.serving.resolution import find_version

MAX_PERIODS: Final = 2
"""The number of periods of a version on a page; further ones are counted."""


@dataclass(frozen=True, kw_only=True)
class LiveWords:
    words: str
    exact: str
    """The same with times of day, also in UTC."""
    is_current: bool


def live_in_words(periods: Sequence[Period], today: datetime.date) -> list[LiveWords]:
    newest = []
    for period in reversed(periods[-MAX_PERIODS:]):
        other_periods = [other for other in periods if other is not period]
        moments = [moment for other in other_periods for moment in (other.since, other.until)]
        days = {day_of(moment) for moment in moments if moment is not None}
        words = _words(period, today, days)
        newest.append(LiveWords(words=words, exact=_exact(period), is_current=period.is_current))
    more = len(periods) - len(newest)
    if more:
        words = ngettext("live %(count)s more time", "live %(count)s more times", more) % {"count": more}
        exact = "; ".join(_exact(period) for period in reversed(periods[:-MAX_PERIODS]))
        newest.append(LiveWords(words=words, exact=exact, is_current=False))
    return newest


def _words(period: Period, today: datetime.date, days: Collection[datetime.date]) -> str:
    """Return a period in words, with times of day if days alone are ambiguous."""
    since, until = (moment and day_of(moment) for moment in (period.since, period.until))
    if since is not None and until is not None:
        if since == until and period.since is not None and period.until is not None:
            first, last = time_in_words(period.since), time_in_words(period.until)
            times = first if first == last else _("%(first)s–%(last)s") % {"first": first, "last": last}  # noqa: RUF001
            return _("live on %(day)s, %(times)s") % {"day": day_in_words(since), "times": times}
        return _("live %(days)s") % {"days": range_in_words(since, until, today)}
    if since is not None:
        day = {"day": day_in_words(since)}
        if period.is_current and period.since is not None and (since == today or since in days):
            return _("live since %(day)s, %(time)s") % {**day, "time": time_in_words(period.since)}
        return _("live since %(day)s") % day if period.is_current else _("live from %(day)s on") % day
    if until is not None:
        return _("live until %(day)s") % {"day": day_in_words(until)}
    return _("live now")


def _exact(period: Period) -> str:
    since, until = (moment and exactly(moment) for moment in (period.since, period.until))
    if since and until:
        return _("From %(since)s to %(until)s") % {"since": since, "until": until}
    if since:
        if period.is_current:
            return _("Since %(since)s") % {"since": since}
        return _("From %(since)s; until when is not known") % {"since": since}
    if until:
        return _("Until %(until)s; since when is not known") % {"until": until}
    return _("Since when is not known")


class VersionLinksPage(ResourcePage):
    tab = "history"

    def comparison(self, before: Snapshot | None, after: Snapshot | None) -> str:
        """Return the address of the comparison of two versions; empty if one is missing or both are equal."""
        if before is None or after is None or before.version_id == after.version_id:
            return ""
        query = urlencode({"from": before.version_id, "to": after.version_id})
        return f"{self.address('compare')}?{query}"

    def publish_address(self, version: Snapshot) -> str:
        return f"{self.address('publish')}?{urlencode({'version': version.version_id})}"

    def links(self, resource: VersionedResource, entry: Entry) -> dict[str, str]:
        version = entry.version
        names = ("version", "restore", "labels", "download", "version_delete")
        return {
            **{name: self.address(name, version.version_id) for name in names},
            "publish": self.publish_address(version),
            "with_previous": self.comparison(entry.previous, version),
            "with_live": self.comparison(resource.active, version),
        }

    def may_delete(self, entry: Entry) -> bool:
        """Return whether to offer deleting a version; the verb checks everything that prevents it."""
        if entry.version.read_only or entry.is_live or entry.labels:
            return False
        return self.may(Right.SAVE if entry.state is VersionState.DRAFT else Right.PUBLISH)


PER_PAGE: Final = 25
APPLICATION: Final = "-"
"""The word in the address for versions saved by the application; no user name looks like this."""


@dataclass(frozen=True, kw_only=True)
class Item:
    entry: Entry
    links: Mapping[str, str]
    live: Sequence[LiveWords]
    is_current: bool
    """Whether it is the current version, so that restoring it would change nothing."""
    may_delete: bool
    is_from: bool
    """Whether it is preselected as one of the two versions to compare."""
    is_to: bool
    notes: Sequence[SafeString] = ()
    actions: Sequence[Action] = ()


@dataclass(frozen=True, kw_only=True)
class Day:
    title: str
    items: Sequence[Item]


class HistoryPage(VersionLinksPage):
    """All versions, newest first, below a summary of the live version and pending changes."""

    offers_taken_back = True

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        self.listen(self.scope)
        self.require(Right.READ_DRAFTS)
        history = self.collection.versions(self.resource_id, by=self.caller)
        stored = history.resource
        if stored is None:
            return self.page(
                "studio/history/history.html", title=_("History"), edit_address=self.address("change")
            )
        lived = live_periods(self.editor.event, stored, by=self.caller, cache=self.editor.cache)
        authors = list_authors(stored)
        requested = self.filters.get("author")
        author = "" if requested == APPLICATION else requested
        among = set(lived.by_version) if self.published_only else None
        if author is not None and author not in authors:
            author, among = None, set()
        timeline: Any = Timeline(stored, history.versions, author=author, among=among)
        page = self.paginate(timeline, PER_PAGE)
        items = self._items(stored, list(page.object_list), lived)
        note = f" · {zone}" if (zone := zone_note()) else ""
        return self.page(
            "studio/history/history.html",
            title=_("History"),
            resource=stored,
            page=page,
            query=urlencode(self.filters),
            items=items,
            days=[
                Day(title=f"{day_in_words(day)}{note}", items=list(day_items))
                for day, day_items in groupby(items, lambda item: day_of(item.entry.version.created_at))
            ],
            authors=[(name or APPLICATION, person_name(name, Place.NAMED)) for name in authors],
            chosen_author=self.filters.get("author", ""),
            published_only=self.published_only,
            is_filtered=bool(self.filters),
            latest=stored.latest,
            latest_address=self.address("version", stored.latest_id),
            live=stored.active,
            live_address=self.address("version", stored.active_id) if stored.active_id else "",
            before=self._before(stored, lived),
            live_at=self._live_at(stored, lived),
            unknown_before="" if lived.is_complete else moment_in_words(lived.known_since or timezone.now()),
            compare_address=self.address("compare"),
            history_address=self.address("history"),
            publish_address=self.address("publish"),
            obstacle=obstacle_to(stored, stored.latest, self.caller),
            panels=self.panels("history", stored.latest),
        )

    @property
    def filters(self) -> dict[str, str]:
        requested = {name: self.request.GET.get(name, "") for name in ("author", "published")}
        return {name: value for name, value in requested.items() if value}

    def _live_at(self, resource: VersionedResource, lived: LivePeriods) -> dict[str, str] | None:
        """Return what was live at the requested time, in a sentence with a link; None without a time."""
        text = self.request.GET.get("at", "")
        if not text:
            return None
        try:
            naive = datetime.datetime.fromisoformat(text)
            moment = naive if naive.tzinfo else timezone.make_aware(naive)
            words = {"time": exactly(moment)}
        except (ValueError, OverflowError):
            return {"at": "", "sentence": _("Enter a date and a time.")}
        if moment > timezone.now():
            return {"at": text, "sentence": _("This time is in the future.")}
        version_id = lived.version_at(moment)
        if version_id is None:
            return {"at": text, "sentence": _("It is not known what was live on %(time)s.") % words}
        if not version_id:
            sentence = _("On %(time)s, nothing was live.")
            if self.code_agent:
                sentence = _("On %(time)s, the agent ran as its code defines it.")
            return {"at": text, "sentence": sentence % words}
        try:
            title = title_of(find_version(resource, version_id))
            address = self.address("version", version_id)
        except NotFound:  # deleted since
            title, address = _("a version that has been deleted"), ""
        sentence = _("Live on %(time)s:") % words
        return {"at": text, "sentence": sentence, "title": title, "address": address}

    @property
    def published_only(self) -> bool:
        """Whether to show only versions that were live at some time."""
        return "published" in self.filters

    @cached_property
    def today(self) -> datetime.date:
        return timezone.localdate()

    def _items(self, resource: VersionedResource, entries: Sequence[Entry], lived: LivePeriods) -> list[Item]:
        listed_ids = {entry.version.version_id for entry in entries}
        both_shown = resource.has_draft and {resource.active_id, resource.latest_id} <= listed_ids
        newest = [entry.version.version_id for entry in entries[:2]]
        to, *older = [resource.latest_id, resource.active_id] if both_shown else newest or [""]
        oldest_id = find_oldest(resource)
        notes = additions.notes(self.caller, self.kind, resource, [entry.version for entry in entries])
        return [
            Item(
                entry=entry,
                links={
                    **self.links(resource, entry),
                    "with_previous": ""
                    if entry.version.version_id == oldest_id
                    else f"{self.address('compare')}?"
                    + urlencode({"from": PREVIOUS, "to": entry.version.version_id}),
                },
                live=live_in_words(lived.by_version.get(entry.version.version_id, ()), self.today),
                is_current=entry.version.version_id == resource.current.version_id,
                may_delete=self.may_delete(entry),
                is_from=entry.version.version_id in older,
                is_to=entry.version.version_id == to,
                notes=notes.get(entry.version.version_id, ()),
                actions=additions.actions(self.caller, self.kind, resource, entry.version),
            )
            for entry in entries
        ]

    def _before(self, resource: VersionedResource, lived: LivePeriods) -> dict[str, Any] | None:
        """Return the version that was live before the current one, for a one-click rollback."""
        if not lived.before_current:
            return None
        try:
            version: Snapshot = find_version(resource, lived.before_current)
        except NotFound:  # deleted in the meantime
            return None
        return {
            "version": version,
            "title": title_of(version),
            "address": self.address("version", version.version_id),
            "live": live_in_words(lived.by_version[version.version_id][-1:], self.today)[0],
            "publish_address": self.publish_address(version),
        }


_LINES_OF_A_BLOCK: Final = 5
"""The number of lines that a block counts for, including its heading."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    title: str = ""
    text: str = ""
    condition: str = ""
    """Its condition in words; empty if it always applies."""
    block_id: str = ""
    """The id of the referenced prompt block; empty for its own text."""
    left_out: int = 0
    path: str = ""
    """The path of the text in the configuration, such as `instructions.2.content`; empty if it is not a text.
    """


def split_value(name: str, value: Any, budget: PageBudget) -> list[Piece]:
    """Return the value of a field in pieces: instructions by block, other values as a whole."""
    readable_value = readable(name, value)
    if name != "instructions" or not isinstance(readable_value, list):
        return [_text("", as_text(readable_value), "", budget, name if isinstance(value, str) else "")]
    pieces = []
    for place, block in enumerate(readable_value, 1):
        if budget.is_spent:
            more = len(readable_value) - place + 1
            message = ngettext("And %(count)s more block", "And %(count)s more blocks", more)
            pieces.append(Piece(title=message % {"count": more}))
            break
        budget.lines -= _LINES_OF_A_BLOCK
        title = _("Block %(number)s") % {"number": place}
        if is_reference(block):
            pieces.append(Piece(title=title, block_id=block["id"]))
        else:
            rules: Condition = block["rules"]
            condition, path = "" if rules.always else str(rules), f"{name}.{place - 1}.content"
            pieces.append(_text(title, block["content"], condition, budget, path))
    return pieces


def _text(title: str, text: str, condition: str, budget: PageBudget, path: str) -> Piece:
    fitting_text = budget.take(text)
    return Piece(
        title=title, text=fitting_text, condition=condition, left_out=len(text) - len(fitting_text), path=path
    )


OFFERED_LABELS: Final = 100
SEEN_TOO_LATE: Final = gettext_lazy(
    "Someone changed this in the meantime, so nothing was done. Look again, then decide."
)


class OneVersionPage(VersionLinksPage):
    @cached_property
    def version(self) -> Snapshot:
        """The version in the address; raises `NotFound` and `Forbidden` as reading does."""
        version: Snapshot = self.collection.version(
            self.resource_id, self.kwargs["version"], by=self.caller
        ).version
        return version

    @property
    def stored_resource(self) -> VersionedResource:
        """The resource, which a version always has."""
        if self.with_history is None:
            raise NotFound
        return self.with_history

    def entry(self, version: Snapshot) -> Entry:
        resource = self.stored_resource
        labels = find_labels(resource, [version]).get(version.version_id, ())
        previous = find_previous(resource, version) if self.may(Right.READ_DRAFTS) else None
        return make_entry(resource, version, labels, previous)

    def link(self, version: Snapshot) -> SafeString:
        return self._link(version, title_of(version))

    def link_within(self, version: Snapshot) -> SafeString:
        return self._link(version, reference_to(version))

    def _link(self, version: Snapshot, words: str) -> SafeString:
        return format_html(
            '<a class="link" href="{}">{}</a>', self.address("version", version.version_id), words
        )

    def seen_too_late(self) -> HttpResponse:
        return self.back("history", str(SEEN_TOO_LATE), level=messages.ERROR)


class VersionPage(OneVersionPage):
    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        return self.show()

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        version = self.version
        entry, resource = self.entry(version), self.stored_resource
        budget = PageBudget()
        periods: Sequence[Period] = ()  # for people without access to other versions
        if self.may(Right.READ_DRAFTS):
            lived = live_periods(self.editor.event, resource, by=self.caller, cache=self.editor.cache)
            periods = lived.by_version.get(version.version_id, ())
        blocks = blocks_on_page(self.effective(version), self.caller)
        return self.page(
            "studio/history/version.html",
            title=title_of(version),
            status=status,
            entry=entry,
            version=version,
            links=self.links(resource, entry),
            is_current=entry.version.version_id == resource.current.version_id,
            previous=entry.previous,
            previous_address=self.address("version", entry.previous.version_id) if entry.previous else "",
            live=live_in_words(periods, timezone.localdate()),
            fields=[
                (name, words_of(name).title, split_value(name, value, budget), name == self.kind.text_field)
                for name in in_reading_order(version.config)
                if (value := version.config[name]) is not None
            ],
            changed=titles(version.changed_fields) if entry.previous else (),
            known_labels=resource.labels.values_list("name", flat=True)[:OFFERED_LABELS],
            may_delete=self.may_delete(entry),
            blocks=blocks,
            blocks_by_id={block.id: block for block in blocks},
            panels=self.panels("version", version, version.config),
            obstacle=obstacle_to(resource, version, self.caller),
            notes=additions.notes(self.caller, self.kind, resource, [version]).get(version.version_id, ())
            if self.may(Right.READ_DRAFTS)
            else (),
            **context,
        )


class RestorePage(ActionPage, OneVersionPage):
    http_method_names = ("post",)
    back_page = "history"
    refusals = (EditConflict,)

    @property
    def done_address(self) -> str:
        return self.address("change") if self.request.POST.get("then") == "change" else self.back_address

    def act(self) -> str:
        saved = self.collection.restore(
            self.resource_id, self.kwargs["version"], by=self.caller, expect=self.etags
        )
        message = _(
            "{copy} is a copy of {source}, and a draft: what is live stays live until the draft is published."
        )
        if saved.resource.repeats_live:
            message = _("{copy} is a copy of {source}, and is the same as what is live.")
        message = format_html(message, copy=self.link(saved.version), source=self.link(self.version))
        return self.with_next_steps(message, saved.resource, saved.version)

    def refusal_in_words(self, error: Any) -> str:
        return str(SEEN_TOO_LATE)


class LabelsPage(VersionPage):
    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        name, action = request.POST.get("name", "").strip(), request.POST.get("action")
        # A moved label keeps its state unless the switch is on.
        switch = action == "release" or "released" in request.POST or None
        released = False if action == "withdraw" else switch
        try:
            message = (
                self.remove(name) if action == "remove" else self.attach(name, version, released=released)
            )
        except EditConflict:
            return self.seen_too_late()
        except Invalid as refused:
            problem = "; ".join(translate(issue.message) for issue in refused.issues)
            return self.show(status=400, label_typed=name, label_error=problem, label_released=switch)
        except Forbidden as refused:
            self.require(Right.PUBLISH)  # people who cannot set labels get an error
            problem = " ".join(reasons(refused))
            return self.show(status=403, label_typed=name, label_error=problem, label_released=switch)
        return self.go(self.address("version", version), message)

    def attach(self, name: str, version_id: str, *, released: bool | None) -> str:
        problem = ids.label_problem(name)
        if problem is not None:
            raise Invalid.field("name", problem)
        before = self.stored_resource.labels.select_related("version").filter(name=name).first()
        _version, label = self.collection.label(
            self.resource_id, name, version_id, released=released, by=self.caller, expect=self.etags
        )
        came_from = before.version if before is not None and str(before.version_id) != version_id else None
        message = _("The label {label} is set.")
        if label.released:
            message = _("The label {label} is set and released.")
        if released is False:
            message = _("The label {label} is no longer released.")
        message = format_html(message, label=name)
        if came_from is None:
            return message
        where = format_html(_("It was at {version} before."), version=self.link_within(came_from))
        return format_html("{} {}", message, where)

    def remove(self, name: str) -> str:
        self.collection.unlabel(self.resource_id, name, by=self.caller, expect=self.etags)
        return _("The label %(label)s is removed.") % {"label": name}


class DeleteVersionPage(ActionPage, OneVersionPage):
    template = "studio/history/version_delete.html"
    done_page = "history"
    refusals = (Invalid,)

    @property
    def title(self) -> str:
        return _("Delete %(version)s?") % {"version": reference_to(self.version)}

    @property
    def back_address(self) -> str:
        return self.address("version", self.kwargs["version"])

    def context(self) -> dict[str, Any]:
        version = self.version
        return {"version": version, "entry": self.entry(version)}

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        try:
            return super().post(request, **ids)
        except EditConflict:
            return self.seen_too_late()

    def act(self) -> str:
        title = title_of(self.version)
        self.collection.delete_version(
            self.resource_id, self.kwargs["version"], by=self.caller, expect=self.etags
        )
        return _("%(version)s is deleted.") % {"version": title}

    def refusal_in_words(self, error: Any) -> str:
        problem = translate(error.issues[0].message)
        return _("%(version)s %(reason)s.") % {"version": title_of(self.version), "reason": problem}


class DownloadPage(ResourcePage):
    """Sends the exact bytes that an export, or a pull request, would contain."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        selected = Selector(version_id=version)
        config = self.collection.export(self.resource_id, selector=selected, by=self.caller)
        return HttpResponse(
            canonical.file_text(config),
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{ids.encode(self.resource_id)}.json"'},
        )
