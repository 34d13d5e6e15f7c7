"""The form that starts an experiment, once it was said what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from editor_client.shared.gates import target_digest

from capabilities.evaluation.experiments.models import MAX_NAME
from capabilities.evaluation.experiments.schemas import MAX_ATTEMPTS
from capabilities.evaluation.experiments.starting import PUBLISHED_BASELINE, Estimate, Plan, Target
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.choices import offer, offer_agents
from capabilities.evaluation.studio.costs import MINUTE, cost_in_words, plan_of
from studio.translation import title_of, translated
from studio.workspaces.forms import add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Forbidden, Invalid, Message, NotFound, VersioningError
from versioning.models import Agent
from versioning.serving.resolution import Resolved

_NAMES: Final = {
    "targetId": "agent",
    "selector": "version",
    "scorerIds": "scorers",
    "primaryScorer": "primary",
}
"""Maps members of the API to form fields."""
_STATUS_CHOICES: Final = (
    ("draft", gettext_lazy("latest draft")),
    ("published", gettext_lazy("live version")),
)
STATUSES: Final = frozenset(status for status, _title in _STATUS_CHOICES)
_PERCENT: Final = 100


class StartForm(forms.Form):
    """What is asked, how often, and what it may use."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME, required=False)
    agent = forms.ChoiceField(label=gettext_lazy("Agent"))
    version = forms.ChoiceField(
        label=gettext_lazy("Version"),
        choices=_STATUS_CHOICES,
    )
    baseline = forms.ChoiceField(
        label=gettext_lazy("Baseline"),
        choices=[("", pgettext_lazy("baseline", "none")), (PUBLISHED_BASELINE, gettext_lazy("live version"))],
        required=False,
        help_text=gettext_lazy("Runs the same items, so it doubles the number of answers."),
    )
    attempts = forms.IntegerField(
        label=gettext_lazy("Attempts for each item"), min_value=1, max_value=MAX_ATTEMPTS, initial=1
    )
    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        required=False,
        help_text=gettext_lazy("If none is selected, the dataset’s or agent’s scorers are used."),
    )
    primary = forms.ChoiceField(label=gettext_lazy("Deciding scorer"), required=False)
    tokens = forms.IntegerField(
        label=gettext_lazy("Token limit"),
        min_value=1,
        required=False,
        help_text=gettext_lazy("Includes tokens used by judges. Remaining items are skipped."),
    )
    minutes = forms.FloatField(label=gettext_lazy("Time limit (minutes)"), min_value=0.1, required=False)
    item_seconds = forms.FloatField(
        label=gettext_lazy("Timeout per answer (seconds)"),
        min_value=1,
        max_value=3600,
        initial=120,
        required=False,
    )
    errors_at_most = forms.FloatField(
        label=gettext_lazy("Stop if more than …% fail"),
        min_value=0,
        max_value=_PERCENT,
        initial=20,
        required=False,
        help_text=gettext_lazy("Counted from the tenth answer on."),
    )
    tools = forms.ChoiceField(
        label=gettext_lazy("Tools without an answer in the item"),
        choices=[
            ("deny", gettext_lazy("are not called: the answer fails")),
            ("allow", gettext_lazy("are called for real")),
        ],
        required=False,
    )

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always seen."""
        return [one for one in self if one.name not in self._LIMITS]

    @property
    def limits(self) -> list[forms.BoundField]:
        """The fields that say what it may use."""
        return [one for one in self if one.name in self._LIMITS]

    @property
    def has_errors_in_limits(self) -> bool:
        """Whether one of these has to be corrected."""
        return any(limit.errors for limit in self.limits)

    _LIMITS: Final = ("tokens", "minutes", "item_seconds", "errors_at_most", "tools")

    @property
    def request(self) -> dict[str, Any]:
        """The request for the experiment, as over REST."""
        given = self.cleaned_data
        limits = {
            "tokens": given["tokens"],
            "seconds": given["minutes"] and given["minutes"] * MINUTE,
            "itemSeconds": given["item_seconds"],
            "errorShare": None if given["errors_at_most"] is None else given["errors_at_most"] / _PERCENT,
        }
        more = {
            "scorerIds": given["scorers"],
            "primaryScorer": given["primary"],
            "baseline": given["baseline"],
            "name": given["name"],
            "unmockedToolPolicy": given["tools"],
        }
        return {
            "targetType": "agent",
            "targetId": given["agent"],
            "selector": {"status" if given["version"] in STATUSES else "versionId": given["version"]},
            "attempts": given["attempts"],
            "limits": {name: value for name, value in limits.items() if value is not None},
            **{name: value for name, value in more.items() if value},
        }


class StartPage(DatasetPage):
    """Starts an experiment, and says before what it costs."""

    page_of_dataset = "experiments"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show the form."""
        initial: dict[str, Any] = {"scorers": self.held}
        initial |= {name: request.GET[name] for name in ("agent", "version") if name in request.GET}
        found = self._version_of(initial)
        if found is not None and found.resource.active_id not in {None, found.version.version_id}:
            initial["baseline"] = PUBLISHED_BASELINE
        return self.show(self._form(initial=initial))

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Say what it costs; once that was said, start it."""
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            plan, cost = plan_of(self.dataset_id, form.request, self.caller)
            _refuse_the_same(plan)
            if request.POST.get("cells") != str(cost.cells):
                return self.show(form, plan=plan, cost=cost, **_said(cost, form.cleaned_data["tokens"]))
            started = Experiments.current().start(self.dataset_id, form.request, by=self.caller).experiment
        except (Forbidden, NotFound):
            raise
        except Invalid as error:
            add_errors(form, error, **_NAMES)
        except VersioningError as error:
            form.add_error(None, translated(error.message))
        else:
            return self.go(self.experiment_address(started.pk))
        return self.show(form, status=400)

    def _version_of(self, chosen: Mapping[str, Any]) -> Resolved[Agent] | None:
        """Return the version that a form names by its id; None for a status, and for unknown versions."""
        agent, version = chosen.get("agent"), chosen.get("version")
        if not agent or not version or version in STATUSES:
            return None
        try:
            return self.editor.agent.version(str(agent), str(version), by=self.caller)
        except (Forbidden, Invalid, NotFound):
            return None

    def _form(self, data: Any = None, **more: Any) -> StartForm:
        form = StartForm(data, **more)
        found = self._version_of(data or more.get("initial") or {})
        if found is not None:
            offer(form, version=[(found.version.version_id, title_of(found.version)), *_STATUS_CHOICES])
        scorers = self.scorer_choices()
        offer_agents(form, self.workspace.pk, self.caller)
        offer(form, scorers=scorers, primary=[("", _("the first one")), *scorers])
        return form

    def show(self, form: StartForm, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/start.html",
            title=_("New experiment on %(name)s") % {"name": self.dataset.name},
            status=status,
            form=form,
            attempts=form["attempts"].value(),
            back_address=self.own_address("experiments"),
            choices_address=self.address("agent_choices"),
            **more,
        )


def _said(cost: Estimate, limit: int | None) -> dict[str, Any]:
    """Return what is said of the cost."""
    return {
        "costs": cost_in_words(cost),
        "is_over_limit": limit is not None and cost.input_tokens + cost.output_tokens > limit,
        "not_scorable": [(scorer, count) for scorer, count in cost.not_scorable.items() if count],
    }


def _refuse_the_same(plan: Plan) -> None:
    """Raise `Invalid` for a baseline that is what is compared with it."""
    locks = [plan.target.lock, plan.baseline.lock if isinstance(plan.baseline, Target) else None]
    digests = [target_digest(lock) for lock in locks if lock is not None]
    if len(digests) > 1 and len(set(digests)) == 1:
        raise Invalid.field("baseline", Message("is the same: there is nothing to compare"))
