"""Publishing chosen drafts of both kinds."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.bulk.base import BulkPage
from studio.publishing.drafts import Draft
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
            return _("It is live already.")
        if choice.version_id != draft.resource.latest_id:
            return _("It was saved again since you looked. Look at the newer draft first.")
        if not draft.may_publish:
            return _("You may not publish in its workspace.")
        return draft.hindrance

    def narrow(self, wanted: Wanted) -> Wanted:
        """Filter the list to waiting drafts."""
        return Wanted(wanted, waiting=True)

    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Publish them."""
        return publish_chosen(self.editor.collection, choices, by=self.caller)
