"""Publishing together: after confirmation, a release of the chosen resources is created and published."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext

from capabilities.releases.rules import ReleaseBlocked
from capabilities.releases.studio.choosing import as_chosen, items_of
from capabilities.releases.studio.links import of_release
from capabilities.releases.studio.wording import title_for
from capabilities.releases.verbs import Releases
from studio.bulk import ChosenPage, ChosenResource, with_changes
from studio.publishing.drafts import Draft
from studio.resources.rows import FIELD
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.bulk import Choice


class PublishTogetherPage(ChosenPage):
    """Shows what would go live, and publishes exactly these versions, all of them or none."""

    ask_template = "releases/together_ask.html"
    spans_workspaces = False

    def question(self, count: int) -> str:
        """Return the question whether to publish this many."""
        words = npgettext("together", "Publish %(count)s draft?", "Publish %(count)s drafts together?", count)
        return words % {"count": count}

    def _drafts(self, choices: Sequence[Choice]) -> dict[tuple[str, str], Draft]:
        """Return the chosen resources, each with the chosen version, which need not be the newest."""
        return as_chosen(super()._drafts(choices), choices, self.caller)

    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why a version cannot be published as it was seen; the release reports missing reviews."""
        if choice.version_id == draft.resource.active_id:
            return _("It is already live.")
        if has_changed(choice, draft):
            return _("It has changed since you looked. Look at it again first.")
        return "" if draft.may_publish else _("You may not publish in its workspace.")

    def detailed(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the drafts with what would change."""
        return with_changes(offered, self.caller)

    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Publish them and show the release; if the gate refuses it, it stays a draft with the reasons."""
        found = self._drafts(choices)
        if any((choice.kind.slug, choice.id) not in found for choice in choices):
            raise NotFound
        drafts = [found[choice.kind.slug, choice.id] for choice in choices]
        for choice, draft in zip(choices, drafts, strict=True):
            if has_changed(choice, draft):
                message = _(
                    "Nothing was published: “%(name)s” has changed since you looked. Look at it again."
                )
                message = message % {"name": draft.row.summary.name}
                return self.go(self.back_address, message, level=messages.ERROR)
        workspace_id = workspace_of(drafts)
        self.caller.require(Right.PUBLISH, workspace_id)
        title = title_for([draft.row.summary.name for draft in drafts])
        made = Releases.current().create(workspace_id, title=title, items=items_of(choices), by=self.caller)
        try:
            Releases.current().publish(str(made.pk), by=self.caller)
        except ReleaseBlocked:
            message = _(
                "Nothing was published. The release is kept as a draft, and says what stands in the way."
            )
            return self.go_on(of_release(made), message, level=messages.ERROR)
        message = ngettext(
            "%(count)s version is live.", "%(count)s versions went live together.", len(choices)
        )
        return self.go_on(of_release(made), message % {"count": len(choices)})


def has_changed(choice: Choice, draft: Draft) -> bool:
    """Return whether a resource was changed since the page with the choice was opened."""
    if choice.etag is not None:
        return choice.etag != draft.resource.etag
    return choice.version_id != draft.resource.current.version_id


def workspace_of(drafts: Sequence[Draft]) -> str:
    """Return the workspace of the chosen resources; raises `Invalid` if there are several."""
    found = {draft.resource.workspace_id for draft in drafts}
    if len(found) > 1:
        raise Invalid.field(
            FIELD, _("A release holds resources of one workspace, and you chose resources of several")
        )
    return found.pop()
