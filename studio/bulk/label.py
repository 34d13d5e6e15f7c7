"""Setting a label on chosen resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.bulk.base import BulkPage
from studio.publishing.drafts import Draft
from versioning.editor.bulk import Choice, Outcome
from versioning.editor.bulk_changes import label_chosen


class LabelChosenPage(BulkPage):
    """Asks for a label and which versions get it, and sets it on each independently."""

    ask_template = "studio/bulk/label.html"
    report_template = "studio/bulk/labelled.html"

    def question(self, count: int) -> str:
        """Return the question which label this many resources get."""
        return ngettext("Label %(count)s resource", "Label %(count)s resources", count) % {"count": count}

    def result(self, done: int, refused: int) -> str:
        """Return how many have the label now, and how many do not."""
        if not refused:
            return ngettext("%(done)s labelled", "%(done)s labelled", done) % {"done": done}
        return _("%(done)s labelled, %(refused)s not") % {"done": done, "refused": refused}

    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why a resource cannot be labelled."""
        return "" if draft.may_publish else _("You may not set labels in its workspace.")

    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Set the label."""
        return label_chosen(
            self.editor.collection, choices, self._given["label"], live=self._given["live"], by=self.caller
        )

    def more(self) -> dict[str, Any]:
        """Return the input."""
        return self._given

    @property
    def _given(self) -> dict[str, Any]:
        return {
            "label": self.request.POST.get("label", "").strip(),
            "live": self.request.POST.get("which") == "live",
        }
