"""Publishing chosen drafts of both kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.bulk.base import BulkPage, ChosenResource
from studio.publishing.drafts import Draft, Texts, changes_of, refusals_of
from versioning.domain.access import Caller
from versioning.domain.errors import EditConflict
from versioning.editor.bulk import Choice, Outcome, publish_chosen
from versioning.editor.catalog import Wanted


class PublishChosenPage(BulkPage):
    """Shows what would go live, and publishes exactly these versions, independently."""

    ask_template = "studio/bulk/publish.html"
    report_template = "studio/bulk/published.html"

    def question(self, count: int) -> str:
        """Return the question whether to publish this many."""
        return ngettext("Publish %(count)s draft?", "Publish %(count)s drafts?", count) % {"count": count}

    def result(self, done: int, refused: int) -> str:
        """Return how many are live now, and how many are not."""
        if not refused:
            return ngettext("%(done)s published", "%(done)s published", done) % {"done": done}
        return _("%(done)s published, %(refused)s not") % {"done": done, "refused": refused}

    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why a draft cannot be published as it was seen."""
        if choice.version_id == draft.resource.active_id:
            return _("It is already live.")
        if choice.version_id != draft.resource.current.version_id:
            return _("It has been saved again since you looked. Look at the newer draft first.")
        if not draft.may_publish:
            return _("You may not publish in its workspace.")
        return draft.hindrance

    def judged(self, resources: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the drafts with what the gate says to them."""
        drafts = [
            resource.draft for resource in resources if resource.draft is not None and not resource.obstacle
        ]
        self._texts = Texts(drafts)
        refused = refusals_of(drafts, self._texts, self.caller)
        return [
            replace(
                resource,
                obstacle=resource.obstacle
                or refused.get((resource.choice.kind.slug, resource.choice.id), ""),
            )
            for resource in resources
        ]

    def detailed(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the drafts with what would change."""
        return with_changes(offered, self.caller, self._texts)

    def narrow(self, wanted: Wanted) -> Wanted:
        """Filter the list to waiting drafts."""
        return Wanted(wanted, waiting=True)

    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        return publish_chosen(self.editor.collection, choices, by=self.caller)

    def after(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Return the drafts that changed since they were shown, as they are now."""
        changed = [outcome.choice for outcome in outcomes if isinstance(outcome.error, EditConflict)]
        found = self._drafts(changed)
        newest = [
            replace(one, version_id=draft.newest.version_id, etag=None)
            for one in changed
            if (draft := found.get((one.kind.slug, one.id))) is not None
        ]
        again = [one for one in self.judged(self._resources(newest)) if not one.obstacle]
        return {"again": self.detailed(again)}


def with_changes(
    offered: Sequence[ChosenResource], caller: Caller, texts: Texts | None = None
) -> list[ChosenResource]:
    """Return chosen drafts with what publishing each would change; ticked are those that are shown whole."""
    drafts = [one.draft for one in offered if one.draft is not None]
    changes = changes_of(drafts, texts or Texts(drafts), caller)
    shown = [(one, changes[one.choice.kind.slug, one.choice.id]) for one in offered]
    return [replace(one, changes=own, is_chosen=own.is_whole) for one, own in shown]
