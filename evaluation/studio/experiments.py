"""The experiments over a dataset, and a form that starts one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from evaluation.experiments.models import MAX_NAME, Experiment, Outcome
from evaluation.experiments.pinning import Target, target_digest
from evaluation.experiments.presenting import ShownExperiment, shown
from evaluation.experiments.schemas import MAX_ATTEMPTS
from evaluation.experiments.starting import PUBLISHED_BASELINE, Plan, planned
from evaluation.experiments.verbs import Experiments
from evaluation.studio.base import DatasetPage
from evaluation.studio.choices import agent_choices, scorer_choices
from studio.translation import translated
from studio.workspaces.forms import add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Forbidden, Invalid, Message, NotFound, VersioningError

PER_PAGE: Final = 25
STATES: Final[dict[str, Promise]] = {
    "pending": pgettext_lazy("experiment", "waiting"),
    "running": pgettext_lazy("experiment", "running"),
    Outcome.COMPLETE: pgettext_lazy("experiment", "complete"),
    Outcome.CANCELLED: pgettext_lazy("experiment", "cancelled"),
    Outcome.TOO_MANY_ERRORS: gettext_lazy("stopped: too many errors"),
    Outcome.OVER_BUDGET: gettext_lazy("stopped: its limit is reached"),
    Outcome.EXPIRED: pgettext_lazy("experiment", "expired"),
}
_NAMES: Final = {"targetId": "agent", "selector": "version", "scorerIds": "scorers"}
"""Maps members of the API to form fields."""


@dataclass(frozen=True)
class Line:
    """An experiment, as pages show it."""

    shown: ShownExperiment
    address: str

    @property
    def row(self) -> Experiment:
        """The experiment itself."""
        return self.shown.row

    @property
    def title(self) -> str:
        """Its name; of one without a name what it is about."""
        return self.row.name or self.row.target_id or self.row.pk

    @property
    def state(self) -> Promise:
        """How far it is, or how it ended."""
        return STATES[self.row.outcome or self.row.status]

    @property
    def over(self) -> int:
        """How many answers need not be waited for."""
        return self.row.cells_count - self.row.queued_count

    @property
    def pass_rate(self) -> str:
        """What passes by the primary scorer, with how sure that is; empty before anything is scored."""
        primary = next((one.scorer_id for one in self.shown.scorers if one.is_primary), None)
        found = next((one for one in self.shown.summary if one["scorerId"] == primary), None)
        if found is None or found["passRate"] is None:
            return ""
        low, high = found["interval"]
        numbers = {"rate": found["passRate"], "low": low, "high": high}
        return _("%(rate)d %% (between %(low)d and %(high)d %%)") % {
            name: round(100 * share) for name, share in numbers.items()
        }


class ExperimentsPage(DatasetPage):
    """The experiments over a dataset, newest first; the page updates itself."""

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        self.listen({"workspace_id": self.workspace_id})
        found = Experiments.list(dataset_id=self.dataset_id, by=self.caller).order_by("-created_at", "pk")
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        return self.page(
            "evaluation/experiments.html",
            title=_("Experiments over %(name)s") % {"name": self.dataset.name},
            page=page,
            lines=[Line(one, self.experiment_address(one.row.pk)) for one in shown(page.object_list)],
            start_address=self.own_address("start_experiment"),
        )


class StartForm(forms.Form):
    """What is asked, and how often."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME, required=False)
    agent = forms.ChoiceField(label=gettext_lazy("Agent"))
    version = forms.ChoiceField(
        label=gettext_lazy("Its version"),
        choices=[
            ("draft", gettext_lazy("the latest draft")),
            ("published", gettext_lazy("what is published")),
        ],
    )
    baseline = forms.ChoiceField(
        label=gettext_lazy("Compare with"),
        choices=[("", gettext_lazy("nothing")), (PUBLISHED_BASELINE, gettext_lazy("what is published"))],
        required=False,
        help_text=gettext_lazy("It is asked the same, so it takes as many answers again."),
    )
    attempts = forms.IntegerField(
        label=gettext_lazy("Attempts for each item"), min_value=1, max_value=MAX_ATTEMPTS, initial=1
    )
    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        required=False,
        help_text=gettext_lazy("The first one decides. Without any, those of the dataset or of the agent."),
    )

    @property
    def request(self) -> dict[str, Any]:
        """The request for the experiment, as over REST."""
        given = self.cleaned_data
        more = {"scorerIds": given["scorers"], "baseline": given["baseline"], "name": given["name"]}
        return {
            "targetType": "agent",
            "targetId": given["agent"],
            "selector": {"status": given["version"]},
            "attempts": given["attempts"],
            **{name: value for name, value in more.items() if value},
        }


class StartPage(DatasetPage):
    """Starts an experiment, and says before how much that is."""

    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show the form."""
        initial = {"agent": request.GET.get("agent"), "scorers": self.dataset.settings.get("scorerIds", [])}
        return self.show(self._form(initial=initial))

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Say how much it is; once that was said, start it."""
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        verbs = Experiments.current()
        try:
            plan = planned(verbs, self.dataset_id, form.request, by=self.caller)
            _refuse_the_same(plan)
            cells = _cells(plan, form.request["attempts"])
            if request.POST.get("cells") != str(cells):
                return self.show(form, cells=cells, plan=plan)
            started = verbs.start(self.dataset_id, form.request, by=self.caller).experiment
        except (Forbidden, NotFound):
            raise
        except Invalid as error:
            add_errors(form, error, **_NAMES)
        except VersioningError as error:
            form.add_error(None, translated(error.message))
        else:
            return self.go(self.experiment_address(started.pk))
        return self.show(form, status=400)

    def _form(self, data: Any = None, **more: Any) -> StartForm:
        form = StartForm(data, **more)
        held = self.dataset.settings.get("scorerIds", ())
        offered = {
            "agent": agent_choices(self.workspace.pk, self.caller),
            "scorers": scorer_choices(self.workspace.pk, self.caller, held=held),
        }
        for name, choices in offered.items():
            form.fields[name].choices = choices  # type: ignore[attr-defined]
        return form

    def show(self, form: StartForm, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/start.html",
            title=_("New experiment over %(name)s") % {"name": self.dataset.name},
            status=status,
            form=form,
            attempts=form["attempts"].value(),
            back_address=self.own_address("experiments"),
            **more,
        )


def _cells(plan: Plan, attempts: int) -> int:
    """Return how many answers a plan asks for, those of a new baseline included."""
    return plan.items * attempts * (2 if isinstance(plan.baseline, Target) else 1)


def _refuse_the_same(plan: Plan) -> None:
    """Raise `Invalid` for a baseline that is what is compared with it."""
    locks = [plan.target.lock, plan.baseline.lock if isinstance(plan.baseline, Target) else None]
    digests = [target_digest(lock) for lock in locks if lock is not None]
    if len(digests) > 1 and len(set(digests)) == 1:
        raise Invalid.field("baseline", Message("is the same: there is nothing to compare"))
