"""Adding chosen versions to an open release, or to a new one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.releases.automatic import automatic_among, changeable
from capabilities.releases.items import is_file
from capabilities.releases.models import Release
from capabilities.releases.models.releases import MAX_TITLE, State
from capabilities.releases.studio.choosing import as_chosen, items_of
from capabilities.releases.studio.links import of_release
from capabilities.releases.studio.publish_many import workspace_of
from capabilities.releases.studio.wording import title_for
from capabilities.releases.verbs import Releases
from studio.bulk import ChosenPage
from studio.kinds import KINDS_BY_SLUG
from studio.publishing.drafts import Draft
from studio.resources.rows import chosen
from versioning.domain.access import Right
from versioning.domain.errors import NotFound
from versioning.editor.bulk import Choice
from versioning.models.querysets import within

MAX_OFFERED: Final = 100
"""The maximum number of open releases on the page, newest first."""


class AddPage(ChosenPage):
    """Asks for a release, and adds exactly the chosen versions."""

    ask_template = "releases/add.html"
    spans_workspaces = False

    def get(self, request: HttpRequest) -> HttpResponse:
        """Ask about the version in the address; without one, redirect back."""
        choices = chosen(request.GET)
        return self.ask(choices) if choices else super().get(request)

    def question(self, count: int) -> str:
        """Return the question to which release to add this many."""
        words = ngettext("Add %(count)s version to a release", "Add %(count)s versions to a release", count)
        return words % {"count": count}

    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why a resource cannot be in a release."""
        if not self.caller.may(Right.SAVE, draft.resource.workspace_id):
            return _("You may not prepare releases in its workspace.")
        if is_file(self.editor, draft.resource):
            return _("Its override is kept as a file, which no release can publish.")
        return ""

    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Add them to the chosen release, or create one."""
        found = self._drafts(choices)
        drafts = [found[choice.kind.slug, choice.id] for choice in choices if self._is_in(found, choice)]
        if len(drafts) < len(choices):
            raise NotFound
        workspace_id = workspace_of(drafts)
        wanted, items = self.request.POST.get("release", ""), items_of(choices)
        if wanted:
            release = Releases.current().add_items(wanted, items, by=self.caller)
        else:
            title = self.request.POST.get("title", "").strip()
            title = title or title_for([draft.row.summary.name for draft in drafts])
            release = Releases.current().create(workspace_id, title=title, items=items, by=self.caller)
        message = _("Added to “%(release)s”. Nothing in it is published yet.") % {"release": release.title}
        return self.go_on(of_release(release), message)

    def more(self) -> dict[str, Any]:
        """Return the open releases, and the input."""
        typed = self.request.POST
        return {
            "releases": self.offered,
            "release": typed.get("release"),
            "title_typed": typed.get("title", ""),
            "max_title": MAX_TITLE,
        }

    @cached_property
    def offered(self) -> list[Release]:
        """The open releases that the caller may change."""
        drafts = Releases.current().list(state=State.DRAFT, by=self.caller)
        newest = drafts.filter(within("workspace_id", self.caller.scope(Right.SAVE)))[:MAX_OFFERED]
        scheduled = automatic_among(newest)
        return [one for one in changeable(newest, self.caller) if one.pk not in scheduled]

    @property
    def back_address(self) -> str:
        """The list, or the page of the resource whose menu led here."""
        named = chosen(self.request.GET)
        if "next" in self.request.POST or not named:
            return super().back_address
        return KINDS_BY_SLUG[named[0].kind.slug].address("change", named[0].id)

    def _drafts(self, choices: Sequence[Choice]) -> dict[tuple[str, str], Draft]:
        """Return the chosen resources, each with the chosen version, which need not be the newest."""
        return as_chosen(super()._drafts(choices), choices, self.caller)

    @staticmethod
    def _is_in(found: dict[tuple[str, str], Draft], choice: Choice) -> bool:
        return (choice.kind.slug, choice.id) in found
