"""What the gates say of a version, on the pages about it, and a button that starts what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from evaluation.gates.check import sentence
from evaluation.gates.checking import Change
from evaluation.gates.judging import Judgement, judged
from evaluation.gates.models import Gate
from evaluation.gates.verbs import Gates
from studio.extensions import Extension
from studio.kinds import StudioKind
from studio.panels import Panel, Slot, VersionOnPage
from studio.resources.base import ResourcePage
from studio.translation import translated
from versioning.domain.access import Right
from versioning.editor.gate import PublishRequest

PAGES: Final = frozenset({"publish", "version"})


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield what the gates say, for people who may read drafts; nothing where no gate is asked."""
    workspace_id = shown.resource.workspace_id
    is_live = shown.version.version_id == shown.resource.active_id
    if shown.page not in PAGES or is_live or not shown.caller.may(Right.READ_DRAFTS, workspace_id):
        return
    request = PublishRequest(resource=shown.resource, version=shown.version, caller=shown.caller)
    found = list(judged(request, list(Gate.objects.asking_in([workspace_id]))))
    if not found:
        return
    context = {
        "lines": [(one.ok, _line(one)) for one in found],
        "may_run": shown.caller.may(Right.SAVE, workspace_id) and any(map(_can_run, found)),
        "version": shown.version,
        "csrf_token": get_token(shown.request),
        "address": shown.kind.address("run_gates", shown.resource.pk),
    }
    yield Panel(slot=Slot.VERSION, html=render_to_string("evaluation/evidence.html", context))


def _line(judgement: Judgement) -> str:
    """Return what a gate says, in a sentence."""
    if judgement.ok:
        names = {"agent": judgement.affected.id, "dataset": judgement.gate.dataset.name}
        return _("%(agent)s was evaluated over “%(dataset)s”, and every rule holds.") % names
    return translated(sentence(judgement))


def _can_run(judgement: Judgement) -> bool:
    return judgement.state is not None and judgement.state.value in {"missing", "stale", "incomplete"}


class RunGates(ResourcePage):
    """Starts the experiments whose results the gates lack."""

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Start them, and go back to the history."""
        self.require(Right.SAVE)
        change = Change(self.kind.slug, self.resource_id, request.POST.get("version") or None)
        started = Gates.current().run(change, by=self.caller)
        said = _("%(count)d evaluations were started.") % {"count": len(started)}
        return self.back("history", said)


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the URL of the button."""
    yield path("<str:resource>/run-gates/", RunGates.as_view(kind=kind), name=kind.url_name("run_gates"))


GATES: Final = Extension(panels=panels, resource_urls="evaluation.studio.evidence.resource_urls")
