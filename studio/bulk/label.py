"""Setting a label on chosen resources, and changing their tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from editor_client.shared.tags import listed_in

from studio.bulk.base import BulkPage
from studio.publishing.drafts import Draft
from versioning.domain.access import Right
from versioning.domain.errors import Invalid
from versioning.editor.bulk import Choice, Outcome
from versioning.editor.bulk_changes import label_chosen, tag_chosen


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


class TagChosenPage(BulkPage):
    """Asks which tags to add and to remove, and changes each resource independently."""

    ask_template = "studio/bulk/tag.html"
    report_template = "studio/bulk/tagged.html"

    def question(self, count: int) -> str:
        """Return the question which tags this many resources get."""
        return ngettext("Tag %(count)s resource", "Tag %(count)s resources", count) % {"count": count}

    def result(self, done: int, refused: int) -> str:
        """Return for how many the tags have changed, and for how many not."""
        if not refused:
            return ngettext("%(done)s tagged", "%(done)s tagged", done) % {"done": done}
        return _("%(done)s tagged, %(refused)s not") % {"done": done, "refused": refused}

    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why the tags of a resource cannot be changed."""
        may = self.caller.may(Right.SAVE, draft.resource.workspace_id)
        return "" if may else _("You may not change its tags.")

    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Change the tags; raises `Invalid` if the input is empty."""
        add, remove = (listed_in(self.request.POST.get(name, "")) for name in ("add", "remove"))
        if not add and not remove:
            raise Invalid.field("add", "must name a tag")
        return tag_chosen(self.editor.collection, choices, add=add, remove=remove, by=self.caller)

    def more(self) -> dict[str, Any]:
        """Return the input."""
        return {name: self.request.POST.get(name, "") for name in ("add", "remove")}
