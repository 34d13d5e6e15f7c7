"""Publishing chosen resources together, and adding them to a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext

from capabilities.releases.items import is_file
from capabilities.releases.models import MAX_TITLE, Release, ReleaseState
from capabilities.releases.rules import ReleaseBlocked
from capabilities.releases.studio.pages import ReleasesPage, release_url, title_for
from capabilities.releases.verbs import Releases, automatic_among, changeable
from studio.bulk import ChosenPage, ChosenResource, with_changes
from studio.kinds import KINDS_BY_SLUG
from studio.publishing.drafts import Draft
from studio.resources.rows import FIELD, read_choices
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.bulk import ChosenVersion
from versioning.models.querysets import within


def make_items(choices: Iterable[ChosenVersion]) -> Sequence[dict[str, Any]]:
    """Return items that publish exactly the chosen versions."""
    return [
        {"resource": {"kind": choice.kind.slug, "id": choice.id}, "versionId": choice.version_id}
        for choice in choices
    ]


def with_chosen_versions(
    drafts: Mapping[tuple[str, str], Draft], choices: Sequence[ChosenVersion], caller: Caller
) -> dict[tuple[str, str], Draft]:
    """Return chosen resources, each with the chosen version, which need not be the newest."""
    selected = dict(drafts)
    for choice in choices:
        key = choice.kind.slug, choice.id
        if key in selected and choice.version_id != selected[key].resource.current.version_id:
            versions = get_editor().collection(choice.kind)
            selected[key] = selected[key].of(
                versions.version(choice.id, choice.version_id, by=caller).version
            )
    return selected


class PublishTogetherPage(ChosenPage):
    """Shows the changes, and publishes exactly these versions, all or none."""

    ask_template = "releases/together_ask.html"
    spans_workspaces = False

    def question(self, count: int) -> str:
        """Return the question whether to publish this many."""
        words = npgettext("together", "Publish %(count)s draft?", "Publish %(count)s drafts together?", count)
        return words % {"count": count}

    def _drafts(self, choices: Sequence[ChosenVersion]) -> dict[tuple[str, str], Draft]:
        """Return the chosen resources, each with the chosen version, which need not be the newest."""
        return with_chosen_versions(super()._drafts(choices), choices, self.caller)

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        """Return why a version cannot be published as it was seen; the release reports missing reviews."""
        if choice.version_id == draft.resource.active_id:
            return _("It is already live.")
        if has_changed(choice, draft):
            return _("It has changed since you looked. Look at it again first.")
        return "" if draft.may_publish else _("You may not publish in its workspace.")

    def describe(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the drafts with their changes."""
        return with_changes(offered, self.caller)

    def perform(self, choices: Sequence[ChosenVersion]) -> HttpResponse:
        """Publish them and show the release; if the gate refuses it, it stays a draft with the reasons."""
        by_key = self._drafts(choices)
        if any((choice.kind.slug, choice.id) not in by_key for choice in choices):
            raise NotFound
        drafts = [by_key[choice.kind.slug, choice.id] for choice in choices]
        for choice, draft in zip(choices, drafts, strict=True):
            if has_changed(choice, draft):
                message = _(
                    "Nothing was published: “%(name)s” has changed since you looked. Look at it again."
                )
                message = message % {"name": draft.row.summary.name}
                return self.go(self.back_address, message, level=messages.ERROR)
        workspace_id = common_workspace(drafts)
        self.caller.require(Right.PUBLISH, workspace_id)
        title = title_for([draft.row.summary.name for draft in drafts])
        release = Releases.current().create(
            workspace_id, title=title, items=make_items(choices), by=self.caller
        )
        try:
            Releases.current().publish(str(release.pk), by=self.caller)
        except ReleaseBlocked:
            message = _(
                "Nothing was published. The release is kept as a draft, and says what stands in the way."
            )
            return self.go_on(release_url(release), message, level=messages.ERROR)
        message = ngettext(
            "%(count)s version is live.", "%(count)s versions went live together.", len(choices)
        )
        return self.go_on(release_url(release), message % {"count": len(choices)})


def has_changed(choice: ChosenVersion, draft: Draft) -> bool:
    """Return whether a resource was changed since the page with the choice was opened."""
    if choice.etag is not None:
        return choice.etag != draft.resource.etag
    return choice.version_id != draft.resource.current.version_id


def common_workspace(drafts: Sequence[Draft]) -> str:
    """Return the workspace of the chosen resources; raises `Invalid` if there are several."""
    workspaces = {draft.resource.workspace_id for draft in drafts}
    if len(workspaces) > 1:
        raise Invalid.field(
            FIELD, _("A release holds resources of one workspace, and you chose resources of several")
        )
    return workspaces.pop()


MAX_OFFERED: Final = 100
"""The maximum number of open releases on the page, newest first."""


class AddPage(ChosenPage):
    """Asks for a release, and adds exactly the chosen versions."""

    ask_template = "releases/add.html"
    spans_workspaces = False

    def get(self, request: HttpRequest) -> HttpResponse:
        """Ask about the version in the address; without one, redirect back."""
        choices = read_choices(request.GET)
        return self.ask(choices) if choices else super().get(request)

    def question(self, count: int) -> str:
        """Return the question to which release to add this many."""
        words = ngettext("Add %(count)s version to a release", "Add %(count)s versions to a release", count)
        return words % {"count": count}

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        """Return why a resource cannot be in a release."""
        if not self.caller.may(Right.SAVE, draft.resource.workspace_id):
            return _("You may not prepare releases in its workspace.")
        if is_file(self.editor, draft.resource):
            return _("Its override is kept as a file, which no release can publish.")
        return ""

    def perform(self, choices: Sequence[ChosenVersion]) -> HttpResponse:
        """Add them to the chosen release, or create one."""
        by_key = self._drafts(choices)
        drafts = [
            by_key[choice.kind.slug, choice.id]
            for choice in choices
            if ((choice.kind.slug, choice.id) in by_key)
        ]
        if len(drafts) < len(choices):
            raise NotFound
        workspace_id = common_workspace(drafts)
        release_id, items = self.request.POST.get("release", ""), make_items(choices)
        if release_id:
            release = Releases.current().add_items(release_id, items, by=self.caller)
        else:
            title = self.request.POST.get("title", "").strip()
            title = title or title_for([draft.row.summary.name for draft in drafts])
            release = Releases.current().create(workspace_id, title=title, items=items, by=self.caller)
        message = _("Added to “%(release)s”. Nothing in it is published yet.") % {"release": release.title}
        return self.go_on(release_url(release), message)

    def more(self) -> dict[str, Any]:
        """Return the open releases, and the input."""
        form = self.request.POST
        return {
            "releases": self.open_releases,
            "release": form.get("release"),
            "title_typed": form.get("title", ""),
            "max_title": MAX_TITLE,
        }

    @cached_property
    def open_releases(self) -> list[Release]:
        """The open releases that the caller may change."""
        drafts = Releases.current().list(state=ReleaseState.DRAFT, by=self.caller)
        newest = drafts.filter(within("workspace_id", self.caller.scope(Right.SAVE)))[:MAX_OFFERED]
        scheduled = automatic_among(newest)
        return [release for release in changeable(newest, self.caller) if release.pk not in scheduled]

    @property
    def back_address(self) -> str:
        """The list, or the page of the resource whose menu led here."""
        choices = read_choices(self.request.GET)
        if "next" in self.request.POST or not choices:
            return super().back_address
        return KINDS_BY_SLUG[choices[0].kind.slug].address("change", choices[0].id)

    def _drafts(self, choices: Sequence[ChosenVersion]) -> dict[tuple[str, str], Draft]:
        """Return the chosen resources, each with the chosen version, which need not be the newest."""
        return with_chosen_versions(super()._drafts(choices), choices, self.caller)


urlpatterns = [
    path("releases/", ReleasesPage.as_view(), name="releases"),
    path("releases/add/", AddPage.as_view(), name="add_to_release"),
    path("releases/publish/", PublishTogetherPage.as_view(), name="publish_together"),
]
