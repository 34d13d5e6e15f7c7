"""Publishing together with one click: a release is made of what was chosen, and published."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from releases.rules import ReleaseBlocked
from releases.studio.addresses import of_release
from releases.studio.verbs import items_of, releases
from releases.studio.words import title_for
from studio.publishing.drafts import Draft, drafts_by_id
from studio.publishing.obstacles import reasons
from studio.resources.chosen import FIELD, chosen
from studio.views import StudioPage, way_back
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.bulk import Choice


class PublishTogetherPage(StudioPage):
    """Publishes exactly the versions that the page before has shown, all of them or none."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Lead back: there is nothing to publish without a choice, which only a form can send."""
        return self.go(reverse("admin:waiting"))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Publish them and show the release; what the gate refuses stays a draft, which says why."""
        choices = chosen(request.POST)
        if not choices:
            return self._back(_("Nothing was chosen."))
        found = drafts_by_id({(choice.kind.word, choice.id) for choice in choices}, self.caller)
        drafts = [found.get((choice.kind.word, choice.id)) for choice in choices]
        there = [draft for draft in drafts if draft is not None]
        if len(there) < len(drafts):
            raise NotFound
        for choice, draft in zip(choices, there, strict=True):
            if has_changed(choice, draft):
                said = _("Nothing was published: “%(name)s” was changed since you looked. Look at it again.")
                return self._back(said % {"name": draft.row.summary.name})
        try:
            return self._publish(choices, there)
        except Invalid as error:
            return self._back(" ".join(reasons(error)))

    def _publish(self, choices: Sequence[Choice], drafts: Sequence[Draft]) -> HttpResponse:
        workspace_id = workspace_of(drafts)
        self.caller.require(Right.PUBLISH, workspace_id)
        title = title_for([draft.row.summary.name for draft in drafts])
        made = releases().create(workspace_id, title=title, items=items_of(choices), by=self.caller)
        try:
            releases().publish(str(made.pk), by=self.caller)
        except ReleaseBlocked:
            said = _(
                "Nothing was published. The release is kept as a draft, and says what stands in the way."
            )
            return self.go(of_release(made), said, level=messages.ERROR)
        said = ngettext("%(count)s version is live.", "%(count)s versions went live together.", len(choices))
        return self.go(of_release(made), said % {"count": len(choices)})

    def _back(self, said: str) -> HttpResponse:
        return self.go(way_back(self.request, reverse("admin:waiting")), said, level=messages.ERROR)


def has_changed(choice: Choice, draft: Draft) -> bool:
    """Say whether somebody has changed a resource since the page with the choice was opened."""
    if choice.tag is not None:
        return choice.tag != draft.resource.tag
    return choice.version_id != draft.resource.latest_id


def workspace_of(drafts: Sequence[Draft]) -> str:
    """Return the id of the workspace of what was chosen; raises `Invalid` if that are several."""
    found = {draft.resource.workspace_id for draft in drafts}
    if len(found) > 1:
        raise Invalid.field(
            FIELD, _("A release holds resources of one workspace, and you chose some of several")
        )
    return found.pop()
