"""The pages of releases, and their additions to other pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from capabilities.releases.items import ItemNow, is_file, now
from capabilities.releases.models import (
    MAX_DESCRIPTION,
    MAX_TITLE,
    Action,
    Release,
    ReleaseItem,
    ReleaseQuerySet,
    ReleaseState,
)
from capabilities.releases.rules import Problem, ReleaseBlocked, ReleaseChanged, in_order
from capabilities.releases.verbs import (
    SELECTOR,
    Releases,
    automatic_among,
    changeable,
    find_problems,
    release_etag,
)
from studio import additions
from studio.diff.fields import FieldDifference, differences
from studio.extensions import Action as Link
from studio.extensions import ChosenOn, Extension, NamedInEvent, OverlayWords, WorkspaceTab, rows_in_events
from studio.kinds import KINDS, KINDS_BY_SLUG, PROMPT_BLOCK, StudioKind
from studio.limits import MAX_MESSAGES, PageBudget, first_of, shorten
from studio.named import resource_name
from studio.navigation import MainPage
from studio.pages import FormPage
from studio.panels import Panel, Slot, SubjectOnPage, VersionOnPage
from studio.publishing.views import ReasonForm, given_reason, options_of, overruled_by_reason, reasons
from studio.resources.rows import FIELD, Summary, blocks_on_page, etag_field, value_of
from studio.tasks import SHOWN, Task, TaskGroup, Urgency
from studio.translation import translate
from studio.workspaces.names import workspace_choices
from studio.workspaces.views import SHOW, ListingPage, WorkspacePage, address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import Options
from versioning.models import Event, Version, VersionedResource
from versioning.models.querysets import within

CHIPS: Final[Mapping[str, str]] = {
    ReleaseState.DRAFT: "chip-changed",
    ReleaseState.PUBLISHED: "chip-published",
    ReleaseState.REVERTED: "",
}
"""The classes of the chips of states."""


def release_chip(release: Release, *, is_scheduled: bool) -> tuple[str, str]:
    """Return the name of a release's state, and the class of its chip.

    A draft that is published automatically is scheduled.
    """
    if is_scheduled:
        return pgettext("a release", "Scheduled"), CHIPS[ReleaseState.DRAFT]
    return release.get_state_display(), CHIPS[release.state]


def problem_in_words(problem: Problem) -> list[str]:
    """Return why a release cannot be published, or an item of it, as sentences."""
    if problem.error is not None:
        return reasons(problem.error)
    if problem.code == "gone":
        is_there = isinstance(problem.resource, ItemNow) and problem.resource.resource is not None
        return [_("The version to publish was deleted.") if is_there else _("It was deleted.")]
    if problem.code == "code_source":
        return [_("Its override is kept as a file, which no release can publish.")]
    return [_("The release is still empty.")]


def publishing_in_words(published: int, unpublished: int, *, goes_back: bool) -> str:
    """Return the label of the button that publishes a release with this many items of each type."""
    counts = {"published": published, "unpublished": unpublished}
    if not published and not unpublished:
        return _("Publish release")
    if goes_back and not unpublished:
        words = ngettext("Revert now (publish %(count)s)", "Revert now (publish %(count)s)", published)
        return words % {"count": published}
    if goes_back:
        back = [
            ngettext("publish %(count)s", "publish %(count)s", published) % {"count": published},
            ngettext("unpublish %(count)s", "unpublish %(count)s", unpublished) % {"count": unpublished},
        ]
        parts = [words for words, count in zip(back, counts.values(), strict=True) if count]
        return _("Revert now (%(what)s)") % {"what": ", ".join(parts)}
    if published and unpublished:
        return _("Publish %(published)s and unpublish %(unpublished)s together") % counts
    if unpublished:
        words = ngettext("Unpublish", "Unpublish all %(count)s together", unpublished)
        return words % {"count": unpublished}
    return ngettext("Publish", "Publish all %(count)s together", published) % {"count": published}


def title_for(names: Sequence[str]) -> str:
    """Return a title for a release of resources with these names, of which there is at least one."""
    first, more = shorten(names[0], MAX_TITLE // 2), len(names) - 1
    if not more:
        return first
    title = ngettext("%(name)s and %(count)s more", "%(name)s and %(count)s more", more)
    return title % {"name": first, "count": more}


def release_url(release: Release) -> str:
    """Return the address of the page of a release."""
    return address("release", release.workspace_id, str(release.pk))


def publish_together_url() -> str:
    """Return the address that publishes chosen resources together."""
    return reverse("studio:publish_together")


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the releases that the caller may read, by position and ordinal of the events; one query."""
    releases = rows_in_events(events, "releaseId", Release.objects.readable_by(caller))
    return {
        key: NamedInEvent(title=release.title, address=release_url(release))
        for key, release in releases.items()
    }


LINES: Final = 1_500
CHARACTERS: Final = 150_000
"""The maximum total length of the items' texts on a page; longer ones are a click away."""


@dataclass(frozen=True, kw_only=True)
class ShownItem:
    """An item, with the version that it replaces and the differences."""

    now: ItemNow
    kind: StudioKind
    name: str
    address: str
    """The page of the resource; empty if it is gone."""
    before: Version | None
    """The version that was live before; for a draft release, the current one."""
    fields: Sequence[FieldDifference]
    problems: Sequence[str] = ()
    """Why it prevents the release from being published, a sentence each."""
    links: Sequence[Link] = ()
    """Other applications' links next to its version, such as to the comments on it."""

    @property
    def key(self) -> str:
        """Its name in a form."""
        return f"{self.kind.slug}:{self.now.resource_id}"

    @property
    def publishes(self) -> bool:
        """Whether it publishes a version rather than unpublishing the resource."""
        return self.now.item.action == Action.PUBLISH

    @property
    def prefix(self) -> str:
        """The prefix of the ids in its part of the page."""
        return f"item-{self.now.item.place}-"

    @property
    def version_address(self) -> str:
        """The page of the version to publish; empty if there is none."""
        return self._version_address(self.now.version)

    @property
    def before_address(self) -> str:
        """The page of the version that was live before; empty if there is none."""
        return self._version_address(self.before)

    @property
    def comparison(self) -> str:
        """The page that compares both; empty if one of them is missing."""
        if self.before is None or self.now.version is None or self.now.version.pk == self.before.pk:
            return ""
        ids = {"from": self.before.version_id, "to": self.now.version.version_id}
        return f"{self.kind.address('compare', self.now.resource_id)}?{urlencode(ids)}"

    @property
    def looks(self) -> list[tuple[str, str]]:
        """The (title, address) of the pages that show it as if the whole release were published."""
        if self.now.version is None or not self.address or not self.kind.has_preview:
            return []
        query = urlencode({"release": str(self.now.item.release_id)})
        pages = {"preview": _("Preview"), "try": pgettext("tab", "Try")}
        return [
            (title, f"{self.kind.address(page, self.now.resource_id)}?{query}")
            for page, title in pages.items()
        ]

    @property
    def newest(self) -> Any:
        """The version saved after the one to publish, if any."""
        return self.now.resource.latest if self.now.newer else None

    def _version_address(self, version: Version | None) -> str:
        if version is None or self.now.resource is None:
            return ""
        return self.kind.address("version", self.now.resource_id, version.version_id)


def shown_items(
    items: Sequence[ReleaseItem], caller: Caller, problems: dict[tuple[str, str], list[str]]
) -> list[ShownItem]:
    """Return items in the form for pages; the number of queries does not depend on their number.

    `problems` has the reasons why one cannot be published, by kind and id.
    """
    current = now(get_editor(), items, with_texts=True)
    versions = [item.version for item in current if item.version is not None]
    names: dict[tuple[str, str], str] = {}
    replaced: dict[str, Version] = {}
    for kind in KINDS:
        items_of_kind = [item for item in current if item.kind == kind.slug]
        for resource, entry in kind.catalog(caller).some([item.resource_id for item in items_of_kind]):
            names[kind.slug, resource.pk] = entry.name or resource.pk
        ids = [item.active_before for item in items_of_kind if item.active_before]
        if ids:
            rows = kind.model.version_model.objects.defer("search_text", "excerpt").filter(pk__in=ids)
            replaced |= {str(row.pk): row for row in rows}
    instructions = [version.config.get("instructions") for version in [*versions, *replaced.values()]]
    blocks = [block for texts in instructions if isinstance(texts, list) for block in texts]
    block_names = {block.id: block.name for block in blocks_on_page({"instructions": blocks}, caller)}
    links = additions.links(caller, [(item.resource, item.version) for item in current if item.version])
    budget = PageBudget(characters=CHARACTERS, lines=LINES)
    page_items = []
    for item in current:
        kind, key = KINDS_BY_SLUG[item.kind], (item.kind, item.resource_id)
        is_readable = item.resource is not None and key in names
        before = replaced.get(item.active_before or "") if is_readable else None
        fields: Sequence[FieldDifference] = ()
        if item.version is not None and (before is None or before.pk != item.version.pk):
            old = before.config if before is not None else {}
            fields = differences(old, item.version.config, kind.schema, budget, block_names)
        page_items.append(
            ShownItem(
                now=item,
                kind=kind,
                name=names[key] if is_readable else item.resource_id,
                address=kind.address("change", item.resource_id) if is_readable else "",
                before=before,
                fields=fields,
                problems=problems.get(key, ()),
                links=links.get(key, ()) if is_readable else (),
            )
        )
    return page_items


MINE: Final = "mine"
QUERY: Final = urlencode({SHOW: MINE})
"""The query of the list for the person's own drafts."""


def own_drafts(caller: Caller, workspace_id: str | None = None) -> ReleaseQuerySet:
    """Return the open releases that the person made, and may still change, newest first."""
    drafts = Release.objects.filter(
        within("workspace_id", caller.scope(Right.SAVE)), state=ReleaseState.DRAFT
    )
    drafts = drafts.filter(created_by__isnull=False, created_by=caller.user_id)
    return drafts if workspace_id is None else drafts.filter(workspace=workspace_id)


def count_for(caller: Caller) -> int:
    """Return the number of the person's own open releases."""
    return own_drafts(caller).count()


def tasks(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the person's open releases."""
    drafts = own_drafts(caller)
    releases = list(drafts.annotate(count=Count("items"))[:SHOWN])
    scheduled = automatic_among(releases)
    yield TaskGroup(
        key="releases",
        urgency=Urgency.STARTED,
        title=_("Your open releases"),
        tasks=[_task(release, is_scheduled=release.pk in scheduled) for release in releases],
        count=len(releases) if len(releases) < SHOWN else drafts.count(),
        address=f"{reverse('studio:releases')}?{QUERY}",
    )


def _task(release: Release, *, is_scheduled: bool) -> Task:
    count: int = getattr(release, "count", 0)
    return Task(
        name=release.title,
        address=release_url(release),
        icon="publish",
        chip=release_chip(release, is_scheduled=is_scheduled),
        said=shorten(release.description) if release.description else "",
        about=ngettext("%(count)s item, created by you", "%(count)s items, created by you", count)
        % {"count": count},
        at=release.created_at,
        workspace_id=release.workspace_id,
        action=_("Open release"),
    )


EDITING: Final = frozenset({"edit", "since"})
"""The pages with the buttons of the edit page."""


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the button that publishes a version together with the changes of its blocks.

    Blocks of other workspaces cannot be in the release; without any others there is no button.
    """
    resource = shown.resource
    if not shown.unpublished_blocks or is_file(get_editor(), resource):
        return
    offered_blocks = [
        (block, entry)
        for block, entry in PROMPT_BLOCK.catalog(shown.caller).some(shown.unpublished_blocks)
        if block.workspace_id == resource.workspace_id
    ]
    if not offered_blocks:
        return
    blocks = [block for block, _entry in offered_blocks]
    chosen = [(shown.kind, resource, shown.version.version_id)]
    chosen += [(PROMPT_BLOCK, block, block.latest_id) for block in blocks]
    context = {
        "address": publish_together_url(),
        "chosen": [
            (value_of(kind, row.pk, version_id), etag_field(kind, row.pk), row.etag)
            for kind, row, version_id in chosen
        ],
        "count": len(blocks),
        "name": Summary(offered_blocks[0][1]).name,
        "is_short": shown.page in EDITING,
        "is_all": len(blocks) == len(shown.unpublished_blocks),
        "next": shown.request.get_full_path(),
        "csrf_token": get_token(shown.request),
    }
    html = render_to_string("releases/together.html", context)
    yield Panel(slot=Slot.BLOCKS, html=html, stylesheets=["releases/releases.css"])


def actions(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[Link]:
    """Yield the menu entries on a resource and its versions for people who can create releases."""
    if caller.may(Right.SAVE, resource.workspace_id) and not is_file(get_editor(), resource):
        query = urlencode({FIELD: value_of(kind, resource.pk, version.version_id)})
        yield Link(title=_("Add to release…"), address=f"{reverse('studio:add_to_release')}?{query}")


def chosen(caller: Caller, page: ChosenOn) -> Iterator[Link]:
    """Yield the actions on resources chosen in a list."""
    if page is ChosenOn.WAITING and caller.scope(Right.PUBLISH) != frozenset():
        yield Link(title=_("Publish as one release…"), address=publish_together_url())
    if caller.scope(Right.SAVE) != frozenset():
        yield Link(title=_("Add to release…"), address=reverse("studio:add_to_release"))


RELEASES_PER_PAGE: Final = 50
ALL: Final = "all"


class ReleaseForm(forms.Form):
    """The title and the description of a release."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=MAX_TITLE,
        help_text=gettext_lazy("So that people recognize it, such as “Autumn campaign”."),
    )
    description = forms.CharField(label=gettext_lazy("Purpose"), required=False, max_length=MAX_DESCRIPTION)


class ReleasesPage(ListingPage):
    """The releases, newest first; the page updates itself."""

    tab = "releases"
    parts = {
        ReleaseState.DRAFT.value: pgettext_lazy("releases", "Drafts"),
        MINE: pgettext_lazy("releases", "My drafts"),
        ReleaseState.PUBLISHED.value: pgettext_lazy("releases", "Published"),
        ReleaseState.REVERTED.value: pgettext_lazy("releases", "Reverted"),
        ALL: pgettext_lazy("releases", "All"),
    }

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of the releases in one state, by default drafts, or of all."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        if self.part == MINE:
            queryset: QuerySet[Release] = own_drafts(self.caller, workspace_id).with_people()
        else:
            state = None if self.part == ALL else self.part
            queryset = Releases.current().list(workspace=workspace_id, state=state, by=self.caller)
        page = self.paginate(queryset, RELEASES_PER_PAGE)
        releases = list(page)
        listed_releases = Release.objects.filter(pk__in=[release.pk for release in releases]).order_by()
        counts = dict(listed_releases.annotate(count=Count("items")).values_list("pk", "count"))
        scheduled = automatic_among(releases)
        return self.page(
            "releases/releases.html",
            title=_("Releases"),
            page=page,
            lines=[
                {
                    "release": release,
                    "address": release_url(release),
                    "chip": release_chip(release, is_scheduled=release.pk in scheduled),
                    "count": counts.get(release.pk, 0),
                    "workspace_name": self.shown_names.get(release.workspace_id, ""),
                }
                for release in releases
            ],
            **self._add_addresses(),
        )

    def _add_addresses(self) -> dict[str, Any]:
        """Return where a release is created: in the workspace, or in one of several to choose from."""
        if self.listed_id is not None:
            may_save = self.caller.may(Right.SAVE, self.listed_id)
            return {"add_address": address("new_release", self.listed_id) if may_save else ""}
        links = [
            (address("new_release", pk), name) for pk, name in workspace_choices(Right.SAVE, self.caller)
        ]
        if len(links) == 1:
            return {"add_address": links[0][0]}
        return {"add_addresses": links}


class NewReleasePage(FormPage, WorkspacePage):
    """Creates an empty release; items are added from the pages about resources."""

    tab = "releases"
    right = Right.SAVE
    form_class = ReleaseForm
    template = "releases/new.html"
    title = gettext_lazy("New release")

    def save(self, form: ReleaseForm) -> HttpResponse:
        release = Releases.current().create(self.workspace.pk, by=self.caller, **form.cleaned_data)
        return self.go(release_url(release))

    def context(self) -> dict[str, Any]:
        return {"back_address": self.address("releases")}


ITEMS_PER_PAGE: Final = 25
CHANGES: Final = frozenset({"save", "newer", "remove", "delete"})
"""The buttons that change a release but not the live versions."""
SCHEDULED: Final = gettext_lazy("Cancel the schedule before you change this release.")
MAX_CHECKED: Final = 25
"""The maximum number of items checked on every visit: the gate queries the database for each.

Larger releases are checked with a click, and when they are published.
"""


class ReleasePage(WorkspacePage):
    """A release, with its items and their differences."""

    tab = "releases"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str, release: str) -> HttpResponse:
        """Show the release."""
        return self.show()

    def post(self, request: HttpRequest, workspace: str, release: str) -> HttpResponse:
        """Perform the button's action; errors are shown on the page."""
        do: dict[str, Callable[[], HttpResponse]] = {
            "publish": self._publish,
            "revert": self._revert,
            "save": self._save,
            "newer": self._take_newer,
            "remove": self._remove,
            "delete": self._delete,
        }
        if request.POST.get("do") not in do:
            raise NotFound
        if self.is_scheduled and request.POST["do"] in CHANGES:
            return self._again(str(SCHEDULED), level=messages.ERROR)
        try:
            return do[request.POST["do"]]()
        except ReleaseBlocked as error:
            self._forget()
            return self.show(status=409, problems=error.problems)
        except ReleaseChanged:
            self._forget()
            return self.show(status=409, has_changed=True)
        except Conflict as error:
            return self._again(translate(error.message), level=messages.ERROR)
        except Invalid as error:
            return self.show(status=400, errors=reasons(error))

    @cached_property
    def release(self) -> Release:
        """The release; raises `NotFound` if it is of another workspace."""
        release = Releases.current().find(self.kwargs["release"], by=self.caller)
        if release.workspace_id != self.workspace.pk:
            raise NotFound
        return release

    @cached_property
    def is_scheduled(self) -> bool:
        """Whether it will be published automatically: then its schedule is cancelled before it changes."""
        return self.release.pk in automatic_among([self.release])

    @property
    def is_draft(self) -> bool:
        """Whether it can still be changed and published."""
        return self.release.state == ReleaseState.DRAFT

    def show(
        self,
        *,
        status: int = 200,
        problems: Sequence[Problem] | None = None,
        reason_error: str = "",
        **context: Any,
    ) -> HttpResponse:
        """Return the page, with the problems of the release."""
        release, rows = self.release, list(self.release.items.all())
        if problems is None and not (self.is_draft and self.may(Right.PUBLISH)):
            problems = ()
        elif problems is None and (len(rows) <= MAX_CHECKED or "check" in self.request.GET):
            problems = Releases.current().check(str(release.pk), by=self.caller).problems
        by_item: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for problem in problems or ():
            if problem.resource is not None:
                by_item[problem.resource.kind, problem.resource.resource_id] += problem_in_words(problem)
        unpublished = sum(row.action == Action.UNPUBLISH for row in rows)
        release_problems = [problem for problem in problems or () if problem.resource is None]
        page = self.paginate(rows, ITEMS_PER_PAGE)
        subject = SubjectOnPage(
            subject="release",
            id=str(release.pk),
            is_open=self.is_draft and bool(rows),
            workspace_id=self.workspace_id,
            request=self.request,
            caller=self.caller,
        )
        return self.page(
            "releases/release.html",
            title=release.title,
            status=status,
            release=release,
            chip=release_chip(release, is_scheduled=self.is_scheduled),
            is_scheduled=self.is_scheduled,
            is_draft=self.is_draft,
            tag=release_etag(release),
            page=page,
            query="",
            count=len(rows),
            publish_words=publishing_in_words(
                len(rows) - unpublished, unpublished, goes_back=release.reverts is not None
            ),
            unpublishes=unpublished > 0,
            items=shown_items(list(page.object_list), self.caller, by_item),
            is_checked=problems is not None,
            problems=[sentence for problem in release_problems for sentence in problem_in_words(problem)],
            refused=[(resource_name(*key), sentences) for key, sentences in by_item.items()],
            may_save=self.may(Right.SAVE),
            may_change=self.is_draft and not self.is_scheduled and bool(changeable([release], self.caller)),
            may_publish=self.may(Right.PUBLISH),
            reason_form=self._reason_form(problems or (), reason_error),
            max_title=MAX_TITLE,
            max_description=MAX_DESCRIPTION,
            releases_address=self.address("releases"),
            reverts_address=release_url(release.reverts) if release.reverts else "",
            panels=additions.collect(lambda extension: extension.subject_panels(subject)),
            **context,
        )

    def _reason_form(self, problems: Sequence[Problem], error: str) -> ReasonForm | None:
        """Return the form for a reason with which the gate would accept everything; None without one."""

        def refusals_with(options: Options) -> list[str]:
            items = in_order(now(self.editor, self.release.items.all(), with_texts=True))
            try:
                problems = find_problems(self.editor, self.release, items, self.caller, options=options)
            except gate.OptionRefused as refused:  # for example by a policy
                return [refused.code]
            return [problem.code for problem in problems]

        first = [problem.code for problem in problems]
        refusals = overruled_by_reason(first, self.workspace.pk, self.caller, refusals_with)
        hidden = {"tag": release_etag(self.release), "do": "publish"}
        return ReasonForm(refusals=refusals, action="", hidden=hidden, error=error) if refusals else None

    def _publish(self) -> HttpResponse:
        reason, was_scheduled = given_reason(self.request), self.is_scheduled
        if reason == "":
            return self.show(status=400, reason_error=_("Say why."))
        published = Releases.current().publish(
            self._id, by=self.caller, expect=self.etags, **options_of(self.request, reason)
        )
        message = _("Published: everything went live together.")
        if any(item.action == Action.UNPUBLISH for item in published.items.all()):
            message = _("Done: everything changed at the same moment.")
        cancelled = _("Its schedule is cancelled.")
        return self._again(f"{message} {cancelled}" if was_scheduled else message)

    def _revert(self) -> HttpResponse:
        title = _("Revert: %(title)s") % {"title": self.release.title}
        reverting = Releases.current().revert(self._id, title=title, by=self.caller)
        conflict_words = _("“%(name)s” is left as it is: something else has gone live since the release.")
        names = [resource_name(conflict.kind, conflict.resource_id) for conflict in reverting.conflicts]
        for message in first_of([conflict_words % {"name": name} for name in names], MAX_MESSAGES):
            self.tell(message)
        message = _("This draft undoes the release. Nothing has changed yet: look at it, then publish it.")
        return self.go(release_url(reverting.release), message)

    def _save(self) -> HttpResponse:
        form = self.request.POST
        Releases.current().change(
            self._id,
            title=form.get("title", ""),
            description=form.get("description", ""),
            by=self.caller,
            expect=self.etags,
        )
        return self._again(_("Saved."))

    def _take_newer(self) -> HttpResponse:
        kind, resource_id = self._item_key
        item = {
            "resource": {"kind": kind, "id": resource_id},
            "versionId": self.request.POST.get("version", ""),
        }
        Releases.current().add_items(self._id, [item], by=self.caller, expect=self.etags)
        return self._again(_("The release now publishes the newer version."))

    def _remove(self) -> HttpResponse:
        Releases.current().remove_item(self._id, *self._item_key, by=self.caller, expect=self.etags)
        return self._again(_("Removed from the release. Nothing else has changed."))

    def _delete(self) -> HttpResponse:
        Releases.current().delete(self._id, by=self.caller, expect=self.etags)
        return self.go(self.address("releases"), _("The release is deleted. What was in it stays as it is."))

    @property
    def _id(self) -> str:
        """The id of the release, once access is checked: it belongs to this workspace."""
        return str(self.release.pk)

    @property
    def _item_key(self) -> tuple[str, str]:
        """The kind and the id of the resource of a button."""
        kind, _colon, resource_id = self.request.POST.get("item", "").partition(":")
        if kind not in KINDS_BY_SLUG:
            raise NotFound
        return kind, resource_id

    def _forget(self) -> None:
        self.__dict__.pop("release", None)

    def _again(self, message: str, *, level: int = messages.SUCCESS) -> HttpResponse:
        return self.go(release_url(self.release), message, level=level)


urlpatterns = [
    path("releases/", ReleasesPage.as_view(), name="versioning_workspace_releases"),
    path("releases/add/", NewReleasePage.as_view(), name="versioning_workspace_new_release"),
    path("releases/<str:release>/", ReleasePage.as_view(), name="versioning_workspace_release"),
]


STUDIO: Final = Extension(
    urls="capabilities.releases.studio.pages",
    own_urls="capabilities.releases.studio.chosen",
    pages=[
        MainPage(
            page="releases",
            title=gettext_lazy("Releases"),
            place=20,
            sections=["releases/"],
            waiting=count_for,
            waiting_query=QUERY,
        )
    ],
    tabs=[WorkspaceTab(page="releases", title=gettext_lazy("Releases"), right=Right.READ_DRAFTS, place=20)],
    tasks=tasks,
    panels=panels,
    panels_need=Right.PUBLISH,
    actions=actions,
    chosen=chosen,
    named_in_events=named_in_events,
    overlays={
        SELECTOR.name: OverlayWords(
            column=gettext_lazy("With the release"),
            heading=gettext_lazy("With the release, in this context"),
            preview=gettext_lazy("As if the whole release were published now."),
            trial=gettext_lazy(
                "Answers as if the whole release were published now, with its prompt blocks and sub-agents, "
                "appear beside those of the live version."
            ),
            without=gettext_lazy("Without the release"),
        )
    },
)
