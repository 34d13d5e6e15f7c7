"""The pages about experiments: lists, starting one, its results, comparisons and blind judgements."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from editor_client.shared import canonical, statistics
from editor_client.shared.gates import target_digest
from editor_client.shared.pairing import ComparedItem, Comparison, ItemOutcome
from editor_client.shared.statistics import MIN_PAIRS, Verdict, detectable, wilson

from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.comparing import compare_runs
from capabilities.evaluation.experiments.models import (
    MAX_NAME,
    Cell,
    CellState,
    Experiment,
    ExperimentOutcome,
    Label,
    Summary,
    TargetType,
)
from capabilities.evaluation.experiments.schemas import MAX_ATTEMPTS
from capabilities.evaluation.experiments.starting import (
    PUBLISHED_BASELINE,
    Estimate,
    Plan,
    Target,
    estimate_plan,
    plan_experiment,
)
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio.base import (
    DatasetPage,
    ExperimentNames,
    address_of_experiment,
    next_step,
    offer,
    offer_agents,
)
from studio.dates import in_dollars
from studio.diff.texts import sections, spans
from studio.extensions import NamedInEvent, rows_in_events
from studio.kinds import AGENT
from studio.limits import PageBudget
from studio.named import resource_name
from studio.pages import FormPage
from studio.translation import title_of
from studio.workspaces.views import ListingPage, address
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Invalid, Message, NotFound, VersioningError
from versioning.editor.catalog import LongList
from versioning.models import Agent, Event
from versioning.models.querysets import within
from versioning.serving.resolution import Resolved

PER_PAGE: Final = 25


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the experiments that the caller may read, by position and ordinal of the events.

    One without a name is named after its agent, its versions and its dataset.
    """
    rows = Experiment.objects.readable_by(caller).select_related("dataset", "pair_of")
    experiments = rows_in_events(events, "experimentId", rows)
    if not experiments:
        return {}
    finished = {(event.position, event.ordinal) for event in events if event.type == "experiment.finished"}
    names = ExperimentNames.of(set(experiments.values()), caller)
    return {
        key: NamedInEvent(
            title=_title(experiment, names, with_result=key in finished),
            address=address(
                "experiment", experiment.workspace_id, str(experiment.dataset_id), quote(experiment.public_id)
            ),
        )
        for key, experiment in experiments.items()
        if experiment.dataset_id is not None
    }


def _title(experiment: Experiment, names: ExperimentNames, *, with_result: bool) -> str:
    """Return the title of an experiment, with the pass rates if it has a single, primary scorer."""
    dataset = experiment.dataset.name if experiment.dataset else ""
    title = experiment.name or dataset
    if not experiment.name and experiment.target_id:
        title = _("%(target)s on “%(dataset)s”") % {"target": names.title(experiment), "dataset": dataset}
    here = _only_rate(experiment) if with_result else None
    if here is None:
        return title
    there = _only_rate(experiment.pair_of) if experiment.pair_of else None
    if there is None:
        return title + _(" (%(here)d%% passed)") % {"here": here}
    return title + _(" (%(here)d%% passed, baseline %(there)d%%)") % {"here": here, "there": there}


def _only_rate(experiment: Experiment) -> int | None:
    summary = experiment.summary if experiment.summary_json else []
    rate = summary[0]["passRate"] if len(summary) == 1 else None
    return None if rate is None else round(100 * rate)


STATES: Final[dict[str, Promise]] = {
    "pending": pgettext_lazy("experiment", "waiting"),
    "running": pgettext_lazy("experiment", "running"),
    ExperimentOutcome.COMPLETE: pgettext_lazy("experiment", "complete"),
    ExperimentOutcome.CANCELLED: pgettext_lazy("experiment", "cancelled"),
    ExperimentOutcome.TOO_MANY_ERRORS: gettext_lazy("stopped: too many errors"),
    ExperimentOutcome.OVER_BUDGET: gettext_lazy("stopped: limit reached"),
    ExperimentOutcome.EXPIRED: pgettext_lazy("experiment", "expired"),
}


def rate_in_words(summary: Summary) -> str:
    """Return the pass rate of a scorer with its interval; empty before it has scored anything."""
    if summary["passRate"] is None:
        return ""
    low, high = summary["interval"]
    numbers = {"rate": summary["passRate"], "low": low, "high": high}
    return _("%(rate)d%% (95%% CI %(low)d–%(high)d%%)") % {  # noqa: RUF001
        name: round(100 * share) for name, share in numbers.items()
    }


def _line(row: Experiment, names: ExperimentNames, workspace_name: str = "") -> dict[str, Any]:
    """Return an experiment in the form for pages, with the name of its workspace in a list of several."""
    version = names.version(row)
    baseline = names.version(row.pair_of) if row.pair_of else ""
    both = {"version": version, "baseline": baseline}
    summary = row.primary_summary
    return {
        "row": row,
        "address": address_of_experiment(row),
        "workspace_name": workspace_name,
        "title": names.title(row),
        # Empty for targets other than agents, and if the caller may not read it.
        "target_name": names.agents.get(row.target_id, ""),
        "versions": _("%(version)s vs. %(baseline)s") % both if baseline else version,
        "is_baseline": row.pk in names.baselines,
        "state": STATES[row.outcome or row.status],
        "pass_rate": rate_in_words(summary) if summary is not None else "",
    }


class ExperimentsPage(DatasetPage):
    """The experiments over a dataset, newest first; the page updates itself."""

    page_of_dataset = "experiments"

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        self.listen(self.scope)
        rows = Experiments.list(dataset_id=self.dataset_id, by=self.caller).prefetch_related("scorers")
        page = self.paginate(rows.order_by("-created_at", "pk"), PER_PAGE)
        names = ExperimentNames.of(page.object_list, self.caller)
        return self.page(
            "evaluation/experiments.html",
            title=_("Experiments on %(name)s") % {"name": self.dataset.name},
            page=page,
            lines=[_line(row, names) for row in page.object_list],
            step=next_step(self),
        )


OUTCOMES: Final[Mapping[ItemOutcome, Promise]] = {
    ItemOutcome.WIN: pgettext_lazy("item", "better"),
    ItemOutcome.LOSS: pgettext_lazy("item", "worse"),
    ItemOutcome.TIE: pgettext_lazy("item", "the same"),
}
VERDICTS: Final[Mapping[Verdict, Promise]] = {
    Verdict.TOO_FEW: gettext_lazy("Not enough items to tell."),
    Verdict.BETTER: gettext_lazy("The version is better than the baseline."),
    Verdict.WORSE: gettext_lazy("The version is worse than the baseline."),
    Verdict.NO_DIFFERENCE_FOUND: gettext_lazy(
        "No difference was found, which does not mean that there is none."
    ),
}


def sentences(comparison: Comparison) -> list[str]:
    """Return a comparison in sentences: the numbers first, then the verdict, then caveats."""
    primary = comparison.primary
    if primary is None or not comparison.pairs:
        return [_("No item has a score in both, so there is nothing to compare.")]
    numbers = {"wins": primary.wins, "losses": primary.losses, "ties": primary.ties}
    if primary.detectable is None:
        lines = [_("Better on %(wins)d, worse on %(losses)d, same on %(ties)d.") % numbers]
    else:
        lines = [
            _(
                "Better on %(wins)d, worse on %(losses)d, same on %(ties)d; "
                "a drop of %(points)d points or more would have been noticed."
            )
            % {**numbers, "points": primary.detectable}
        ]
    lines.append(str(VERDICTS[primary.verdict]))
    if primary.verdict is Verdict.TOO_FEW:
        lines.append(_("At least %(count)d items with a score in both are needed.") % {"count": MIN_PAIRS})
    if comparison.not_contemporary:
        lines.append(_("Both ran on different days or with different models, which may be the difference."))
    left_out = sum(asdict(comparison.left_out).values())
    if left_out:
        lines.append(_("Items that could not be compared: %(count)d.") % {"count": left_out})
    return lines


def pairs(
    here: Experiment, baseline: Experiment, items: Sequence[ComparedItem]
) -> Iterator[Mapping[str, Any]]:
    """Yield items with the first answer of each side, and how they differ."""
    is_single = here.attempts == baseline.attempts == 1
    ids, budget = [item.item_id for item in items], PageBudget()
    rows = Cell.objects.over().filter(experiment__in=[here.pk, baseline.pk], item_id__in=ids, attempt=0)
    cells = {(cell.experiment_id, str(cell.item_id)): cell for cell in rows.with_revisions()}
    for item in items:
        before, after = (cells.get((run.pk, item.item_id)) for run in (baseline, here))
        old, new = (cell.output_text if cell else "" for cell in (before, after))
        yield {
            "item": item,
            "outcome": OUTCOMES[item.outcome],
            "input": after.input_text if after else "",
            "reference": after.reference_text if after else "",
            "sections": sections(spans(old, new, budget), budget),
            "is_equal": old == new,
            # Whether the scores are 1 for passed and 0 for not passed.
            "is_passed_or_not": is_single and {item.here, item.baseline} <= {0, 1},
        }


SAMPLE: Final = 200
"""The number of items that a page reads to estimate the tokens of all."""
MINUTE: Final = 60


def plan_with_cost(dataset_id: str, request: Mapping[str, Any], by: Caller) -> tuple[Plan, Estimate]:
    """Return the plan of a request for an experiment and its estimated cost; raises as `start` does."""
    plan = plan_experiment(Experiments.current(), dataset_id, request, by=by)
    return plan, estimate_plan(plan, request.get("attempts", 1), sample=SAMPLE)


def cost_in_words(cost: Estimate) -> str:
    """Return an estimate as `40 answers, about 5,000 tokens, about 3 minutes`."""
    parts = [ngettext("%(count)s answer", "%(count)s answers", cost.cells) % {"count": _number(cost.cells)}]
    tokens = cost.input_tokens + cost.output_tokens
    tokens = round(tokens, 2 - len(str(tokens))) if tokens else 0  # more digits would not be meaningful
    if tokens:
        parts.append(_("about %(count)s tokens") % {"count": _number(tokens)})
    if tokens and cost.cost is not None:
        parts.append(_("about %(cost)s") % {"cost": in_dollars(cost.cost)})
    if cost.seconds is not None:
        minutes = round(cost.seconds / MINUTE)
        words = ngettext("about %(count)s minute", "about %(count)s minutes", minutes)
        parts.append(words % {"count": _number(minutes)} if minutes else _("less than a minute"))
    return ", ".join(parts)


def _number(count: int) -> str:
    return number_format(count, force_grouping=True)


WIDE: Final = 0.2
"""A pass rate with a wider interval is imprecise."""
NUMBERS: Final = (10, 20, 50, 100, 200, 500)
"""The numbers of items in the tables, besides the own one."""
PERCENT: Final = 100


FewItems = Mapping[str, Any]
"""The precision of few items: a `sentence`, and a table that compares other numbers of items."""


def explain_rate(rate: float, items: int) -> FewItems | None:
    """Return the precision of a pass rate of this many items; None if it is good, or without items."""
    low, high = wilson(rate * items, items) if items else (0.0, 0.0)
    if high - low <= WIDE:
        return None
    sentence = _(
        "The dataset has %(items)d items. If %(rate)d%% of them pass, the true share lies between %(low)d "
        "and %(high)d%%: so few items say little. A rule that compares with what is live says more."
    ) % {
        "items": items,
        "rate": round(PERCENT * rate),
        "low": round(PERCENT * low),
        "high": round(PERCENT * high),
    }
    headings = [_("Items"), _("If %(rate)d%% pass, the true share") % {"rate": round(PERCENT * rate)}]
    rows = []
    for count in _with(items):
        low, high = wilson(rate * count, count)
        numbers = {"low": round(PERCENT * low), "high": round(PERCENT * high)}
        rows.append((count, _("between %(low)d and %(high)d%%") % numbers))
    return {"sentence": sentence, "headings": headings, "rows": rows, "own": items}


def explain_pairs(pairs: int) -> FewItems:
    """Return the drop that this many compared items would have shown."""
    drops = ((count, detectable(count)) for count in _with(pairs))
    rows = [(count, _("none") if points is None else str(points)) for count, points in drops]
    headings = [_("Items"), _("Detectable drop, in points")]
    return {"sentence": _("How many items you need"), "headings": headings, "rows": rows, "own": pairs}


def _with(own: int) -> list[int]:
    return sorted({own, *NUMBERS})


NAME: Final = "preferred"
"""The name of the labels; each holds the id of the experiment that answered better, or `SAME`."""
SAME: Final = "same"


def summarize_preferences(here: Experiment, baseline: Experiment) -> list[str] | None:
    """Return people's preferences, by the majority for each item: the numbers, then the conclusion.

    None if no one has judged yet.
    """
    worth = {here.pk: 1, baseline.pk: -1, SAME: 0}
    sums: defaultdict[str, int] = defaultdict(int)
    people = set()
    labels = Label.objects.filter(experiment=here, name=NAME)
    for item, value, author in labels.values_list("item_id", "value", "author"):
        if isinstance(value, str) and value in worth:
            sums[str(item)] += worth[value]
            people.add(author)
    if not sums:
        return None
    signs = Counter((votes > 0) - (votes < 0) for votes in sums.values())
    wins, losses, ties = signs[1], signs[-1], signs[0]
    verdict = statistics.verdict(wins + losses + ties, wins - losses, statistics.sign_test(wins, losses))
    people_count = ngettext("%(count)d person judged.", "%(count)d people judged.", len(people))
    return [
        _("Preferred on %(wins)d, not on %(losses)d, no difference on %(ties)d.")
        % {"wins": wins, "losses": losses, "ties": ties},
        str(VERDICTS[verdict]),
        people_count % {"count": len(people)},
    ]


_STATUS_CHOICES: Final = (
    ("draft", gettext_lazy("latest draft")),
    ("published", gettext_lazy("live version")),
)
STATUSES: Final = frozenset(status for status, _title in _STATUS_CHOICES)


class StartForm(forms.Form):
    """The settings of an experiment: target, attempts and limits."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME, required=False)
    agent = forms.ChoiceField(label=gettext_lazy("Agent"))
    version = forms.ChoiceField(label=gettext_lazy("Version"), choices=_STATUS_CHOICES)
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
        max_value=PERCENT,
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
        """The fields that are always visible."""
        return [field for field in self if field.name not in self._LIMITS]

    @property
    def limits(self) -> list[forms.BoundField]:
        """The fields with limits."""
        return [field for field in self if field.name in self._LIMITS]

    @property
    def has_errors_in_limits(self) -> bool:
        """Whether one of these has to be corrected."""
        return any(limit.errors for limit in self.limits)

    _LIMITS: Final = ("tokens", "minutes", "item_seconds", "errors_at_most", "tools")

    @property
    def request(self) -> dict[str, Any]:
        """The request for the experiment, as over REST."""
        fields = self.cleaned_data
        limits = {
            "tokens": fields["tokens"],
            "seconds": fields["minutes"] and fields["minutes"] * MINUTE,
            "itemSeconds": fields["item_seconds"],
            "errorShare": None if fields["errors_at_most"] is None else fields["errors_at_most"] / PERCENT,
        }
        more = {
            "scorerIds": fields["scorers"],
            "primaryScorer": fields["primary"],
            "baseline": fields["baseline"],
            "name": fields["name"],
            "unmockedToolPolicy": fields["tools"],
        }
        return {
            "targetType": "agent",
            "targetId": fields["agent"],
            "selector": {"status" if fields["version"] in STATUSES else "versionId": fields["version"]},
            "attempts": fields["attempts"],
            "limits": {name: value for name, value in limits.items() if value is not None},
            **{name: value for name, value in more.items() if value},
        }


class StartPage(FormPage, DatasetPage):
    """Starts an experiment after showing its estimated cost."""

    page_of_dataset = "experiments"
    right = Right.SAVE
    form_class = StartForm
    template = "evaluation/start.html"
    error_fields = {
        "targetId": "agent",
        "selector": "version",
        "scorerIds": "scorers",
        "primaryScorer": "primary",
    }

    @property
    def title(self) -> str:
        return _("New experiment on %(name)s") % {"name": self.dataset.name}

    def initial(self) -> dict[str, Any]:
        query = self.request.GET
        initial: dict[str, Any] = {"scorers": self.dataset.scorer_ids}
        initial |= {name: query[name] for name in ("agent", "version") if name in query}
        resolved = self._find_version(initial)
        if resolved is not None and resolved.resource.active_id not in {None, resolved.version.version_id}:
            initial["baseline"] = PUBLISHED_BASELINE
        return initial

    def form(self, data: Any = None) -> StartForm:
        form: StartForm = super().form(data)
        resolved = self._find_version(form.initial if data is None else data)
        if resolved is not None:
            version = resolved.version
            offer(form, version=[(version.version_id, title_of(version)), *_STATUS_CHOICES])
        scorers = self.scorer_choices()
        offer_agents(form, self.workspace.pk, self.caller)
        offer(form, scorers=scorers, primary=[("", _("the first one")), *scorers])
        return form

    def _find_version(self, selection: Mapping[str, Any]) -> Resolved[Agent] | None:
        """Return the version that a form names by its id; None for a status, and for unknown versions."""
        agent, version = selection.get("agent"), selection.get("version")
        if not agent or not version or version in STATUSES:
            return None
        try:
            return self.editor.agent.version(str(agent), str(version), by=self.caller)
        except (Forbidden, Invalid, NotFound):
            return None

    def save(self, form: StartForm) -> HttpResponse:
        """Show the estimated cost; after that, start it."""
        try:
            plan, cost = plan_with_cost(self.dataset_id, form.request, self.caller)
            locks = [plan.target.lock, plan.baseline.lock if isinstance(plan.baseline, Target) else None]
            digests = [target_digest(lock) for lock in locks if lock is not None]
            if len(digests) > 1 and len(set(digests)) == 1:
                raise Invalid.field("baseline", Message("is the same: there is nothing to compare"))
            if self.request.POST.get("cells") != str(cost.cells):
                limit = form.cleaned_data["tokens"]
                return self.show(
                    form,
                    plan=plan,
                    cost=cost,
                    costs=cost_in_words(cost),
                    is_over_limit=limit is not None and cost.input_tokens + cost.output_tokens > limit,
                    not_scorable=[(scorer, count) for scorer, count in cost.not_scorable.items() if count],
                )
            started = Experiments.current().start(self.dataset_id, form.request, by=self.caller).experiment
        except (Forbidden, NotFound, Invalid):
            raise
        except VersioningError as error:
            return self.refuse(form, error.message)
        return self.go(address_of_experiment(started))

    def show(self, form: StartForm, *, status: int = 200, **context: Any) -> HttpResponse:
        return super().show(
            form,
            status=status,
            attempts=form["attempts"].value(),
            back_address=self.own_address("experiments"),
            choices_address=self.address("agent_choices"),
            **context,
        )


RESULTS_PER_PAGE: Final = 20
RESULTS: Final = "results"


class OneExperimentPage(DatasetPage):
    """A page about the experiment in the address."""

    page_of_dataset = "experiments"

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment; raises `NotFound` if it is about another dataset."""
        experiment_id = unquote(self.kwargs["experiment"])
        return Experiments.find(experiment_id, dataset_id=self.dataset_id, by=self.caller)

    def find_baseline(self, experiment: Experiment) -> Experiment | None:
        """Return its baseline; None without one that the caller may read."""
        rows = Experiments.list(dataset_id=self.dataset_id, by=self.caller)
        return rows.filter(pk=experiment.pair_of_id).first() if experiment.pair_of_id else None


class ExperimentPage(OneExperimentPage):
    """An experiment; its progress updates itself."""

    def get(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Show it."""
        self.listen(self.scope)
        row = self.experiment
        baseline = self.find_baseline(row)
        both = [row, *([baseline] if baseline else [])]
        names = ExperimentNames.of(both, self.caller)
        line = _line(row, names)
        is_compared = bool(row.outcome and baseline is not None and baseline.outcome)
        if baseline is not None and is_compared and request.GET.get("show") != RESULTS:
            more = self._comparison(row, baseline)
        else:
            cells = Cell.objects.over().filter(experiment=row).order_by("pk")
            cells = cells.with_revisions().prefetch_related("scores")
            results = LongList(cells, row.done_count + row.error_count)
            page = self.paginate(results, RESULTS_PER_PAGE)
            more = {"page": page, "results": page.object_list}
        return self.page(
            "evaluation/experiment.html",
            title=line["title"],
            line=line,
            cost=in_dollars(row.dollars),
            context=canonical.file_text(row.request_context) if row.request_context else "",
            is_compared=is_compared,
            deciding=resource_name(SCORER.slug, row.primary_scorer) if row.primary_scorer else "",
            version=names.version(row),
            version_address=AGENT.address("version", row.target_id, row.version_id)
            if names.version(row)
            else "",
            baseline_version=names.version(baseline) if baseline else "",
            rates=_rates(row, baseline),
            query=urlencode({"show": RESULTS}) if request.GET.get("show") == RESULTS else "",
            baseline_address=address_of_experiment(baseline) if baseline else "",
            step=next_step(self) if row.outcome else None,
            agent_address=AGENT.address("change", row.target_id) if row.lock and line["target_name"] else "",
            publish_address=self._publish_address(row),
            may_cancel=self.may(Right.SAVE) and not row.outcome,
            may_resume=self.may(Right.SAVE)
            and row.is_started
            and bool(row.outcome)
            and bool(row.error_count or row.skipped_count or row.unscored_count),
            **more,
        )

    def _publish_address(self, row: Experiment) -> str:
        """Return the address to publish the tested version; empty if it is live or must not be."""
        is_possible = row.outcome == ExperimentOutcome.COMPLETE and row.lock and row.version_id
        if not is_possible or not self.may(Right.PUBLISH):
            return ""
        live = Agent.objects.filter(pk=row.target_id).values_list("active_version_id", flat=True).first()
        if str(live) == row.version_id:
            return ""
        return f"{AGENT.address('publish', row.target_id)}?version={quote(row.version_id)}"

    def _comparison(self, row: Experiment, baseline: Experiment) -> dict[str, Any]:
        comparison = compare_runs(row, baseline)
        differences_first = sorted(comparison.items, key=lambda item: item.outcome is ItemOutcome.TIE)
        page = self.paginate(differences_first, RESULTS_PER_PAGE)
        verdict = comparison.primary.verdict if comparison.primary else None
        found_nothing = verdict in {Verdict.TOO_FEW, Verdict.NO_DIFFERENCE_FOUND}
        return {
            "sentences": sentences(comparison),
            "few": explain_pairs(comparison.pairs) if found_nothing else None,
            "preferences": summarize_preferences(row, baseline),
            "blind_address": self.own_address("judge_blind", quote(row.public_id))
            if self.may(Right.SAVE)
            else "",
            "page": page,
            "pairs": list(pairs(row, baseline, list(page))),
        }

    def post(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Stop it, or resume with failed and skipped items."""
        row, do = self.experiment, request.POST.get("do")
        if do == "cancel":
            Experiments.cancel(row.pk, dataset_id=self.dataset_id, by=self.caller)
            message = _("Experiment stopped.")
        elif do == "resume":
            Experiments.resume(row.pk, dataset_id=self.dataset_id, by=self.caller)
            message = _("Experiment resumed.")
        else:
            raise NotFound
        return self.go(address_of_experiment(row), message)


def _rates(row: Experiment, baseline: Experiment | None) -> list[dict[str, Any]]:
    there = {summary["scorerId"]: summary for summary in baseline.summary} if baseline else {}
    rates = [
        {
            "name": resource_name(SCORER.slug, summary["scorerId"]),
            "here": rate_in_words(summary),
            "baseline": rate_in_words(there[summary["scorerId"]]) if summary["scorerId"] in there else "",
            "decides": summary["scorerId"] == row.primary_scorer,
        }
        for summary in row.summary
    ]
    scored = [rate for rate in rates if rate["here"] or rate["baseline"]]
    return sorted(scored, key=lambda rate: not rate["decides"])


SIDES: Final = ("a", "b")


class BlindPage(OneExperimentPage):
    """Pairs of answers, one at a time, in an order and on sides that differ from person to person."""

    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Show the next pair, or the result once all are judged."""
        own_labels = Label.objects.filter(experiment=self.experiment, name=NAME, author=self.caller.user_id)
        judged = {str(item_id) for item_id in own_labels.values_list("item_id", flat=True)}
        item = next((item for item in self.items if item not in judged), None)
        judged_count = sum(item in judged for item in self.items)
        answers = []
        if item is not None:
            cells = Cell.objects.filter(item_id=item, attempt=0).with_revisions()
            runs = zip(SIDES, self._sides(item), strict=True)
            answers = [(side.upper(), cells.get(experiment=run)) for side, run in runs]
        return self.page(
            "evaluation/blind.html",
            title=_("Blind comparison"),
            experiment_address=address_of_experiment(self.experiment),
            item=item,
            answers=answers,
            number=judged_count + 1,
            count=len(self.items),
            done=judged_count,
            preferences=None if item else summarize_preferences(self.experiment, self.baseline),
        )

    def post(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Store a person's verdict on a pair, and show the next one."""
        item, better = request.POST.get("item", ""), request.POST.get("better", "")
        if item not in self.items or better not in {*SIDES, SAME}:
            raise NotFound
        value = SAME if better == SAME else self._sides(item)[SIDES.index(better)].pk
        label = {"experimentId": self.experiment.pk, "itemId": item, "name": NAME, "value": value}
        Experiments.add_label(label, dataset_id=self.dataset_id, by=self.caller)
        return self.go(request.path)

    @cached_property
    def baseline(self) -> Experiment:
        """The experiment with which it is compared; raises `NotFound` without one, or before both ended."""
        baseline = self.find_baseline(self.experiment)
        if baseline is None or not (baseline.outcome and self.experiment.outcome):
            raise NotFound
        return baseline

    @cached_property
    def items(self) -> list[str]:
        """The items with two answers that differ, in the order for this person."""
        rows = Cell.objects.filter(
            experiment__in=[self.experiment.pk, self.baseline.pk], attempt=0, state=CellState.DONE
        )
        answers: defaultdict[str, dict[str, tuple[int | None, str]]] = defaultdict(dict)
        for run, item_id, revision, digest in rows.values_list(
            "experiment", "item_id", "revision", "output_digest"
        ):
            answers[str(item_id)][run] = (revision, digest)
        items = []
        for item, both in answers.items():
            here, there = both.get(self.experiment.pk), both.get(self.baseline.pk)
            if here and there and here[0] == there[0] is not None and here[1] != there[1]:
                items.append(item)
        return sorted(items, key=self._drawn)

    def _drawn(self, item: str) -> bytes:
        """Return the random order for an item and this person, which the page does not reveal."""
        seed = f"{self.experiment.pk}\n{self.caller.user_id}\n{item}"
        return hashlib.sha256(seed.encode()).digest()

    def _sides(self, item: str) -> list[Experiment]:
        both = [self.experiment, self.baseline]
        return both if self._drawn(item)[-1] % 2 else both[::-1]


MAX_DATASETS: Final = 100
"""The maximum number of datasets offered for an experiment, most recently changed first."""


class ExperimentsOfAllPage(ListingPage):
    """The experiments that the person may see, newest first; the page updates itself."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the experiments, of one agent if the query names it."""
        workspace_id, agent_id = self.listed_id, request.GET.get("agent", "").replace("\x00", "")
        self.listen(self.scope)
        experiments = Experiments.list(by=self.caller).filter(dataset__isnull=False)
        if workspace_id is not None:
            experiments = experiments.filter(workspace=workspace_id)
        if agent_id:
            experiments = experiments.filter(target_type=TargetType.AGENT, target_id=agent_id)
        rows = experiments.select_related("dataset").prefetch_related("scorers")
        page = self.paginate(rows.order_by("-created_at", "pk"), PER_PAGE)
        names = ExperimentNames.of(page.object_list, self.caller, agent_id=agent_id)
        return self.page(
            "evaluation/all_experiments.html",
            title=_("Experiments"),
            page=page,
            query=self.query(agent=agent_id),
            kept={"agent": agent_id} if agent_id else {},
            agent_name=names.agents.get(agent_id, agent_id),
            lines=[_line(row, names, self.shown_names.get(row.workspace_id, "")) for row in page.object_list],
            datasets_address=reverse("studio:datasets"),
            may_save=self.caller.scope(Right.SAVE) != frozenset(),
            start_address=f"{reverse('studio:start_experiment')}?{self.query(agent=agent_id)}",
        )


class ChooseDatasetPage(ListingPage):
    """Chooses the dataset of a new experiment."""

    right = Right.SAVE

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the datasets with items, most recently changed first; with only one, go to the form."""
        workspace_id, agent_id = self.listed_id, request.GET.get("agent", "").replace("\x00", "")
        rows = Datasets.list(workspace=workspace_id, by=self.caller).filter(items_count__gt=0)
        rows = rows.filter(within("workspace", self.caller.scope(Right.SAVE)))
        more = f"?{urlencode({'agent': agent_id})}" if agent_id else ""
        datasets = [
            (dataset, address("start_experiment", dataset.workspace_id, str(dataset.pk)) + more)
            for dataset in rows.order_by("-updated_at", "pk")[:MAX_DATASETS]
        ]
        if len(datasets) == 1:
            return redirect(datasets[0][1])
        return self.page(
            "evaluation/evaluate.html",
            title=_("New experiment"),
            datasets=datasets,
            last_id=None,
            datasets_address=reverse("studio:datasets"),
        )
