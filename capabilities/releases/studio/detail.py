"""One release: its changes, its problems, and its actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.releases.automatic import automatic_among, changeable
from capabilities.releases.checking import problems_of
from capabilities.releases.editing import etag_of
from capabilities.releases.items import ItemNow, now
from capabilities.releases.models import Release
from capabilities.releases.models.releases import MAX_DESCRIPTION, MAX_TITLE, Action, State
from capabilities.releases.rules import Problem, ReleaseBlocked, ReleaseChanged, in_order
from capabilities.releases.studio.links import of_release
from capabilities.releases.studio.presenters import shown_items
from capabilities.releases.studio.wording import problem_in_words, publishing_in_words, state_in_words
from capabilities.releases.verbs import Releases
from studio import additions
from studio.kinds import KINDS_BY_SLUG
from studio.limits import MAX_MESSAGES, first_of
from studio.named import resource_name
from studio.panels import Panel, SubjectOnPage
from studio.publishing.views import (
    ReasonForm,
    given_reason,
    options_of,
    overruled_by_reason,
    reasons,
)
from studio.translation import translated
from studio.workspaces.views import WorkspacePage
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.editor import gate
from versioning.editor.gate import Options

PER_PAGE: Final = 25
CHANGES: Final = frozenset({"save", "newer", "remove", "delete"})
"""The buttons that change a release, and not what is live."""
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
            return self._again(translated(error.message), level=messages.ERROR)
        except Invalid as error:
            return self.show(status=400, errors=reasons(error))

    @cached_property
    def release(self) -> Release:
        """The release; raises `NotFound` if it is of another workspace."""
        found = Releases.current().find(self.kwargs["release"], by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    @cached_property
    def is_scheduled(self) -> bool:
        """Whether it will be published automatically: then its schedule is cancelled before it changes."""
        return self.release.pk in automatic_among([self.release])

    @property
    def is_draft(self) -> bool:
        """Whether it can still be changed and published."""
        return self.release.state == State.DRAFT

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
        if problems is None:
            problems = self._problems(len(rows))
        unpublished = sum(row.action == Action.UNPUBLISH for row in rows)
        own = [problem for problem in problems or () if problem.resource is None]
        page: Any = Paginator(rows, PER_PAGE).get_page(self.request.GET.get("page"))
        by_item = _by_item(problems or ())
        return self.page(
            "releases/release.html",
            title=release.title,
            status=status,
            release=release,
            state=state_in_words(release, is_scheduled=self.is_scheduled),
            is_scheduled=self.is_scheduled,
            is_draft=self.is_draft,
            tag=etag_of(release),
            page=page,
            query="",
            count=len(rows),
            publish_words=publishing_in_words(
                len(rows) - unpublished, unpublished, goes_back=release.reverts is not None
            ),
            unpublishes=unpublished > 0,
            items=shown_items(list(page.object_list), self.caller, by_item),
            is_checked=problems is not None,
            problems=[sentence for problem in own for sentence in problem_in_words(problem)],
            refused=[(resource_name(*key), sentences) for key, sentences in by_item.items()],
            may_save=self.may(Right.SAVE),
            may_change=self.is_draft and not self.is_scheduled and bool(changeable([release], self.caller)),
            may_publish=self.may(Right.PUBLISH),
            reason_form=self._reason_form(problems or (), reason_error),
            max_title=MAX_TITLE,
            max_description=MAX_DESCRIPTION,
            releases_address=self.address("releases"),
            reverts_address=of_release(release.reverts) if release.reverts else "",
            panels=self._panels(is_open=self.is_draft and bool(rows)),
            **context,
        )

    def _panels(self, *, is_open: bool) -> list[Panel]:
        """Return other applications' panels about the release, such as when it goes live."""
        shown = SubjectOnPage(
            subject="release",
            id=str(self.release.pk),
            is_open=is_open,
            workspace_id=self.workspace_id,
            request=self.request,
            caller=self.caller,
        )
        return additions.added(lambda one: one.subject_panels(shown))

    def _problems(self, count: int) -> Sequence[Problem] | None:
        """Return its problems; None for many items, until they are requested."""
        if not self.is_draft or not self.may(Right.PUBLISH):
            return ()
        if count > MAX_CHECKED and "check" not in self.request.GET:
            return None
        return Releases.current().check(str(self.release.pk), by=self.caller).problems

    def _reason_form(self, problems: Sequence[Problem], error: str) -> ReasonForm | None:
        """Return the form for a reason with which the gate would accept everything; None without one."""

        def refusals_with(options: Options) -> list[str]:
            items = in_order(now(self.editor, self.release.items.all(), with_texts=True))
            try:
                left = problems_of(self.editor, self.release, items, self.caller, options=options)
            except gate.OptionRefused as refused:  # such as by a policy
                return [refused.code]
            return [one.code for one in left]

        first = [problem.code for problem in problems]
        refusals = overruled_by_reason(first, self.workspace.pk, self.caller, refusals_with)
        hidden = {"tag": etag_of(self.release), "do": "publish"}
        return ReasonForm(refusals=refusals, action="", hidden=hidden, error=error) if refusals else None

    def _publish(self) -> HttpResponse:
        reason, was_scheduled = given_reason(self.request), self.is_scheduled
        if reason == "":
            return self.show(status=400, reason_error=_("Say why."))
        done = Releases.current().publish(
            self._id, by=self.caller, expect=self._expected, **options_of(self.request, reason)
        )
        message = _("Published: everything went live together.")
        if any(item.action == Action.UNPUBLISH for item in done.items.all()):
            message = _("Done: everything changed at the same moment.")
        cancelled = _("Its schedule is cancelled.")
        return self._again(f"{message} {cancelled}" if was_scheduled else message)

    def _revert(self) -> HttpResponse:
        title = _("Revert: %(title)s") % {"title": self.release.title}
        made = Releases.current().revert(self._id, title=title, by=self.caller)
        for message in first_of([_left_alone(conflict) for conflict in made.conflicts], MAX_MESSAGES):
            self.tell(message)
        message = _("This draft undoes the release. Nothing has changed yet: look at it, then publish it.")
        return self.go(of_release(made.release), message)

    def _save(self) -> HttpResponse:
        typed = self.request.POST
        Releases.current().change(
            self._id,
            title=typed.get("title", ""),
            description=typed.get("description", ""),
            by=self.caller,
            expect=self._expected,
        )
        return self._again(_("Saved."))

    def _take_newer(self) -> HttpResponse:
        kind, resource_id = self._named
        item = {
            "resource": {"kind": kind, "id": resource_id},
            "versionId": self.request.POST.get("version", ""),
        }
        Releases.current().add_items(self._id, [item], by=self.caller, expect=self._expected)
        return self._again(_("The release now publishes the newer version."))

    def _remove(self) -> HttpResponse:
        Releases.current().remove_item(self._id, *self._named, by=self.caller, expect=self._expected)
        return self._again(_("Removed from the release. Nothing else has changed."))

    def _delete(self) -> HttpResponse:
        Releases.current().delete(self._id, by=self.caller, expect=self._expected)
        return self.go(self.address("releases"), _("The release is deleted. What was in it stays as it is."))

    @property
    def _id(self) -> str:
        """The id of the release, once access is checked: it belongs to this workspace."""
        return str(self.release.pk)

    @property
    def _expected(self) -> set[str]:
        return {self.request.POST.get("tag", "")}

    @property
    def _named(self) -> tuple[str, str]:
        """The kind and the id of the resource of a button."""
        kind, _colon, resource_id = self.request.POST.get("item", "").partition(":")
        if kind not in KINDS_BY_SLUG:
            raise NotFound
        return kind, resource_id

    def _forget(self) -> None:
        self.__dict__.pop("release", None)

    def _again(self, message: str, *, level: int = messages.SUCCESS) -> HttpResponse:
        return self.go(of_release(self.release), message, level=level)


def _by_item(problems: Sequence[Problem]) -> dict[tuple[str, str], list[str]]:
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for problem in problems:
        if problem.resource is not None:
            found[problem.resource.kind, problem.resource.resource_id] += problem_in_words(problem)
    return dict(found)


def _left_alone(conflict: ItemNow) -> str:
    """Return the sentence about an item that was replaced by another version since."""
    message = _("“%(name)s” is left as it is: something else has gone live since the release.")
    return message % {"name": resource_name(conflict.kind, conflict.resource_id)}
