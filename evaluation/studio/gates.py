"""The gates of a workspace: a list, and a form for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.intervals import wilson

from evaluation.datasets.verbs import Datasets
from evaluation.gates.models import Bypass, Gate
from evaluation.gates.schemas import MAX_ATTEMPTS, MAX_DAYS
from evaluation.gates.verbs import Gates
from evaluation.studio.choices import agent_choices, scorer_choices
from studio.workspaces.base import WorkspacePage
from studio.workspaces.forms import add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, NotFound

PER_PAGE: Final = 50
WIDE: Final = 0.2
"""A pass rate of few items is known so badly that a page says so."""
KEPT: Final = "kept"
RULES: Final[dict[str, Promise]] = {
    "notWorse": gettext_lazy("it is not found to be worse than what is live"),
    "nonInferior": gettext_lazy("it is shown to be at most the number worse than what is live"),
    "noNewFailures": gettext_lazy("nothing fails that passes with what is live"),
    "allPass": gettext_lazy("every item passes, in every attempt"),
    "passRate": gettext_lazy("at least the number, in per cent, of the items passes"),
    "maxTokens": gettext_lazy("it takes at most the number times the tokens of what is live"),
}
NUMBERS: Final = {"nonInferior": "margin", "passRate": "min", "maxTokens": "ratio"}
"""The rules with a number, and its member."""
PERCENT: Final = 100
BYPASSES: Final = {
    Bypass.ADMIN: gettext_lazy("admins, with a reason"),
    Bypass.NOBODY: gettext_lazy("nobody"),
}
_NAMES: Final = {"datasetId": "dataset", "scorerIds": "scorers", "primaryScorer": "primary"}
"""Maps members of the API to form fields."""


def warning(gate: Gate) -> str:
    """Return how badly a pass rate of so few items is known; empty if it is known well, or not asked for."""
    asked = [one["min"] for one in gate.rules if one["rule"] == "passRate"]
    items = gate.dataset.items_count
    if not asked or not items:
        return ""
    low, high = wilson(asked[0] * items, items)
    if high - low <= WIDE:
        return ""
    return _(
        "The dataset has %(items)d items. If %(rate)d %% of them pass, the true share lies between %(low)d "
        "and %(high)d %%: so few items say little. A rule that compares with what is live says more."
    ) % {
        "items": items,
        "rate": round(PERCENT * asked[0]),
        "low": round(PERCENT * low),
        "high": round(PERCENT * high),
    }


@dataclass(frozen=True)
class Line:
    """A gate in the list."""

    gate: Gate
    address: str

    @property
    def rules(self) -> list[str]:
        """Its rules in words, with their numbers."""
        return [_in_words(one) for one in self.gate.rules]

    @property
    def warning(self) -> str:
        """What one has to know of its numbers."""
        return warning(self.gate)


def _in_words(rule: Any) -> str:
    number = rule.get(NUMBERS.get(rule["rule"], ""))
    words = str(RULES[rule["rule"]])
    if rule["rule"] == "passRate":
        number = f"{PERCENT * number:g} %"
    more = [f"{one}" for one in (number, rule.get("tag"), rule.get("scorerId")) if one is not None]
    return f"{words} ({', '.join(more)})" if more else words


class GatesPage(WorkspacePage):
    """The gates of a workspace, oldest first."""

    tab = "gates"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show a page of them."""
        found = Gates.list(workspace=self.workspace.pk, by=self.caller)
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        may_write = self.may(Right.PUBLISH)
        return self.page(
            "evaluation/gates.html",
            title=_("Gates"),
            page=page,
            lines=[Line(one, self.address("gate", str(one.pk)) if may_write else "") for one in page],
            add_address=self.address("new_gate") if may_write else "",
        )


class GateForm(forms.Form):
    """What is asked before a version goes live."""

    agent = forms.ChoiceField(label=gettext_lazy("Agent"), required=False)
    dataset = forms.ChoiceField(label=gettext_lazy("Dataset"))
    scorers = forms.MultipleChoiceField(label=gettext_lazy("Scorers"))
    primary = forms.ChoiceField(label=gettext_lazy("The scorer that decides"), required=False)
    attempts = forms.IntegerField(
        label=gettext_lazy("Attempts for each item"), min_value=1, max_value=MAX_ATTEMPTS, initial=1
    )
    rule = forms.ChoiceField(label=gettext_lazy("A version may go live if"), choices=list(RULES.items()))
    number = forms.FloatField(
        label=gettext_lazy("Number"),
        required=False,
        help_text=gettext_lazy("For rules with a number: per cent, points of the score, or times."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days for which evidence is good"), min_value=1, max_value=MAX_DAYS, initial=30
    )
    bypass = forms.ChoiceField(
        label=gettext_lazy("Who may publish without evidence"), choices=list(BYPASSES.items())
    )
    enabled = forms.ChoiceField(
        label=gettext_lazy("Is it asked?"), choices=[("yes", gettext_lazy("yes")), ("no", gettext_lazy("no"))]
    )

    def clean(self) -> dict[str, Any]:
        """Check that a rule with a number has one that is possible."""
        given = self.cleaned_data
        rule, number = given.get("rule"), given.get("number")
        if rule in NUMBERS and "number" in given:
            if number is None:
                self.add_error("number", _("is required for this rule"))
            elif rule == "passRate" and not 0 <= number <= PERCENT:
                self.add_error("number", _("must be from 0 to 100"))
            elif rule != "passRate" and number <= 0:
                self.add_error("number", _("must be greater than 0"))
        return given

    @property
    def fields_of_gate(self) -> dict[str, Any]:
        """The fields of the gate, as its verbs take them."""
        given = self.cleaned_data
        found = {
            "dataset_id": given["dataset"],
            "scorer_ids": given["scorers"],
            "attempts": given["attempts"],
            "evidence_days": given["days"],
            "bypass": given["bypass"],
            "enabled": given["enabled"] == "yes",
        }
        if given["primary"]:
            found["primary_scorer"] = given["primary"]
        if given["rule"] != KEPT:
            found["rules"] = [self._rule()]
        return found

    def _rule(self) -> dict[str, Any]:
        name, number = self.cleaned_data["rule"], self.cleaned_data["number"]
        if name not in NUMBERS:
            return {"rule": name}
        return {"rule": name, NUMBERS[name]: number / PERCENT if name == "passRate" else number}


class NewGatePage(WorkspacePage):
    """A new gate; also the base of the page that changes one."""

    tab = "gates"
    right = Right.PUBLISH

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show the form."""
        return self.show(self.form(initial=self.initial()))

    def post(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Save it, and show the list; after an error, show the form again."""
        form = self.form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            gate = self.save(form)
        except Invalid as error:
            add_errors(form, error, **_NAMES)
            return self.show(form, status=400)
        return self.go(self.address("gates"), warning(gate) or _("Saved."))

    def initial(self) -> dict[str, Any]:
        """What the form shows at first."""
        return {}

    def save(self, form: GateForm) -> Gate:
        """Store the gate; raises `Invalid`."""
        agent_id = form.cleaned_data["agent"] or None
        return Gates.current().create(
            form.fields_of_gate, agent_id=agent_id, workspace=self.workspace.pk, by=self.caller
        )

    def form(self, data: Any = None, **more: Any) -> GateForm:
        """Return the form, with what can be chosen."""
        form = GateForm(data, **more)
        everyone = [("", _("every agent"))] if self.may(Right.ADMINISTER) else []
        found = Datasets.list(workspace=self.workspace.pk, by=self.caller).order_by("name")
        scorers = scorer_choices(self.workspace.pk, self.caller)
        offered = {
            "agent": [*everyone, *agent_choices(self.workspace.pk, self.caller)],
            "dataset": [(str(pk), name) for pk, name in found.values_list("pk", "name")],
            "scorers": scorers,
            "primary": [("", _("the first one")), *scorers],
        }
        for name, choices in offered.items():
            form.fields[name].choices = choices  # type: ignore[attr-defined]
        return form

    def show(self, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        shown = {
            "title": _("New gate"),
            "button": _("Create"),
            "back_address": self.address("gates"),
        }
        return self.page("evaluation/form.html", status=status, form=form, **{**shown, **more})


class GatePage(NewGatePage):
    """Changes a gate."""

    @cached_property
    def gate(self) -> Gate:
        """The gate; raises `NotFound` if it belongs to another workspace."""
        found = Gates.find(self.kwargs["gate"], by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    @property
    def _is_simple(self) -> bool:
        """Whether the form can say its rules."""
        return len(self.gate.rules) == 1 and not self.gate.rules[0].keys() & {"tag", "scorerId"}

    def initial(self) -> dict[str, Any]:
        """The gate as it is."""
        gate, rule = self.gate, self.gate.rules[0]
        number = rule.get(NUMBERS.get(rule["rule"], ""))
        return {
            "dataset": str(gate.dataset_id),
            "scorers": list(gate.scorer_ids),
            "primary": gate.primary_scorer,
            "attempts": gate.attempts,
            "rule": rule["rule"] if self._is_simple else KEPT,
            "number": PERCENT * rule["min"] if rule["rule"] == "passRate" else number,
            "days": gate.evidence_days,
            "bypass": gate.bypass,
            "enabled": "yes" if gate.enabled else "no",
        }

    def save(self, form: GateForm) -> Gate:
        """Change the gate; raises `Invalid`."""
        return Gates.current().change(str(self.gate.pk), form.fields_of_gate, by=self.caller)

    def form(self, data: Any = None, **more: Any) -> GateForm:
        """Return the form, without the agent, which stays; rules that it cannot say can stay as they are."""
        form = super().form(data, **more)
        del form.fields["agent"]
        if not self._is_simple:
            rules = " + ".join(_in_words(one) for one in self.gate.rules)
            form.fields["rule"].choices = [(KEPT, rules), *RULES.items()]  # type: ignore[attr-defined]
        return form

    def show(self, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        names = {"agent": self.gate.agent_id or _("every agent")}
        more = {
            "title": _("The gate of %(agent)s") % names,
            "button": _("Save"),
            "delete_gate_address": self.address("delete_gate", str(self.gate.pk)),
        }
        return super().show(form, status=status, **more)


class DeleteGatePage(GatePage):
    """Asks for confirmation before a gate is deleted."""

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Ask."""
        return self.page(
            "evaluation/ask.html",
            title=_("Delete the gate of %(agent)s?") % {"agent": self.gate.agent_id or _("every agent")},
            sentence=_("Versions go live without this evidence then."),
            button=_("Delete"),
            back_address=self.address("gate", str(self.gate.pk)),
        )

    def post(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Delete it, and show the list."""
        Gates.delete(str(self.gate.pk), by=self.caller)
        return self.go(self.address("gates"), _("The gate is deleted."))
