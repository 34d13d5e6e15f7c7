"""Panels about the rollout of a resource, and the button to start one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from editor_client.shared.arms import Arm

from capabilities.rollouts.ending import find_running
from capabilities.rollouts.models import Rollout
from capabilities.rollouts.studio import rollouts
from capabilities.rollouts.studio.rollouts import percent
from capabilities.rollouts.studio.usage import DAYS, MAX_DAYS, Chart
from capabilities.rollouts.usage.verbs import runs_of_many
from studio.extensions import Extension, ResourceTab, VersionButton
from studio.kinds import StudioKind
from studio.panels import Panel, Slot, VersionOnPage
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource

STYLESHEETS: Final = ["experiments/experiments.css"]
WITH_STRIP: Final = frozenset(
    {"edit", "since", "history", "version", "publish", "schedule", "review", "share"}
)
BUTTON: Final = VersionButton(
    page="share",
    template="experiments/button.html",
    right=Right.PUBLISH,
    on={"history", "version", "publish"},
    applies=lambda shown: shown.resource.active_id is not None and shown.resource.pointers is None,
)


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    running = find_running(shown.resource)
    if running is not None:
        yield Panel(slot=Slot.TOP, html=strip(running, shown.resource), stylesheets=STYLESHEETS)


def running(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return the running rollout of a resource, without which there is no panel."""
    return [Rollout.objects.running().filter(**about)]


def strip(rollout: Rollout, resource: VersionedResource) -> SafeString:
    ids = [arm.version_id for arm in rollout.placed_arms]
    rows = resource.version_model.objects.filter(pk__in=ids).values_list("pk", "number")
    names = {str(pk): gettext("Version %(number)s") % {"number": number} for pk, number in rows}
    lines = [
        gettext("%(version)s runs on %(share)s%% of the requests.")
        % {"version": names.get(arm.version_id, gettext("A version")), "share": percent(arm.weight)}
        for arm in rollout.placed_arms
    ]
    context = {"lines": lines, "address": rollouts.address(rollout)}
    return render_to_string("experiments/strip.html", context)


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> Mapping[str, Sequence[SafeString]]:
    running = find_running(resource)
    if running is None:
        return {}
    return {arm.version_id: [_chip(arm, running)] for arm in running.placed_arms}


def list_notes(
    caller: Caller, kind: StudioKind, resources: Mapping[str, str]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the running shares, and the runs of the last days; for callers with access to drafts."""
    ids = [
        resource_id
        for resource_id, workspace_id in resources.items()
        if caller.may(Right.READ_DRAFTS, workspace_id)
    ]
    notes: dict[str, list[SafeString]] = {resource_id: [] for resource_id in ids}
    running = Rollout.objects.running().filter(kind=kind.slug, resource_id__in=ids)
    for rollout in running:
        notes[rollout.resource_id] += [_chip(arm, rollout) for arm in rollout.placed_arms]
    for pk, days in runs_of_many(kind.slug, ids, timezone.now().date() - DAYS).items():
        context = {"chart": Chart.of(days), "days": MAX_DAYS}
        notes[pk].append(render_to_string("experiments/spark.html", context))
    return notes


def _chip(arm: Arm, rollout: Rollout) -> SafeString:
    message = gettext("On %(share)s%%") % {"share": percent(arm.weight)}
    return format_html('<a class="chip chip-published" href="{}">{}</a>', rollouts.address(rollout), message)


STUDIO: Final = Extension(
    resource_urls="capabilities.rollouts.studio.urls.resource_urls",
    resource_tabs=[
        ResourceTab(page="rollouts", title=_("Rollout"), right=Right.READ_DRAFTS, needs_record=True),
        ResourceTab(page="runs", title=_("Usage"), right=Right.READ_DRAFTS),
    ],
    panels=panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=WITH_STRIP,
    concerns=running,
    buttons=[BUTTON],
    notes=notes,
    list_notes=list_notes,
    event_address=rollouts.event_address,
    way_out=rollouts.way_out,
)
