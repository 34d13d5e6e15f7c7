"""What scores the items of a dataset: scorers that there are, or a simple one that is made at once."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.choices import offer, scorer_choices
from studio.kinds import KINDS_BY_SLUG
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import IdTaken, NotFound, VersioningError


@dataclass(frozen=True, kw_only=True)
class Simple:
    """A scorer that needs nothing but good answers."""

    id: str
    name: Promise
    says: Promise
    config: Config


_TRUTH: Final = "{{groundTruth}}"
SIMPLE: Final = {
    one.id: one
    for one in (
        Simple(
            id="contains-good-answer",
            name=gettext_lazy("Contains the good answer"),
            says=gettext_lazy("An answer passes if it contains the good answer."),
            config={"type": "contains", "config": {"values": [_TRUTH], "ignoreCase": True}},
        ),
        Simple(
            id="equals-good-answer",
            name=gettext_lazy("Equals the good answer"),
            says=gettext_lazy("An answer passes if it is the good answer, in upper or lower case."),
            config={"type": "equals", "config": {"value": _TRUTH, "ignoreCase": True}},
        ),
        Simple(
            id="words-of-good-answer",
            name=gettext_lazy("Has the words of the good answer"),
            says=gettext_lazy("An answer passes if it shares most of its words with the good answer."),
            config={"type": "similarity", "config": {"value": _TRUTH, "algorithm": "tokens"}},
        ),
    )
}


class ScorersForm(forms.Form):
    """The scorers of a dataset."""

    scorers = forms.MultipleChoiceField(label=gettext_lazy("Scorers"), required=False)


class ScorersPage(DatasetPage):
    """Chooses the scorers of a dataset, or makes a simple one."""

    page_of_dataset = "dataset_scorers"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show what there is."""
        return self.show(self._form(initial={"scorers": self.held}))

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Keep the chosen ones, or make one."""
        simple = SIMPLE.get(request.POST.get("make", ""))
        if simple is not None:
            return self._make(simple)
        if "make" in request.POST:
            raise NotFound
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        self._keep(form.cleaned_data["scorers"])
        return self.go(self.own_address(), _("Scorers saved."))

    def _make(self, simple: Simple) -> HttpResponse:
        """Make a scorer, publish it where that is possible, and let it score the items."""
        name = str(simple.name)
        if simple.id in dict(scorer_choices(self.workspace.pk, self.caller)):
            self._keep(list(dict.fromkeys([*self.held, simple.id])))
            return self.go(self.own_address(), _("“%(name)s” scores the items now.") % {"name": name})
        made = self._created({**simple.config, "name": name}, simple.id)
        scorer, message = made.resource, _("“%(name)s” scores the items now.")
        if self.may(Right.PUBLISH):
            try:
                self._scorers.publish(scorer.pk, made.version.version_id, by=self.caller)
            except VersioningError:  # such as by a review policy: then it stays a draft
                message = _("“%(name)s” scores the items now. A gate counts it once it is published.")
        self._keep([*self.held, scorer.pk])
        return self.go(self.own_address(), message % {"name": name})

    def _created(self, config: Config, scorer_id: str) -> Any:
        create = self._scorers.create
        more = {"workspace": self.workspace.pk, "publish": False, "by": self.caller}
        try:
            return create(config, id=scorer_id, **more)
        except IdTaken:  # in another workspace
            return create(config, id=f"{scorer_id}-{token_hex(3)}", **more)

    def _keep(self, ids: list[str]) -> None:
        Datasets.current().change(self.dataset_id, {"scorerIds": ids or None}, by=self.caller)

    @property
    def _scorers(self) -> Any:
        return self.editor.collection(SCORER)

    def _form(self, data: Any = None, **more: Any) -> ScorersForm:
        form = ScorersForm(data, **more)
        offer(form, scorers=self.scorer_choices())
        return form

    def show(self, form: ScorersForm, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/scorers.html",
            title=_("Choose a scorer"),
            status=status,
            form=form,
            simple=SIMPLE.values(),
            add_address=f"{KINDS_BY_SLUG[SCORER.slug].address('add')}?workspace={self.workspace.pk}",
        )
