"""The gates of a workspace: a list, and a form for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django import forms
from django.contrib.admin.utils import quote
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from editor_client.shared import canonical

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.gates.models import LATEST, Gate, TooFew, ToolPolicy
from capabilities.evaluation.gates.verbs import Gates
from capabilities.evaluation.studio.base import held_by
from capabilities.evaluation.studio.choices import (
    offer,
    offer_agents,
    published_scorers,
    scorer_address,
    scorer_choices,
)
from capabilities.evaluation.studio.few_items import FewItems, of_rate
from capabilities.evaluation.studio.gate_form import KEPT, NUMBERS, PERCENT, PINNED, RULES, GateForm, in_words
from studio.named import resource_name
from studio.workspaces.views import WorkspacePage, add_errors
from versioning.domain.access import Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, NotFound
from versioning.models.text_keys import ByName

PER_PAGE: Final = 50
CONDITIONS: Final = {
    "policy": LATEST,
    "context": "",
    "tools": ToolPolicy.DENY.value,
    "few": TooFew.REFUSE.value,
}
"""The fields about how evidence has to be made, as they are at first."""
_NAMES: Final = {"datasetId": "dataset", "scorerIds": "scorers", "primaryScorer": "primary"}
"""Maps members of the API to form fields."""


@dataclass(frozen=True)
class Line:
    """A gate in the list."""

    gate: Gate
    address: str
    unpublished: Sequence[tuple[str, str]] = ()
    """The scorers that are not published, so that nothing is evidence yet: ids, and where that is changed."""

    @property
    def rules(self) -> list[str]:
        """Its rules in words, with their numbers."""
        return [in_words(rule) for rule in self.gate.rules]

    @property
    def few(self) -> FewItems | None:
        """How badly the pass rate is known that it asks for; None if well."""
        rates = [of_rate(rule["min"], self.items) for rule in self.gate.rules if rule["rule"] == "passRate"]
        return next(filter(None, rates), None)

    @property
    def items(self) -> int:
        """How many items it asks about."""
        return self.gate.dataset.items_count


class GatesPage(WorkspacePage):
    """The gates of a workspace, oldest first."""

    tab = "gates"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show a page of them."""
        found = Gates.list(workspace=self.workspace.pk, by=self.caller)
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        may_write = self.may(Right.PUBLISH)
        published = published_scorers({scorer_id for gate in page for scorer_id in gate.scorer_ids})
        lines = [
            Line(
                one,
                self.address("gate", str(one.pk)) if may_write else "",
                [(key, scorer_address(key)) for key in one.scorer_ids if key not in published],
            )
            for one in page
        ]
        return self.page(
            "evaluation/gates.html",
            title=_("Gates"),
            page=page,
            lines=lines,
            add_address=self.address("new_gate") if may_write else "",
            all_datasets_address=self.address("datasets"),
        )


class NewGatePage(WorkspacePage):
    """A new gate; also the base of the page that changes one."""

    tab = "gates"
    right = Right.PUBLISH
    confirm: str | Promise = gettext_lazy("Create gate anyway")
    """The button below the warning about few items."""

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show the form."""
        return self.show(self.form(initial=self.initial()))

    def post(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Save it; after an error, and before few items have to reach a rate, show the form again."""
        form = self.form(self.completed(request.POST))
        if not form.is_valid():
            return self.show(form, status=400)
        few = self._few(form)
        if few is not None and request.POST.get("warned") != few.sentence:
            return self.show(form, few=few, button=self.confirm)
        try:
            self.save(form)
        except Invalid as error:
            add_errors(form, error, **_NAMES)
            return self.show(form, status=400)
        said = _("Gate saved. The page for publishing shows which experiments are missing, and starts them.")
        return self.go(self.address("gates"), said)

    def completed(self, given: QueryDict) -> QueryDict:
        """Return what was sent, with what a form that was opened before has no fields for."""
        data = given.copy()
        for name, value in self.initial().items():
            if name in CONDITIONS and name not in data:
                data[name] = str(value)
        return data

    def policy_of(self, form: GateForm) -> int | str:
        """Return the version of the dataset that the form chooses, or the latest."""
        if form.cleaned_data["policy"] == LATEST:
            return LATEST
        return Datasets.find(form.cleaned_data["dataset"], by=self.caller).version

    def _few(self, form: GateForm) -> FewItems | None:
        """Return how badly the rate is known that has to be reached; None if well, or without such a rule."""
        if form.rate is None:
            return None
        return of_rate(form.rate, Datasets.find(form.cleaned_data["dataset"], by=self.caller).items_count)

    def initial(self) -> dict[str, Any]:
        """What the form shows at first: what a link to it says."""
        given = self.request.GET
        dataset, scorers = given.get("dataset"), given.getlist("scorer")
        if not scorers:
            chosen = next((one for one in self.datasets if dataset in {None, str(one.pk)}), None)
            scorers = held_by(chosen) if chosen else []
        return {**CONDITIONS, "agent": given.get("agent"), "dataset": dataset, "scorers": scorers}

    @cached_property
    def datasets(self) -> list[Dataset]:
        """The datasets of the workspace, as the form lists them."""
        found = Datasets.list(workspace=self.workspace.pk, by=self.caller)
        return list(found.order_by(ByName("name"), "pk"))

    def save(self, form: GateForm) -> Gate:
        """Store the gate; raises `Invalid`."""
        agent_id = form.cleaned_data["agent"] or None
        fields = {**form.fields_of_gate, "dataset_policy": self.policy_of(form)}
        return Gates.current().create(fields, agent_id=agent_id, workspace=self.workspace.pk, by=self.caller)

    def form(self, data: Any = None, **more: Any) -> GateForm:
        """Return the form, with what can be chosen."""
        form = GateForm(data, **more)
        everyone = [("", _("every agent"))] if self.may(Right.ADMINISTER) else []
        items = ngettext_lazy("%(name)s (%(count)d item)", "%(name)s (%(count)d items)", "count")
        scorers = scorer_choices(self.workspace.pk, self.caller)
        offer(
            form,
            dataset=[
                (str(dataset.pk), items % {"name": dataset.name, "count": dataset.items_count})
                for dataset in self.datasets
            ],
            scorers=scorers,
            primary=[("", _("the first one")), *scorers],
        )
        if not scorers and self.datasets:
            chosen = form["dataset"].value() or self.datasets[0].pk
            there = self.address("dataset_scorers", quote(str(chosen)))
            link = format_html('<a class="link" href="{}">{}</a>', there, _("Choose one."))
            form.fields["scorers"].help_text = format_html("{} {}", _("No scorer yet."), link)
        offer_agents(form, self.workspace.pk, self.caller, *everyone)
        return form

    def show(self, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        shown = {
            "title": _("New gate"),
            "button": _("Create gate"),
            "back_address": self.address("gates"),
            "choices_address": self.address("agent_choices"),
        }
        return self.page("evaluation/gate.html", status=status, form=form, **{**shown, **more})


class GatePage(NewGatePage):
    """Changes a gate."""

    confirm = gettext_lazy("Save gate anyway")

    @cached_property
    def gate(self) -> Gate:
        """The gate; raises `NotFound` if it belongs to another workspace."""
        found = Gates.find(self.kwargs["gate"], by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    @property
    def agent(self) -> str:
        """The name of the agent, or that it is for all."""
        pk = self.gate.agent_id
        return resource_name(AGENT.slug, pk) if pk else _("every agent")

    @property
    def _is_simple(self) -> bool:
        """Whether the form can say its rules."""
        return len(self.gate.rules) == 1 and "scorerId" not in self.gate.rules[0]

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
            "tag": rule.get("tag", ""),
            "number": PERCENT * rule["min"] if rule["rule"] == "passRate" else number,
            "days": gate.evidence_days,
            "policy": LATEST if gate.dataset_version is None else PINNED,
            "context": canonical.file_text(gate.request_context) if gate.request_context else "",
            "tools": gate.tool_policy,
            "few": gate.too_few,
            "bypass": gate.bypass,
            "enabled": "yes" if gate.enabled else "no",
        }

    def save(self, form: GateForm) -> Gate:
        """Change the gate; raises `Invalid`."""
        fields = {**form.fields_of_gate, "dataset_policy": self.policy_of(form)}
        return Gates.current().change(str(self.gate.pk), fields, by=self.caller)

    def policy_of(self, form: GateForm) -> int | str:
        """Return the version of the dataset; one that was chosen before stays, unless the dataset changes."""
        held = self.gate.dataset_version
        is_same = form.cleaned_data["dataset"] == str(self.gate.dataset_id)
        if held is not None and is_same and form.cleaned_data["policy"] == PINNED:
            return held
        return super().policy_of(form)

    def form(self, data: Any = None, **more: Any) -> GateForm:
        """Return the form, without the agent, which stays; rules that it cannot say can stay as they are."""
        form = super().form(data, **more)
        del form.fields["agent"]
        if not self._is_simple:
            rules = " + ".join(in_words(rule) for rule in self.gate.rules)
            offer(form, rule=[(KEPT, rules), *RULES.items()])
        return form

    def show(self, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        more = {
            "title": _("Gate for %(agent)s") % {"agent": self.agent},
            "button": _("Save gate"),
            "delete_gate_address": self.address("delete_gate", str(self.gate.pk)),
            **more,
        }
        return super().show(form, status=status, **more)


class DeleteGatePage(GatePage):
    """Asks for confirmation before a gate is deleted."""

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Ask."""
        return self.page(
            "evaluation/ask.html",
            title=_("Delete the gate for %(agent)s?") % {"agent": self.agent},
            sentence=_("Versions can then go live without this evidence."),
            button=_("Delete gate"),
            back_address=self.address("gate", str(self.gate.pk)),
        )

    def post(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Delete it, and show the list."""
        Gates.delete(str(self.gate.pk), by=self.caller)
        return self.go(self.address("gates"), _("Gate deleted."))
