"""What the gates say of a version or a release, on the pages about it; a button starts what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy
from editor_client.shared.gates import State

from capabilities.evaluation.experiments.models import Experiment
from capabilities.evaluation.experiments.summing import Summary, summary_of
from capabilities.evaluation.gates.check import sentence
from capabilities.evaluation.gates.checking import Change, missing_run
from capabilities.evaluation.gates.judging import Judgement, judged, known_to
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.gates.verbs import Gates
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio.base import address_of_experiment
from capabilities.evaluation.studio.costs import cost_in_words, plan_of
from studio.kinds import AGENT, StudioKind
from studio.named import Place, person, resource_name
from studio.panels import Panel, Slot, SubjectOnPage, VersionOnPage
from studio.translation import translated
from studio.views import safe_next_url
from studio.workspaces.views import WorkspacePage, address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor.gate import PublishRequest
from versioning.models import Event, VersionedResource
from versioning.serving.grants import target_of

SLOTS: Final = {
    "publish": Slot.ACTIONS,
    "review": Slot.ACTIONS,
    "version": Slot.VERSION,
    "edit": Slot.VERSION,
}
"""Where it stands, by the page."""
RELEASE: Final = "release"
STYLESHEETS: Final = ("evaluation/datasets.css",)
STATES: Final[Mapping[State | None, tuple[Promise, str]]] = {
    None: (pgettext_lazy("evidence", "Passed"), "chip-published"),
    State.SCORER_GONE: (pgettext_lazy("evidence", "Scorer missing"), "chip-danger"),
    State.TOO_FEW: (pgettext_lazy("evidence", "Cannot tell"), ""),
    State.RUNNING: (pgettext_lazy("evidence", "Running"), ""),
    State.INCOMPLETE: (pgettext_lazy("evidence", "Incomplete"), "chip-danger"),
    State.FAILED: (pgettext_lazy("evidence", "Failed"), "chip-danger"),
    State.STALE: (pgettext_lazy("evidence", "Out of date"), ""),
    State.MISSING: (pgettext_lazy("evidence", "Not run"), ""),
}
_NO_PASS: Final = (pgettext_lazy("evidence", "No answer passed"), "chip-changed")
"""For a gate whose rules all hold although a scorer passed nothing, such as because live is as bad."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a gate says of an agent, as pages show it."""

    judgement: Judgement
    experiment: Experiment | None
    """What it rests on, or what comes closest to that."""
    cost: str = ""
    """What the missing run would cost; empty if none would help."""
    problems: Sequence[str] = ()
    """Why the missing run cannot be started, or what it would suffer from."""
    summaries: Sequence[Summary] = ()
    """What the scorers of the gate say, once all rules hold."""

    @property
    def _words(self) -> tuple[Promise, str]:
        passes_nothing = any(summary["passRate"] == 0 for summary in self.summaries)
        return _NO_PASS if passes_nothing else STATES[self.judgement.state]

    @property
    def state(self) -> Promise:
        """Whether there is evidence, in a word or two."""
        return self._words[0]

    @property
    def chip(self) -> str:
        """The class of its chip."""
        return self._words[1]

    @property
    def rates(self) -> list[str]:
        """What share of the items passed, by scorer."""
        return [
            ngettext(
                "%(scorer)s: %(rate)s%% of %(count)s item passed",
                "%(scorer)s: %(rate)s%% of %(count)s items passed",
                summary["n"],
            )
            % {
                "scorer": resource_name(SCORER.slug, summary["scorerId"]),
                "rate": round(100 * summary["passRate"]),
                "count": summary["n"],
            }
            for summary in self.summaries
            if summary["passRate"] is not None
        ]

    @property
    def is_running(self) -> bool:
        """Whether the experiment goes on."""
        return self.judgement.state is State.RUNNING

    @property
    def over(self) -> int:
        """How many answers of the experiment need not be waited for."""
        return self.experiment.cells_count - self.experiment.queued_count if self.experiment else 0

    @property
    def sentence(self) -> str:
        """What the gate says."""
        judgement = self.judgement
        if judgement.state is None:
            agent = resource_name(AGENT.slug, judgement.affected.id)
            names = {"agent": agent, "dataset": judgement.gate.dataset.name}
            return _("%(agent)s was tested on “%(dataset)s”, and every rule holds.") % names
        return translated(sentence(judgement))

    @property
    def outside(self) -> str:
        """The scorers whose scores an application sends, as one text."""
        pins = self.judgement.gate.scorer_pins
        names = [resource_name(SCORER.slug, key) for key, pin in pins.items() if pin.is_external]
        return format_html_join(", ", "{}", ((name,) for name in names))

    @property
    def address(self) -> str:
        """The address of the experiment; empty without one."""
        return "" if self.experiment is None else address_of_experiment(self.experiment)


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield what the gates say; nothing where no gate is asked."""
    resource, version, caller = shown.resource, shown.version, shown.caller
    if version.version_id == resource.active_id:
        return
    request = PublishRequest(resource=resource, version=version, caller=caller)
    found = [one for one in judged(request) if known_to(caller, one)]
    publish = f"{shown.kind.address('publish', resource.pk)}?version={quote(version.version_id)}"
    context = {
        "is_short": shown.page == "edit",
        "publish_address": publish if Right.PUBLISH in shown.rights else "",
        "hidden": {
            "kind": shown.kind.slug,
            "resource": resource.pk,
            "version": version.version_id,
            "next": publish if shown.page == "publish" else shown.request.get_full_path(),
        },
    }
    yield from _panel(SLOTS[shown.page], found, shown, resource.workspace_id, context)


def enabled_gates(_about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return the gates: one anywhere may be about what names the resource."""
    return [Gate.objects.enabled()]


def subject_panels(shown: SubjectOnPage) -> Iterator[Panel]:
    """Yield what the gates say of a release as a whole."""
    if shown.subject != RELEASE or not shown.is_open:
        return
    if not Gate.objects.enabled().exists():
        return
    try:
        found = Gates.current().check(Change(release_id=shown.id), by=shown.caller).gates
    except VersioningError:  # of an item that is gone, which the page about the release says
        return
    context = {"hidden": {"release": shown.id, "next": shown.request.get_full_path()}}
    yield from _panel(Slot.ACTIONS, found, shown, shown.workspace_id, context)


def _panel(
    slot: Slot,
    found: Sequence[Judgement],
    shown: VersionOnPage | SubjectOnPage,
    workspace_id: str,
    context: Mapping[str, object],
) -> Iterator[Panel]:
    if not found:
        return
    caller = shown.caller
    may_run = caller.may(Right.SAVE, workspace_id) and not context.get("is_short")
    lines = _lines(found, caller if may_run else None)
    context = {
        **context,
        "lines": lines,
        "can_run": any(line.cost for line in lines),
        "csrf_token": get_token(shown.request),
        "run_address": address("run_gates", workspace_id),
    }
    html = render_to_string("evaluation/evidence.html", context)
    yield Panel(slot=slot, html=html, stylesheets=STYLESHEETS)


def _lines(found: Sequence[Judgement], by: Caller | None) -> list[Line]:
    """Return what gates say; with what the missing runs would cost, for who may start them."""
    ids = [one.experiment_id for one in found if one.experiment_id is not None]
    rows = Experiment.objects.in_bulk(ids)
    return [_line(one, rows.get(one.experiment_id or ""), by) for one in found]


def _line(judgement: Judgement, experiment: Experiment | None, by: Caller | None) -> Line:
    missing = missing_run(judgement) if by is not None else None
    if by is None or missing is None:
        passed = experiment is not None and judgement.state is None
        pinned = judgement.gate.scorer_pins
        found = summary_of(experiment) if experiment is not None and passed else ()
        summaries = [one for one in found if one["scorerId"] in pinned]
        return Line(judgement=judgement, experiment=experiment, summaries=summaries)
    try:
        _plan, cost = plan_of(missing.dataset_id, missing.request, by)
    except Invalid as error:
        problems = [translated(issue.message) for issue in error.issues]
    except VersioningError as error:
        problems = [translated(error.summary)]
    else:
        problems = [problem.message for problem in cost.problems]
        return Line(judgement=judgement, experiment=experiment, cost=cost_in_words(cost), problems=problems)
    return Line(judgement=judgement, experiment=experiment, problems=problems)


class RunGatesPage(WorkspacePage):
    """Starts the experiments whose results the gates lack of a version or a release, and leads back."""

    right = Right.SAVE

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Start them."""
        back = safe_next_url(request, self.address("gates"))
        given = {name: request.POST.get(name) for name in ("kind", "resource", "version", "release")}
        change = Change(given["kind"], given["resource"], given["version"], given["release"])
        try:
            started = Gates.current().run(change, by=self.caller)
        except Invalid as error:
            return self.go(back, translated(error.summary), level=messages.ERROR)
        count = len(started)
        said = ngettext("%(count)d evaluation was started.", "%(count)d evaluations were started.", count)
        return self.go(back, said % {"count": count})


def notes(
    _caller: Caller, _kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> Mapping[str, Sequence[SafeString]]:
    """Return who published versions without evidence, and why, for the history; one query."""
    target = target_of(resource, get_editor().code)
    events = Event.objects.filter(
        type="gate.bypassed",
        resource_id=target.id,
        resource_uuid=target.identity,
        version_id__in=[version.version_id for version in versions],
    )
    found: dict[str, list[SafeString]] = {}
    for event in events.order_by("position"):
        said = format_html(
            _("{who} published it without evidence: “{reason}”"),
            who=person(event.actor, Place.BEGINNING),
            reason=str(event.detail.get("reason") or ""),
        )
        found.setdefault(event.version_id, []).append(format_html("<strong>{}</strong>", said))
    return {version_id: list(dict.fromkeys(said)) for version_id, said in found.items()}
