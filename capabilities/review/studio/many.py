"""Requesting reviews of chosen versions, one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.review.models import MAX_TEXT, Review
from capabilities.review.reviews import Reviews
from capabilities.review.studio.pages import ReviewsPage, people_to_ask, reviewers_in
from studio.bulk import AskForm, BulkPage, ChosenResource, with_changes
from studio.forms.inputs import typed_text
from studio.publishing.drafts import Draft
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.agents import Notice
from versioning.domain.errors import EditConflict
from versioning.editor.bulk import BulkOutcome, ChosenVersion, change_chosen
from versioning.editor.collection import Collection
from versioning.editor.locking import current_state
from versioning.serving.grants import target_of


class AskForManyPage(BulkPage):
    """Shows a form for a message and people, and requests a review of each of the chosen versions.

    The people are members of one workspace, so each workspace has its own form.
    """

    ask_template = "review/ask_many.html"
    report_template = "review/asked_many.html"
    spans_workspaces = False

    def question(self, count: int) -> str:
        """Return the question whether to request this many reviews."""
        words = ngettext("Ask for %(count)s review", "Ask for %(count)s reviews", count)
        return words % {"count": count}

    def result(self, done: int, refused: int) -> str:
        """Return the number of requested reviews, and of refused ones."""
        words = ngettext("Asked for %(count)s review", "Asked for %(count)s reviews", done) % {"count": done}
        return _("%(asked)s, %(refused)s not") % {"asked": words, "refused": refused} if refused else words

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        """Return why a review of a version cannot be requested as it was seen."""
        if choice.version_id == draft.resource.active_id:
            return _("It is already live.")
        if choice.version_id != draft.resource.current.version_id:
            return _("It has been saved again since you looked. Look at the newer draft first.")
        if not self.caller.may(Right.SAVE, draft.resource.workspace_id):
            return _("You may not ask for reviews in its workspace.")
        if (choice.kind.slug, choice.id) in self._reviewed:
            return _("It already has an open review.")
        return ""

    def _drafts(self, choices: Sequence[ChosenVersion]) -> dict[tuple[str, str], Draft]:
        """Return the chosen resources, and note which of them have an open review, in one more query."""
        drafts = super()._drafts(choices)
        code = get_editor().code
        targets = [target_of(draft.resource, code) for draft in drafts.values()]
        self._reviewed = {(kind, resource_id) for kind, resource_id, _ in Review.objects.open_about(targets)}
        return drafts

    def describe(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the drafts with their changes; all are ticked, because nothing goes live."""
        return [replace(offer, is_chosen=True) for offer in with_changes(offered, self.caller)]

    def about_form(self, form: AskForm) -> dict[str, Any]:
        """Return the members who can be asked."""
        return people_to_ask(form.workspace_id, reviewers_in(self.request.POST), self.caller.username)

    def act(self, choices: Sequence[ChosenVersion]) -> list[BulkOutcome]:
        """Request the reviews."""
        message, people = typed_text(self.request, "message"), reviewers_in(self.request.POST)

        def ask(collection: Collection[Any], choice: ChosenVersion, by: Caller) -> Sequence[Notice]:
            resource = collection.find(choice.id, by=by)
            if choice.etag is not None and choice.etag != resource.etag:
                raise EditConflict(current_state(resource))
            Reviews.current().ask(
                choice.kind.slug,
                choice.id,
                version_id=choice.version_id,
                message=message,
                reviewers=people,
                by=by,
            )
            return ()

        return change_chosen(self.editor.collection, choices, ask, by=self.caller)

    def more(self) -> dict[str, Any]:
        """Return the input."""
        return {"message": self.request.POST.get("message", ""), "max_text": MAX_TEXT}


urlpatterns = [
    path("reviews/", ReviewsPage.as_view(), name="reviews"),
    path("reviews/ask/", AskForManyPage.as_view(), name="ask_for_reviews"),
]
